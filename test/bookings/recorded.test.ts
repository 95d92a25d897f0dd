/** Promise: what was booked is recorded as soon as there is room, and never forgotten (contract, section 7). */

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openStore } from '../../src/store/open.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import type { Claim, Store } from '../../src/store/store.ts'
import { newFolder } from '../command.ts'
import { basic, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { link, newClaim, thing } from '../store/samples.ts'
import { ask, begin, book, claimOf, creations, expectBooked, expectUnknown, heartbeats, statesOf } from './desk.ts'

/*
 * Promise: what the service did is recorded before it is told, and nothing of it is lost while the store cannot write it down
 * (contract, section 7: the states `sending`, `booked` and `unknown`).
 */

function emergencyLog(): string {
  const folder = newFolder('recorded')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'deep', 'emergency.ndjson')
}

/** A gateway on a disk that fills up as soon as so many of its bookings are at the service; they are answered after that. */
async function openOnDisk(during: number) {
  const emergency = emergencyLog()
  const path = join(emergency, '../../store.db')
  await (await openStore(path)).close()
  const room = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  room[0] = ROOM_PAGES
  const store = await openSqliteStore({ path, room })
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const full = Promise.withResolvers<void>()
  let arrived = 0
  const service = await openService(async (incoming, outgoing) => {
    const body = (await incoming.setEncoding('utf8').toArray()).join('')
    const { method = '', url } = incoming
    const headers = { authorization: basic() }
    const reply = await fetch(sandbox.url + url, { method, headers, ...(body !== '' && { body }) })
    if (body.includes('DURING')) {
      arrived += 1
      if (arrived === during) await fill(store).then(full.resolve)
      await full.promise
    }
    if (body.includes('LOST')) return void outgoing.destroy()
    outgoing.writeHead(reply.status, { 'content-type': 'application/json' }).end(await reply.text())
  })
  const env = { EMERGENCY_LOG_FILE: emergency }
  const gateway = { ...(await startGateway({ store, env, serviceUrl: service.url })), sandbox }
  const makeRoom = () => {
    room[0] = 0
  }
  return { gateway, path, env, emergency, makeRoom }
}

/** Writes rows of every kind until none has a place. */
async function fill(store: Store): Promise<void> {
  let nth = 0
  const named = () => link({ name: `${++nth}` })
  const writes = [
    () => store.put({ links: Array.from({ length: 1_000 }, named) }),
    () => store.put({ links: [named()] }),
    () => store.put({ links: [], thing: thing({ id: `${++nth}` }) }),
    () => store.claim(newClaim({ key: `${++nth}` })),
    async () => {
      const [claim] = await store.listClaims({ tenant: 'acme' })
      if (claim) await store.change(claim, { state: 'unknown', instance: 'other', why: 'late' })
    },
  ]
  for (const write of writes) {
    let fits = true
    const full = () => {
      fits = false
    }
    while (fits) await write().catch(full)
  }
}

/** More than a few bookings need. */
const ROOM_PAGES = 100
const DURING = { ReferenceNumber: 'DURING' }
const LOST = { ReferenceNumber: 'DURING-LOST' }

test('on a full disk the outcome is unknown, the id is in the emergency log, and the next start picks it up', async () => {
  const { gateway, path, env, emergency } = await openOnDisk(1)
  const key = expectUnknown(await book(gateway, DURING))
  const [id] = gateway.sandbox.shipments.keys()
  const line = { booking: key, tenant: 'demo', answer: { status: 200 }, keepsake: { id } }
  expect(JSON.parse(readFileSync(emergency, 'utf8'))).toMatchObject(line)
  expect(statSync(emergency).mode & 0o777).toBe(0o600)
  expect(gateway.lines()).toContainEqual(expect.objectContaining({ level: 'error', booking: key, shipment: id }))
  // Nothing sends it again meanwhile.
  expect([409, 503]).toContain((await book(gateway, { ...DURING, DeliveryName: 'Somebody Else' })).status)
  await gateway.gateway.close()
  await gateway.store.close()

  const after = await startGateway({ store: await openStore(path), serviceUrl: gateway.sandbox.url, env })
  expect(existsSync(emergency)).toBe(false)
  expect(expectBooked(await book(after, DURING), true)).toBe(id)
  expect(await statesOf(after, key)).toContain('booked')
  expect(creations(gateway)).toBe(1)
})

test('as soon as there is room, the gateway records what was booked, lost, canceled and approved meanwhile', async () => {
  const beat = heartbeats()
  const { gateway, emergency, makeRoom } = await openOnDisk(2)
  const { sandbox } = gateway
  const canceled = expectBooked(await book(gateway, { ReferenceNumber: 'CANCELED' }))
  await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: 'QUOTE' })
  const [quote] = sandbox.quotes.keys()
  const keys = (await Promise.all([book(gateway, DURING), book(gateway, LOST)])).map(expectUnknown)
  expect((await ask(gateway, 'DELETE', `/v2/shipments/${canceled}`)).status).toBe(200)
  expect((await ask(gateway, 'POST', `/v2/quote/${quote}/approve`)).status).toBe(200)
  const late = gateway.lines().filter(({ msg }) => /could not be recorded/.test(String(msg)))
  const all = [...keys, `canceled ${canceled}`, `approval of ${quote}`]
  expect(new Set(late.map(({ booking }) => booking))).toEqual(new Set(all))
  expect((await claimOf(gateway, LOST.ReferenceNumber)).state).toBe('sending')

  makeRoom()
  await beat(() => expect(existsSync(emergency)).toBe(false))
  expect(gateway.lines()).toContainEqual(
    expect.objectContaining({ msg: 'a booking was recorded late', was: 'sending' }),
  )
  expect((await claimOf(gateway, LOST.ReferenceNumber)).state).toBe('unknown')
  const sent = creations(gateway)
  expectBooked(await book(gateway, DURING), true)
  expectBooked(await book(gateway, { ReferenceNumber: 'QUOTE' }))
  expect(creations(gateway)).toBe(sent)
  expect(expectBooked(await book(gateway, { ReferenceNumber: 'CANCELED' }))).not.toBe(canceled)
})

/** What others do with the claim while the service answers, and what follows from the answer that comes then. */
const judge = async (store: Store, { instance }: Claim) => {
  await store.endLease(instance)
  await store.orphanClaims(10_000, 'another gateway')
}
const settle = (state: 'booked' | 'freed', as?: string) => (store: Store, claim: Claim, id: string) => {
  const reply = JSON.stringify({ status: 200, headers: {}, body: '{}' })
  const shipment = as ?? id
  return store.change(claim, { state, instance: 'operator', why: 'settled', shipment, reply })
}

test.each([
  ['its gateway was taken for gone', judge, 'Yes', ['unknown', 'booked'], 0],
  ['an event told of the same shipment', settle('booked'), 'Yes', ['booked'], 0],
  ['an operator named another shipment', settle('booked', 'S-2'), 'Unknown', ['booked'], 0],
  ['an operator said that nothing was booked', settle('freed', ''), 'Unknown', ['freed'], 1],
])('a booking that is made after %s', async (_, meanwhile, booked, states, seconds) => {
  const beat = heartbeats()
  const gateway = await startGateway({ env: { EMERGENCY_LOG_FILE: emergencyLog() } })
  const { answer } = await begin(gateway, { kind: 'delay', ms: 200 })
  const claim = await claimOf(gateway)
  const [id = ''] = gateway.sandbox.shipments.keys()
  await meanwhile(gateway.store, claim, id)
  expect((await answer).json.TransportationBooked).toBe(booked)
  expect(await statesOf(gateway, claim.handle)).toEqual(['none', 'sending', ...states])
  // It is not lost: its names are kept, and a possible second shipment is told.
  await beat(async () =>
    expect((await gateway.store.links('demo', claim.reference)).map((one) => one.id)).toEqual([id]),
  )
  const told = gateway.lines().filter(({ msg }) => /there may be a second one/.test(String(msg)))
  expect(told).toHaveLength(seconds)
})

/** A line as every version writes it, because gateways of several versions may share the file. */
const lineOf = (booking: string, id: string, tenant = 'demo') =>
  JSON.stringify({
    booking,
    tenant,
    answer: { status: 200, headers: { 'Transload-Shipment-Id': id }, body: '{}' },
    keepsake: { kind: 'shipment', id, names: ['REF'], vin: '' },
  })

test('the emergency log is taken up once; lines that a crash cut off, or that cannot be recorded, hold up no other', async () => {
  const file = emergencyLog()
  const first = await startGateway({ env: { EMERGENCY_LOG_FILE: file } })
  first.sandbox.fail({ kind: 'reset-after', on: { method: 'POST' } })
  const key = expectUnknown(await book(first))
  const [made = ''] = first.sandbox.shipments.keys()
  const bad = lineOf('bk_bad', 'S-1', 'refused')
  const lines = ['{"booking":"bk_2","ten', 'null', '7', '{"booking":"bk_3"}', bad, lineOf(key, made)]
  const put: Store['put'] = async (write) => {
    if (write.links.some(({ tenant }) => tenant === 'refused')) throw new Error('The store refused a write.')
    return first.store.put(write)
  }
  mkdirSync(join(file, '..'))
  writeFileSync(file, lines.join('\n'))
  const store = { ...first.store, put }
  const second = await startGateway({ store, serviceUrl: first.sandbox.url, env: { EMERGENCY_LOG_FILE: file } })
  expect(await claimOf(second)).toMatchObject({ state: 'booked', shipment: made })
  // The unrecorded booking is not lost.
  expect(readFileSync(file, 'utf8')).toContain(bad)
})
