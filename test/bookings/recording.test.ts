import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openEmergencyLog, type Unrecorded } from '../../src/bookings/record.ts'
import { openStore } from '../../src/store/open.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'
import { createXref } from '../../src/xref/xref.ts'
import { basic, get, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { link } from '../store/samples.ts'
import { book, claimOf, creations, expectBooked, expectUnknown, isCreation, REFERENCE, statesOf } from './desk.ts'

/* The service says yes, and the store cannot write it down. */

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const LONG_MS = 60_000

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'transload-recording-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function entriesIn(file: string): readonly Unrecorded[] {
  return openEmergencyLog(file).read()
}

/** A service that makes a shipment while the pages of the store fill up: its claim has a place, its names have none. */
function serviceBeside(store: Store) {
  const fill = async () => {
    for (let i = 0; ; i += 1) await store.put({ links: [link({ name: `${i}` })] })
  }
  return openService(async (incoming, outgoing) => {
    await incoming.resume().toArray()
    await fill().catch(() => undefined)
    outgoing.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify({ id: ID, number: 'TL-1' }))
  })
}

describe('on a full disk', () => {
  async function fullStore(path: string): Promise<{ store: Store; room: Int32Array<SharedArrayBuffer> }> {
    await (await openStore(path)).close()
    const room = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    // SQLite takes the pages that it has for the least.
    room[0] = 1
    return { store: await openSqliteStore({ path, room }), room }
  }

  test('the outcome is unknown, the id is in the emergency log, and the next start picks it up', async () => {
    const folder = newFolder()
    const [path, emergency] = [join(folder, 'store.db'), join(folder, 'deep', 'emergency.ndjson')]
    const { store } = await fullStore(path)
    const service = await serviceBeside(store)
    const env = { EMERGENCY_LOG_FILE: emergency }
    const before = await startGateway({ store, serviceUrl: service.url, env })
    const key = expectUnknown(await book(before))
    expect(entriesIn(emergency)).toMatchObject([{ booking: key, tenant: 'demo', record: { id: ID } }])
    expect(before.lines()).toContainEqual(expect.objectContaining({ level: 'error', booking: key, shipment: ID }))
    // Nothing sends it again meanwhile.
    expect([409, 503]).toContain((await book(before, { DeliveryName: 'Somebody Else' })).status)
    await before.gateway.close()
    await store.close()

    const after = await startGateway({ store: await openStore(path), serviceUrl: service.url, env })
    expect(existsSync(emergency)).toBe(false)
    expect(expectBooked(await book(after), true)).toBe(ID)
    expect(await statesOf(after, key)).toContain('booked')
    expect(service.requests.filter(({ method }) => method === 'POST')).toHaveLength(1)
  })

  test('the gateway records it by itself as soon as there is room', async () => {
    const folder = newFolder()
    const emergency = join(folder, 'emergency.ndjson')
    const { store, room } = await fullStore(join(folder, 'store.db'))
    const service = await serviceBeside(store)
    const gateway = await startGateway({ store, serviceUrl: service.url, env: { EMERGENCY_LOG_FILE: emergency } })
    expectUnknown(await book(gateway))
    room[0] = 0
    await gateway.logged(/recorded late/)
    expect(expectBooked(await book(gateway), true)).toBe(ID)
    await vi.waitFor(() => expect(existsSync(emergency)).toBe(false))
    expect(service.requests).toHaveLength(1)
  })
})

describe('while PostgreSQL is down', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.remove())

  test('the outcome is unknown, and the next start picks the booking up', async () => {
    const emergency = join(newFolder(), 'emergency.ndjson')
    const url = await server.createDatabase()
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    const service = await openService(async (incoming, outgoing) => {
      const body = await incoming.setEncoding('utf8').toArray()
      if (isCreation({ method: incoming.method ?? '', path: incoming.url ?? '' })) await server.crash()
      const { authorization = '' } = incoming.headers
      const made = await fetch(sandbox.url + incoming.url, {
        method: incoming.method ?? 'GET',
        headers: { authorization },
        ...(body.length > 0 && { body: body.join('') }),
      })
      outgoing.writeHead(made.status, { 'content-type': 'application/json' }).end(await made.text())
    })
    const env = { EMERGENCY_LOG_FILE: emergency }
    const before = await startGateway({ store: await openStore(url), serviceUrl: service.url, env })
    const key = expectUnknown(await book(before))
    const [entry] = entriesIn(emergency)
    expect(entry).toMatchObject({ booking: key, record: { id: [...sandbox.shipments.keys()][0] } })
    expect((await book(before)).status).toBe(503)
    await before.gateway.close()
    await before.store.close()

    await server.start()
    const after = await startGateway({ store: await openStore(url), serviceUrl: service.url, env })
    expect(expectBooked(await book(after), true)).toBe(entry?.record.id)
    expect(existsSync(emergency)).toBe(false)
    expect(creations({ sandbox })).toBe(1)
    const read = await get(after, `/getShipment.php?ReferenceNumber=${REFERENCE}`)
    expect(read.json).toMatchObject({ ReferenceNumber: REFERENCE })
  })
})

describe('a cancellation under /v2/ while PostgreSQL is down', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.remove())

  test.each([
    ['shows it as canceled', 200],
    ['says nothing, and a read shows it', 204],
  ])('frees the key once the store is back, where the reply %s', { timeout: LONG_MS }, async (_what, said) => {
    // Shorter than the store is down: what was read at the time of the call counts.
    const env = { UPSTREAM_TIMEOUT_MS: '2000' }
    const gateway = await startGateway({ env, store: await openStore(await server.createDatabase()) })
    if (said === 204) gateway.sandbox.fail({ kind: 'status', status: 204, process: true, on: { method: 'DELETE' } })
    const id = expectBooked(await book(gateway))
    const { handle } = await claimOf(gateway)
    await server.stop()
    const kept = gateway.logged(/a change of bookings could not be recorded yet/)
    const headers = { authorization: basic() }
    const { status } = await fetch(`${gateway.url}/v2/shipments/${id}`, { method: 'DELETE', headers })
    expect(status).toBe(said)
    expect(await kept).toMatchObject({ booking: `canceled ${id}` })
    await server.start()
    await vi.waitFor(async () => expect((await gateway.store.claimByHandle(handle))?.state).toBe('freed'), {
      timeout: LONG_MS / 2,
      interval: 100,
    })
    expect(await statesOf(gateway, handle)).toEqual(['none', 'sending', 'booked', 'freed'])
    expect(expectBooked(await book(gateway))).not.toBe(id)
    expect(creations(gateway)).toBe(2)
  })
})

describe('an approval under /v2/ while PostgreSQL is down', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.remove())

  test('is known once the store is back: the quote is not booked a second time', { timeout: LONG_MS }, async () => {
    const gateway = await startGateway({ store: await openStore(await server.createDatabase()) })
    const headers = { authorization: basic() }
    expect((await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: REFERENCE })).status).toBe(
      200,
    )
    const [id = ''] = gateway.sandbox.quotes.keys()
    await server.stop()
    const kept = gateway.logged(/a change of bookings could not be recorded yet/)
    const { status } = await fetch(`${gateway.url}/v2/quote/${id}/approve`, { method: 'POST', headers })
    expect(status).toBe(200)
    expect(await kept).toMatchObject({ booking: `approval of ${id}` })
    await server.start()
    const xref = createXref(gateway.store, LONG_MS)
    await vi.waitFor(async () => expect(await xref.approval('demo', id)).toBe('approved'), {
      timeout: LONG_MS / 2,
      interval: 100,
    })
    expect((await book(gateway)).status).toBe(200)
    expect(creations(gateway)).toBe(0)
    expect(gateway.sandbox.shipments.size).toBe(1)
  })
})

describe('the emergency log', () => {
  const entry = (booking: string): Unrecorded => ({
    booking,
    tenant: 'demo',
    answer: { status: 200, headers: {}, body: '{}' },
    record: { kind: 'shipment', id: ID, names: ['REF'], vin: '', own: undefined, facts: undefined },
  })

  test('reads all whole lines, and skips incomplete ones', () => {
    const file = join(newFolder(), 'emergency.ndjson')
    const log = openEmergencyLog(file)
    expect(log.read()).toEqual([])
    log.write(entry('bk_1'))
    writeFileSync(file, `${readFileSync(file, 'utf8')}{"booking":"bk_2","ten`)
    log.write(entry('bk_3'))
    writeFileSync(file, `${readFileSync(file, 'utf8')}null\n{"booking":1}\n7\n`)
    expect(log.read().map(({ booking }) => booking)).toEqual(['bk_1', 'bk_3'])
  })

  test('has lines that gateways of every version read', () => {
    const file = join(newFolder(), 'emergency.ndjson')
    const { record, ...rest } = entry('bk_1')
    const line = { ...rest, keepsake: record }
    writeFileSync(file, `${JSON.stringify(line)}\n`)
    const log = openEmergencyLog(file)
    expect(log.read()).toEqual([entry('bk_1')])
    log.write(entry('bk_1'))
    expect(JSON.parse(readFileSync(file, 'utf8').trim().split('\n').at(-1) ?? '')).toEqual(
      JSON.parse(JSON.stringify(line)),
    )
  })

  test('removes only the read lines, because another gateway may have added some', () => {
    const file = join(newFolder(), 'emergency.ndjson')
    const [one, other] = [openEmergencyLog(file), openEmergencyLog(file)]
    one.write(entry('bk_1'))
    expect(one.read()).toHaveLength(1)
    other.write(entry('bk_2'))
    one.clear()
    expect(other.read().map(({ booking }) => booking)).toEqual(['bk_1', 'bk_2'])
    other.clear()
    expect(existsSync(file)).toBe(false)
  })

  test('is taken up once by the gateways that share it, and an entry that cannot be recorded holds up no other', async () => {
    const emergency = join(newFolder(), 'emergency.ndjson')
    const first = await startGateway({ env: { UPSTREAM_TIMEOUT_MS: '300' } })
    first.sandbox.fail({ kind: 'timeout', on: { method: 'POST' } })
    const key = expectUnknown(await book(first))
    const made = [...first.sandbox.shipments.keys()][0] ?? expect.fail('nothing was booked')
    const log = openEmergencyLog(emergency)
    const { record, ...rest } = entry(key)
    log.write({ ...entry('bk_bad'), tenant: 'refused' })
    log.write({ ...rest, record: { ...record, id: made } })
    const store: Store = {
      ...first.store,
      put: async (write) => {
        if (write.links.some(({ tenant }) => tenant === 'refused')) throw new Error('The store refused a write.')
        return first.store.put(write)
      },
    }
    const second = await startGateway({ store, serviceUrl: first.sandbox.url, env: { EMERGENCY_LOG_FILE: emergency } })
    expect(await claimOf(second)).toMatchObject({ state: 'booked', shipment: made })
    // The unrecorded booking is not lost.
    expect(log.read().map(({ booking }) => booking)).toContain('bk_bad')
  })
})
