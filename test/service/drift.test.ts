/** Promise: documented replies of the service cause no report; new values are passed on, and a new field is reported once (contract, section 4). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { metricsOf, type TestGateway } from '../gateway.ts'
import { answering, book, cancel, ID, quote, read, update } from './calls.ts'

/** A shipment with every documented member. */
const documented = JSON.parse(readFileSync(join(import.meta.dirname, 'documented-shipment.json'), 'utf8'))

/** Opens a gateway before a service that answers each request with the next of these bodies. */
async function open(...bodies: readonly object[]): Promise<TestGateway> {
  const left = [...bodies]
  const { gateway } = await answering((outgoing) => outgoing.end(JSON.stringify(left.shift() ?? bodies.at(-1))))
  return gateway
}

/** The differences in the log, and their number in the metrics. */
async function toldBy(gateway: TestGateway) {
  const told = gateway.lines().flatMap(({ drift }) => (drift ? [Object(drift).path] : []))
  const text = await metricsOf(gateway)
  return { told, count: Number(/^transload_reply_drift_total\{kind="new-field"\} (\d+)$/m.exec(text)?.[1]) }
}

test('a documented reply causes no report', async () => {
  const canceled = { ...documented, status: 'canceled' }
  const quoted = { shipment_id: ID, price: 1234.5 }
  const gateway = await open(quoted, documented, documented, documented, documented, canceled)
  const calls = [quote, book, read, update, cancel]
  for (const call of calls) {
    const { status, text } = await call(gateway)
    expect(status).toBe(200)
    // Version 1 has no field for measures, flags and files, and shows none.
    expect(text).not.toMatch(/1290|2076054|8200|98\.5|true|XLT|\.jpg|\.pdf|2024-08-10/)
  }
  expect(await toldBy(gateway)).toEqual({ told: [], count: 0 })
})

test('a new value is passed on unchanged, reported once by its place and not its value, and counted', async () => {
  const { number: _, ...shipment } = documented
  const gateway = await open({
    ...shipment,
    status: 'in_transit',
    transport_type: 'driven',
    colour: 'red',
    pickup: { ...shipment.pickup, location_type: 'MUSEUM', available_pickup_dttm: '2024-08-10T08:00:00Z' },
    vehicles: [{ ...shipment.vehicles[0], year: '2023', type: 'boat', wheels: 4 }],
  })
  for (const _ of ['first', 'second']) {
    const { status, json } = await read(gateway, { id: ID })
    expect([status, json.Status, json.EquipmentType, json.Year]).toEqual([200, 'in_transit', 'driven', '2023'])
  }
  expect(await toldBy(gateway)).toEqual({ told: ['shipment.vehicles[].wheels', 'shipment.colour'], count: 4 })
  expect(JSON.stringify(gateway.lines())).not.toMatch(/in_transit|driven|MUSEUM|boat|"red"/)
})

const newNames = (count: number) => Array.from({ length: count }, (_, i) => `n${'x'.repeat(i)}`)
const members = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 1]))
const PLAIN = ['a', '_aB-9', 'a123', 'x'.repeat(64)]
const UNUSUAL = ['a1234', '9a', 'a.b', 'x'.repeat(65), '']

test.each<[what: string, shown: object, told: readonly string[], count: number]>([
  ['49 of one object are counted', members(newNames(49)), newNames(49), 49],
  ['60 of one object are counted up to the fiftieth', members(newNames(60)), newNames(50), 50],
  [
    'those of a list are counted in its first hundred entries',
    { vehicles: Array.from({ length: 120 }, () => ({ wheels: 4 })) },
    ['vehicles[].wheels'],
    100,
  ],
  ['a plain name is shown', members(PLAIN), PLAIN, 4],
  ['a name that may be a value is not shown', { pickup: members(UNUSUAL) }, ['pickup.(an unusual name)'], 5],
])('of new members, %s', async (_, shown, told, count) => {
  const gateway = await open({ ...documented, ...shown })
  expect((await read(gateway, { id: ID })).status).toBe(200)
  expect(await toldBy(gateway)).toEqual({ told: told.map((path) => `shipment.${path}`), count })
})
