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

const entriesIn = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

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
  const writes = [
    async () => {
      const links = Array.from({ length: 1_000 }, () => link({ name: `${++nth}` }))
      await store.put({ links })
    },
    () => store.put({ links: [link({ name: `${++nth}` })] }),
    () => store.put({ links: [], thing: thing({ id: `${++nth}` }) }),
    () => store.claim(newClaim({ key: `${++nth}` })),
    async () => {
      const [claim] = await store.listClaims({ tenant: 'acme' })
      if (claim) await store.change(claim, { state: 'unknown', instance: 'other', why: 'late' })
    },
  ]
  for (const write of writes) {
    const fits = () =>
      write().then(
        () => true,
        () => false,
      )
    while (await fits());
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
  expect(entriesIn(emergency)).toMatchObject([line])
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
  expect(await store.orphanClaims(10_000, 'another gateway')).toHaveLength(1)
}
const settle = async (store: Store, claim: Claim, state: 'booked' | 'freed', shipment: string) => {
  const reply = JSON.stringify({ status: 200, headers: {}, body: '{}' })
  await store.change(claim, { state, instance: 'operator', why: 'settled', shipment, reply })
}
const meanwhile: Readonly<Record<string, (store: Store, claim: Claim, id: string) => Promise<void>>> = {
  'its gateway was taken for gone': judge,
  'an event told of the same shipment': (store, claim, id) => settle(store, claim, 'booked', id),
  'an operator named another shipment': (store, claim) => settle(store, claim, 'booked', 'S-2'),
  'an operator said that nothing was booked': (store, claim) => settle(store, claim, 'freed', ''),
}

test.each([
  ['its gateway was taken for gone', 'Yes', ['none', 'sending', 'unknown', 'booked'], false],
  ['an event told of the same shipment', 'Yes', ['none', 'sending', 'booked'], false],
  ['an operator named another shipment', 'Unknown', ['none', 'sending', 'booked'], false],
  ['an operator said that nothing was booked', 'Unknown', ['none', 'sending', 'freed'], true],
])('a booking that is made after %s: %s', async (what, booked, states, isSecond) => {
  const beat = heartbeats()
  const gateway = await startGateway({ env: { EMERGENCY_LOG_FILE: emergencyLog() } })
  const { answer } = await begin(gateway, { kind: 'delay', ms: 200 })
  const claim = await claimOf(gateway)
  const [id = ''] = gateway.sandbox.shipments.keys()
  await meanwhile[what]?.(gateway.store, claim, id)
  const { json } = await answer
  expect(json.TransportationBooked).toBe(booked)
  expect(await statesOf(gateway, claim.handle)).toEqual(states)
  if (booked === 'Yes') return
  // It is not lost: its names are kept, and a possible second shipment is told.
  await beat(async () =>
    expect((await gateway.store.links('demo', claim.reference)).map((one) => one.id)).toEqual([id]),
  )
  const told = gateway.lines().filter(({ msg }) => /there may be a second one/.test(String(msg)))
  expect(told).toHaveLength(isSecond ? 1 : 0)
})

/** A line as every version writes it, because gateways of several versions may share the file. */
const lineOf = (booking: string, id: string, tenant = 'demo') =>
  JSON.stringify({
    booking,
    tenant,
    answer: {
      status: 200,
      headers: { 'Transload-Shipment-Id': id },
      body: '{"Message":"Transportation booked: shipment 1"}',
    },
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
