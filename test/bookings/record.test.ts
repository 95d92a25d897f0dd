import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { NotBooked } from '../../src/bookings/protocol.ts'
import { createBookingRecord, openEmergencyLog } from '../../src/bookings/record.ts'
import { GatewayError } from '../../src/errors.ts'
import { createLog } from '../../src/observe/log.ts'
import { NoReply, type Silence } from '../../src/service/exchange.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Claim, type Store, StoreDown } from '../../src/store/store.ts'
import { createXref } from '../../src/xref/xref.ts'
import { newClaim } from '../store/samples.ts'

const DAY_MS = 86_400_000
const ANSWER = { status: 200, headers: {}, body: '{"Message":"Booked."}' }
const RECORD = {
  kind: 'shipment',
  id: 'S-1',
  names: ['REF-1'],
  vin: '',
  own: undefined,
  facts: undefined,
} as const
const MADE = { answer: ANSWER, record: RECORD }

/** A record over a store whose methods a test may replace, and one claim that is being sent. */
async function open(faults: Partial<Store> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'transload-record-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'deep', 'emergency.log')
  const store = createMemoryStore()
  const lines: Record<string, unknown>[] = []
  const unknown: Claim[] = []
  const current: Partial<Store> = { ...faults }
  // A proxy: the faults end while the record is in use.
  const claims = new Proxy(store, { get: (whole, name: keyof Store) => current[name] ?? whole[name] })
  const openRecord = (instance = 'gateway-1') =>
    createBookingRecord({
      claims,
      xref: createXref(claims, DAY_MS),
      instance,
      log: createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }),
      emergencyLog: openEmergencyLog(path),
      refusedStatuses: (status) => status === 503 || (status >= 400 && status < 500),
      onUnknown: (claim) => unknown.push(claim),
    })
  const { claim } = await store.claim(newClaim())
  const heal = () => {
    for (const name of Object.keys(current)) Reflect.deleteProperty(current, name)
  }
  const now = () => store.claimByHandle(claim.handle)
  const why = async () => (await store.audit(claim.handle)).at(-1)?.why
  return { store, claim, record: openRecord(), openRecord, lines, unknown, path, heal, now, why, current }
}

type Proof = readonly [about: string, error: Error, state: string, why: string]

const down = () => Promise.reject(new StoreDown('The disk is full.'))

describe('a booking that failed', () => {
  const silences: readonly (readonly [Silence, string, string])[] = [
    ['unsent', 'freed', 'never sent'],
    ['busy', 'freed', 'never sent'],
    ['withdrawn', 'freed', 'never sent'],
    ['late', 'unknown', 'late'],
    ['lost', 'unknown', 'lost'],
    ['too-large', 'unknown', 'too-large'],
  ]
  const answered = (code: 'service-refused' | 'service-failed', status: number) =>
    new GatewayError(code, 'no', { serviceStatus: status })
  const proofs: readonly Proof[] = [
    ...silences.map(([silence, state, why]): Proof => [silence, new NoReply(silence), state, why]),
    ['proof that nothing was booked', new NotBooked(new Error('no')), 'freed', 'nothing was booked'],
    ['a refused login', new GatewayError('login-refused', 'no'), 'freed', 'login-refused'],
    ['a failed login', new GatewayError('login-failed', 'no'), 'freed', 'login-failed'],
    ['an open circuit', new GatewayError('circuit-open', 'no'), 'freed', 'circuit-open'],
    ['a fault of the gateway', new TypeError('a bug'), 'unknown', 'gateway-failed'],
    ...[400, 422, 499, 503].map((status): Proof => {
      return [`a ${status}`, answered('service-refused', status), 'refused', `answered ${status}`]
    }),
    ...[200, 302, 500, 502].map((status): Proof => {
      return [`a ${status}`, answered('service-failed', status), 'unknown', `answered ${status}`]
    }),
  ]
  test.each(proofs)('after %s is what that proves', async (_, error, state, why) => {
    const opened = await open()
    expect(await opened.record.failed(opened.claim, error)).toBe(state)
    expect(await opened.now()).toMatchObject({ state, version: 2, instance: 'gateway-1' })
    expect(await opened.why()).toBe(why)
    const isUnknown = state === 'unknown'
    expect(opened.unknown.map(({ handle }) => handle)).toEqual(isUnknown ? [opened.claim.handle] : [])
    expect(opened.lines).toEqual(
      isUnknown ? [expect.objectContaining({ level: 'error', booking: opened.claim.handle, tenant: 'acme', why })] : [],
    )
  })

  test('while the store is down is recorded later, once, and the log has the cause both times', async () => {
    const opened = await open({ change: down })
    const { record, claim, lines } = opened
    expect(await record.failed(claim, new NoReply('late'))).toBe('unknown')
    expect(lines).toEqual([
      expect.objectContaining({
        msg: 'the outcome of a booking could not be recorded yet',
        booking: claim.handle,
        err: expect.objectContaining({ type: 'StoreDown', message: 'The disk is full.' }),
      }),
      expect.objectContaining({ msg: 'the outcome of a booking is not known' }),
    ])
    await record.catchUp()
    expect(lines.at(-1)).toMatchObject({
      msg: 'a change of a booking could still not be recorded',
      booking: claim.handle,
      err: { message: 'The disk is full.' },
    })
    expect(opened.unknown).toEqual([])
    opened.heal()
    await record.catchUp()
    expect(await opened.now()).toMatchObject({ state: 'unknown', version: 2 })
    expect(opened.unknown).toHaveLength(1)
    await record.catchUp()
    expect(await opened.now()).toMatchObject({ version: 2 })
  })
})

describe('a booking that was made', () => {
  test('is recorded with its names, in one step of the store', async () => {
    const opened = await open({ put: down })
    await opened.record.made(opened.claim, MADE)
    expect(await opened.now()).toMatchObject({ state: 'booked', shipment: 'S-1', reply: JSON.stringify(ANSWER) })
    expect((await opened.store.links('acme', 'REF-1')).map(({ id }) => id)).toEqual(['S-1'])
    expect(await opened.why()).toBe('made')
    expect(opened.lines).toEqual([])
    expect(existsSync(opened.path)).toBe(false)
    expect(opened.record.isUnrecorded(opened.claim.handle)).toBe(false)
  })

  test('wins over the assumption that its gateway has died', async () => {
    const opened = await open()
    await opened.store.change(opened.claim, { state: 'unknown', instance: 'gateway-2', why: 'gone' })
    await opened.record.made(opened.claim, MADE)
    expect(await opened.now()).toMatchObject({ state: 'booked', shipment: 'S-1', version: 3 })
  })

  test('is recorded already where an event has told the same shipment, and no other', async () => {
    const opened = await open()
    const settled = { state: 'booked', instance: 'gateway-2', why: 'event', reply: '{}' } as const
    await opened.store.change(opened.claim, { ...settled, shipment: 'S-1' })
    await opened.record.made(opened.claim, MADE)
    expect(await opened.now()).toMatchObject({ version: 2, reply: '{}' })

    const other = await open()
    await other.store.change(other.claim, { ...settled, shipment: 'S-2' })
    await expect(other.record.made(other.claim, MADE)).rejects.toThrow(/was changed by somebody else/)
    expect(await other.now()).toMatchObject({ shipment: 'S-2', version: 2 })
  })

  test('while the store is down is in the emergency log, and the next gateway records it', async () => {
    const opened = await open({ change: down })
    const { record, claim, lines, path } = opened
    await expect(record.made(claim, MADE)).rejects.toThrow('The disk is full.')
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'error',
        msg: 'a booking was made and could not be recorded',
        booking: claim.handle,
        shipment: 'S-1',
        err: expect.objectContaining({ message: 'The disk is full.' }),
      }),
    ])
    expect(record.isUnrecorded(claim.handle)).toBe(true)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await record.catchUp()
    expect(await opened.now()).toMatchObject({ state: 'sending' })
    expect(existsSync(path)).toBe(true)

    opened.heal()
    lines.length = 0
    const next = opened.openRecord('gateway-2')
    await next.catchUp()
    expect(await opened.now()).toMatchObject({ state: 'booked', shipment: 'S-1', instance: 'gateway-2' })
    expect(lines).toEqual([
      expect.objectContaining({ msg: 'a booking was recorded late', was: 'sending', level: 'info' }),
    ])
    expect(existsSync(path)).toBe(false)
    // The first gateway, if it lives on, has nothing more to record.
    await record.catchUp()
    expect(await opened.now()).toMatchObject({ version: 2 })
    expect(record.isUnrecorded(claim.handle)).toBe(false)
  })

  test('and whose key was freed meanwhile is reported as a possible second one', async () => {
    const opened = await open({ change: down })
    const { record, claim, lines } = opened
    await expect(record.made(claim, MADE)).rejects.toThrow()
    opened.heal()
    await opened.store.change(claim, { state: 'freed', instance: 'operator', why: 'settled' })
    lines.length = 0
    await record.catchUp()
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'error',
        msg: 'a booking was made although its key is free: there may be a second one',
        was: 'freed',
        shipment: 'S-1',
      }),
    ])
    expect(await opened.now()).toMatchObject({ state: 'freed' })
    expect((await opened.store.links('acme', 'REF-1')).map(({ id }) => id)).toEqual(['S-1'])
  })
})

describe('a claim that was never sent', () => {
  test.each([
    ['sending', undefined, 'freed'],
    ['unknown', 'unknown', 'freed'],
    ['booked', 'booked', 'booked'],
    ['refused', 'refused', 'refused'],
  ] as const)('and is %s is released only where it is in doubt', async (_, state, end) => {
    const opened = await open()
    if (state) await opened.store.change(opened.claim, { state, instance: 'other', why: 'test' })
    opened.record.neverSent(opened.claim.handle)
    await opened.record.catchUp()
    expect(await opened.now()).toMatchObject({ state: end })
    if (end === 'freed') expect(await opened.why()).toBe('never sent')
  })

  test('and was never stored needs nothing', async () => {
    const opened = await open()
    opened.record.neverSent('bk_none')
    await opened.record.catchUp()
    expect(opened.lines).toEqual([])
    expect(await opened.now()).toMatchObject({ state: 'sending' })
  })
})

describe('a cancellation', () => {
  test('frees the key, and one that the store cannot record does so later', async () => {
    const opened = await open()
    const { store, record, claim, lines } = opened
    await store.change(claim, { state: 'booked', instance: 'gateway-1', why: 'made', shipment: 'S-1' })
    await record.canceledLater('acme', ['S-2'], async () => true)
    expect(await opened.now()).toMatchObject({ state: 'booked' })
    opened.current.claimsOfShipment = down
    await expect(record.canceled('acme', ['S-1'], async () => true)).rejects.toThrow('The disk is full.')
    await record.canceledLater('acme', ['S-1'], async () => true)
    expect(lines).toMatchObject([
      {
        level: 'warn',
        msg: 'a change of bookings could not be recorded yet',
        booking: 'canceled S-1',
        err: { message: 'The disk is full.' },
      },
    ])
    opened.heal()
    await record.catchUp()
    expect(await opened.now()).toMatchObject({ state: 'freed' })
  })

  test('that is late passes over one that fails for another reason, and ends at a store that is down', async () => {
    const opened = await open({ claimsOfShipment: down })
    const { record, lines } = opened
    for (const shipment of ['S-1', 'S-2', 'S-3']) await record.canceledLater('acme', [shipment], async () => true)
    const asked: string[] = []
    opened.current.claimsOfShipment = async (_, shipment) => {
      asked.push(shipment)
      if (shipment === 'S-1') throw new Error('odd')
      if (shipment === 'S-2' && asked.length === 2) throw new StoreDown('down')
      return []
    }
    lines.length = 0
    await record.catchUp()
    expect(asked).toEqual(['S-1', 'S-2'])
    expect(lines.map(({ err }) => (err as Error).message)).toEqual(['odd', 'down'])
    await record.catchUp()
    expect(asked).toEqual(['S-1', 'S-2', 'S-1', 'S-2', 'S-3'])
    await record.catchUp()
    expect(asked.slice(5)).toEqual(['S-1'])
  })
})

describe('the emergency log', () => {
  const entry = { booking: 'bk_1', tenant: 'acme', answer: ANSWER, record: RECORD }
  const openLog = async () => {
    const { path } = await open()
    return { path, log: openEmergencyLog(path), other: openEmergencyLog(path) }
  }

  test('is none until it is needed, and is gone once it was read and cleared', async () => {
    const { path, log } = await openLog()
    expect(log.read()).toEqual([])
    log.clear()
    log.write(entry)
    // A line that was not read is not recorded.
    log.clear()
    expect(log.read()).toMatchObject([{ booking: 'bk_1', record: { id: 'S-1' } }])
    log.clear()
    expect(existsSync(path)).toBe(false)
  })

  test('keeps what another gateway has added since it was read', async () => {
    const { log, other } = await openLog()
    log.write(entry)
    expect(log.read()).toHaveLength(1)
    other.write({ ...entry, booking: 'bk_2' })
    log.clear()
    expect(log.read().map(({ booking }) => booking)).toEqual(['bk_1', 'bk_2'])
    log.clear()
    expect(log.read()).toEqual([])
  })

  test('passes over a line that a crash cut off, and over what is no entry', async () => {
    const { path, log } = await openLog()
    log.write(entry)
    const whole = readFileSync(path, 'utf8')
    const noId = JSON.stringify({ booking: 'bk_3', tenant: 'acme', answer: ANSWER, keepsake: {} })
    writeFileSync(path, `${whole.slice(0, whole.length / 2)}${whole}null\n5\n{"booking":"bk_2"}\n${noId}\n`)
    expect(log.read().map(({ booking }) => booking)).toEqual(['bk_1'])
  })
})
