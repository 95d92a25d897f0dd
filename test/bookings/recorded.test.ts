/** Promise: a booking is recorded before it is answered, or otherwise as soon as there is room, and never forgotten (contract, section 7). */

import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/outside/store/store.ts'
import { post, startGateway } from '../gateway.ts'
import { newClaim } from '../store/samples.ts'
import {
  ask,
  begin,
  book,
  claimOf,
  creations,
  expectBooked,
  expectUnknown,
  heartbeats,
  OTHER_VIN,
  testFolder,
} from './desk.ts'

const emergencyLog = () => join(testFolder(), 'deep', 'emergency.ndjson')

/** A gateway on a disk that is full when a test says so. */
async function openOnDisk() {
  const disk = { isFull: false }
  const inner = createMemoryStore()
  const onDisk =
    <Args extends unknown[], T>(write: (...args: Args) => Promise<T>) =>
    (...args: Args) =>
      disk.isFull ? Promise.reject(new StoreDown('The disk is full.')) : write(...args)
  const { put, claim, change, renewLease, orphanClaims } = inner
  const store: Store = {
    ...inner,
    put: onDisk(put),
    claim: onDisk(claim),
    change: onDisk(change),
    renewLease: onDisk(renewLease),
    orphanClaims: onDisk(orphanClaims),
  }
  const emergency = emergencyLog()
  const env = { EMERGENCY_LOG_FILE: emergency, UPSTREAM_TIMEOUT_MS: '1000' }
  return { gateway: await startGateway({ store, env }), disk, env, emergency }
}

const SLOW = { kind: 'delay', ms: 300 } as const
const LOST = { ReferenceNumber: 'LOST' }

test('on a full disk the outcome is unknown, the id is in the emergency log, and the next start picks it up', async () => {
  const { gateway, disk, env, emergency } = await openOnDisk()
  const { answer } = await begin(gateway, SLOW)
  disk.isFull = true
  const key = expectUnknown(await answer)
  const [id] = gateway.sandbox.shipments.keys()
  const line = { booking: key, tenant: 'demo', answer: { status: 200 }, shipment: id }
  expect(JSON.parse(readFileSync(emergency, 'utf8'))).toMatchObject(line)
  expect(statSync(emergency).mode & 0o777).toBe(0o600)
  expect(gateway.lines()).toContainEqual(expect.objectContaining({ level: 'error', booking: key, shipment: id }))
  // Nothing sends it again meanwhile.
  expect([409, 503]).toContain((await book(gateway, { DeliveryName: 'Somebody Else' })).status)
  await gateway.gateway.close()
  disk.isFull = false

  const after = await startGateway({ store: gateway.store, serviceUrl: gateway.sandbox.url, env })
  expect(existsSync(emergency)).toBe(false)
  expect(expectBooked(await book(after), true)).toBe(id)
  expect(creations(gateway)).toBe(1)
})

test('as soon as there is room, the gateway records the bookings made, lost and canceled meanwhile', async () => {
  const beat = heartbeats()
  const { gateway, disk, emergency } = await openOnDisk()
  const canceled = expectBooked(await book(gateway, { ReferenceNumber: 'CANCELED' }))
  const begun = [await begin(gateway, SLOW), await begin(gateway, { kind: 'timeout' }, LOST)]
  disk.isFull = true
  const keys = (await Promise.all(begun.map(({ answer }) => answer))).map(expectUnknown)
  expect((await ask(gateway, 'DELETE', `/v2/shipments/${canceled}`)).status).toBe(200)
  const late = gateway.lines().filter(({ msg }) => /could not be recorded/.test(String(msg)))
  expect(new Set(late.map(({ booking }) => String(booking).split(` ${canceled}`)[0]))).toEqual(
    new Set([...keys, 'doubt about', 'canceled', 'shown']),
  )
  expect((await claimOf(gateway, 'LOST')).state).toBe('sending')

  disk.isFull = false
  await beat(() => expect(existsSync(emergency)).toBe(false))
  expect(gateway.lines()).toContainEqual(
    expect.objectContaining({ msg: 'a booking was recorded late', was: 'sending' }),
  )
  expect((await claimOf(gateway, 'LOST')).state).toBe('unknown')
  const sent = creations(gateway)
  expectBooked(await book(gateway), true)
  expect(creations(gateway)).toBe(sent)
  expect(expectBooked(await book(gateway, { ReferenceNumber: 'CANCELED' }))).not.toBe(canceled)
})

test('cancellations are recorded after the next start, before a booking, even if there is room only then', async () => {
  const { gateway, disk, env, emergency } = await openOnDisk()
  const { sandbox } = gateway
  const first = expectBooked(await book(gateway, { ReferenceNumber: 'FIRST' }))
  const second = expectBooked(await book(gateway, { ReferenceNumber: 'SECOND', VinNo: OTHER_VIN }))
  disk.isFull = true
  expect((await post(gateway, '/deleteShipment.php', { ReferenceNumber: 'FIRST' })).json.TransportationBooked).toBe(
    'No',
  )
  expect((await ask(gateway, 'DELETE', `/v2/shipments/${second}`)).status).toBe(200)
  await gateway.gateway.close()

  const after = await startGateway({ store: gateway.store, serviceUrl: sandbox.url, env })
  expect(existsSync(emergency)).toBe(true)
  disk.isFull = false
  expect(expectBooked(await book(after, { ReferenceNumber: 'FIRST' }))).not.toBe(first)
  expect(expectBooked(await book(after, { ReferenceNumber: 'SECOND', VinNo: OTHER_VIN }))).not.toBe(second)
  expect(existsSync(emergency)).toBe(false)
})

test.each([
  ['named another shipment', 'booked', 'S-2', 0],
  ['said that nothing was booked', 'freed', '', 1],
] as const)('a booking that is made after an operator %s is not lost', async (_, state, shipment, seconds) => {
  const beat = heartbeats()
  const gateway = await startGateway({ env: { EMERGENCY_LOG_FILE: emergencyLog() } })
  const { answer } = await begin(gateway, { kind: 'delay', ms: 200 })
  const claim = await claimOf(gateway)
  const [id = ''] = gateway.sandbox.shipments.keys()
  const reply = JSON.stringify({ status: 200, headers: {}, body: '{}' })
  await gateway.store.change(claim, { state, instance: 'operator', why: 'settled', shipment, reply })
  expectUnknown(await answer)
  expect((await claimOf(gateway)).state).toBe(state)
  // Its names are kept, and a possible second shipment is reported.
  await beat(async () =>
    expect((await gateway.store.named('demo', claim.reference)).map((one) => one.id)).toEqual([id]),
  )
  const told = gateway.lines().filter(({ msg }) => /there may be a second one/.test(String(msg)))
  expect(told).toHaveLength(seconds)
})

/** A line in the form of every version, because gateways of several versions may share the file. */
const lineOf = (booking: string, id: string, tenant = 'demo') =>
  JSON.stringify({
    booking,
    tenant,
    answer: { status: 200, headers: { 'Transload-Shipment-Id': id }, body: '{}' },
    shipment: id,
    record: {
      names: [{ tenant, kind: 'shipment', name: 'REF', id, givenBy: 'caller' }],
      shipment: { tenant, id, state: 'live' },
    },
  })

test('the emergency log is read once; lines that a crash cut off or that cannot be recorded delay no other', async () => {
  const beat = heartbeats()
  const file = emergencyLog()
  const first = await startGateway()
  first.sandbox.fail({ kind: 'reset-after', on: { method: 'POST' } })
  const key = expectUnknown(await book(first))
  const [made = ''] = first.sandbox.shipments.keys()
  const bad = lineOf('bk_bad', 'S-1', 'refused')
  const refused = JSON.stringify({ change: 'approval', tenant: 'demo', record: { names: [{ tenant: 'refused' }] } })
  const lines = ['{"booking":"bk_2","ten', 'null', '7', '{"booking":"bk_3"}', bad, refused, lineOf(key, made)]
  const put: Store['put'] = async (write) => {
    if (write.names?.some(({ tenant }) => tenant === 'refused')) throw new Error('The store refused a write.')
    return first.store.put(write)
  }
  mkdirSync(join(file, '..'))
  writeFileSync(file, lines.join('\n'))
  const store = { ...first.store, put }
  const second = await startGateway({ store, serviceUrl: first.sandbox.url, env: { EMERGENCY_LOG_FILE: file } })
  expect(await claimOf(second)).toMatchObject({ state: 'booked', shipment: made })
  // The unrecorded booking is not lost, and the others are not recorded again.
  const told = (what: RegExp) => second.lines().filter(({ msg }) => what.test(String(msg)))
  await beat(() => expect(told(/could still not be recorded/).length).toBeGreaterThan(2))
  expect(told(/was recorded late/)).toHaveLength(1)
  expect(readFileSync(file, 'utf8')).toContain(bad)
  expectBooked(await book(second, { ReferenceNumber: 'ANOTHER' }))
})

test('an embedded store that answers only after the start tells at once which bookings were cut off', async () => {
  const beat = heartbeats()
  // No lease lapses by itself.
  const inner = createMemoryStore({ monotonicNow: () => 1_000 })
  const instance = `${hostname()}/${process.pid}/1/abcdefgh`
  await inner.renewLease(instance, 1_000)
  await inner.claim(newClaim({ instance }))
  let isDown = true
  const liveInstances = async () => {
    if (isDown) throw new StoreDown('The store is not open yet.')
    return inner.liveInstances()
  }
  await startGateway({ store: { ...inner, engine: 'sqlite', liveInstances } })
  isDown = false
  await beat(async () => expect(await inner.findClaim('acme', 'REF-1')).toMatchObject({ state: 'unknown' }))
})
