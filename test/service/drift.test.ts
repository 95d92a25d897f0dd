/** Promise: what the service says as documented is no news; what is new is passed on, and a new field is told once (contract, section 4). */

import { describe, expect, test } from 'vitest'
import { get, OWN, startGateway, type TestGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { book, cancel, quote, update } from './calls.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'

const STATUSES = ['new', 'posted', 'assigned', 'picked_up', 'delivered', 'hold', 'canceled']
const PARTIES = ['AUCTION', 'BUSINESS', 'DEALER', 'PRIVATE', 'REPO_YARD', 'PORT']
const VEHICLES = ['car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body']
const PHOTOS = ['sample', 'pickup', 'delivery']
const DATES = ['2024-08-10T08:00:00-0500', '2024-08-10T08:00:00.000+0000']

const nth = (values: readonly string[], n: number) => values[n % values.length] ?? ''

/** A shipment with every documented member, and the nth documented value of each. */
function documented(n: number) {
  const date = nth(DATES, n)
  const contact = { contact_name: 'Pat Example', contact_email: 'pat@example.com', contact_phone: '2145550000' }
  const address = { address: '1 Test Dr', city: 'Dallas', state: 'TX', zipcode: 75234 }
  const place = { location_name: 'Lot 7', location_type: nth(PARTIES, n), ...address, ...contact, notes: 'Gate 2' }
  return {
    ...{
      id: ID,
      number: 'TL-100001',
      status: nth(STATUSES, n),
      price: 1234.5,
      distance: 1290.5,
      distance_meters: 2076054,
    },
    customer: {
      ...{ customer_name: 'Example Motors', customer_type: nth(PARTIES, n), ...address, ...contact },
      ...{ email: 'office@example.com', phone: '2145550001' },
    },
    pickup: {
      ...place,
      ...{
        available_pickup_dttm: date,
        scheduled_pickup_dttm: date,
        scheduled_pickup_dttm_end: date,
        pickup_dttm: date,
      },
    },
    delivery: {
      ...place,
      ...{ preferred_delivery_dttm: date, scheduled_delivery_dttm: date },
      ...{ scheduled_delivery_dttm_end: date, delivery_dttm: date },
    },
    vehicles: [
      {
        ...{ id: ID, vin: '1FDXE4FN9PDD32477', year: 2023, make: 'Ford', model: 'E-450', trim: 'XLT' },
        ...{ type: nth(VEHICLES, n), is_modified: true, is_inoperable: false, notes: 'Low' },
        ...{ weight: 8200, height: 98.5, width: 84, length: 264 },
        photos: [
          {
            ...{ id: ID, type: nth(PHOTOS, n), url: 'https://example.com/1.jpg' },
            ...{ latitude: 40.58, longitude: -74.14, created_dttm: date },
          },
        ],
      },
    ],
    transport_type: nth(['open', 'enclosed'], n),
    instructions: 'Ring twice',
    documents: [{ id: ID, type: 'bol', url: 'https://example.com/1.pdf' }],
    external_id: 'REF-1',
  }
}

const read = (gateway: TestGateway) => get(gateway, `/getShipment.php?id=${ID}`)

/** Opens a gateway before a service that answers each request with the next of these bodies. */
async function answering(bodies: readonly object[]) {
  const left = [...bodies]
  const service = await openService((incoming, outgoing) => {
    incoming.resume().once('end', () => {
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(left.shift() ?? bodies.at(-1)))
    })
  })
  return startGateway({ env: OWN, serviceUrl: service.url })
}

/** Every difference in the log, one line each. */
const told = (gateway: TestGateway) =>
  gateway.lines().flatMap(({ drift }) => {
    const { kind, path } = (drift ?? {}) as Readonly<Record<string, unknown>>
    return kind === undefined ? [] : [`${kind} ${path}`]
  })

/** The counts of differences. */
async function counted({ adminUrl }: TestGateway) {
  const { text } = await get({ url: adminUrl }, '/metrics')
  const lines = [...text.matchAll(/^transload_reply_drift_total\{kind="([\w-]+)"\} (\d+)$/gm)]
  return lines.map(([, kind, count]) => `${kind} ${count}`)
}

describe('a reply as documented is no news', () => {
  test('a read, with every member and every value', async () => {
    const gateway = await answering(VEHICLES.map((_, n) => documented(n)))
    for (const [n] of VEHICLES.entries()) {
      const { status, text, json } = await read(gateway)
      expect([status, json.Status]).toEqual([200, STATUSES[n]])
      // Version 1 has no field for measures, flags and files, and shows none.
      expect(text).not.toMatch(/1290|2076054|8200|98\.5|true|XLT|\.jpg|\.pdf|2024-08-10/)
    }
    expect(told(gateway)).toEqual([])
    expect(await counted(gateway)).toEqual(['new-field 0'])
  })

  test('a quote of two members; a booking, an update and a cancellation that show the whole shipment', async () => {
    const canceled = { ...documented(0), status: 'canceled' }
    const shipment = documented(0)
    const quoted = { shipment_id: ID, price: 1234.5 }
    const gateway = await answering([quoted, shipment, shipment, shipment, canceled, canceled])
    const calls = [await quote(gateway), await book(gateway), await update(gateway), await cancel(gateway)]
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(told(gateway)).toEqual([])
  })
})

test('what is new is passed on as it is, told once by its place and not by its value, and counted', async () => {
  const { number: _, ...shipment } = documented(0)
  const news = {
    ...shipment,
    status: 'in_transit',
    transport_type: 'driven',
    colour: 'red',
    customer: { ...shipment.customer, customer_type: 'MUSEUM' },
    pickup: { ...shipment.pickup, location_type: 'MUSEUM', available_pickup_dttm: '2024-08-10T08:00:00Z' },
    vehicles: [{ ...shipment.vehicles[0], year: '2023', type: 'boat', wheels: 4 }],
    documents: [{ id: ID, type: 'invoice', url: '' }],
  }
  const gateway = await answering([news])
  for (const _ of ['first', 'second']) {
    const { status, json } = await read(gateway)
    expect([status, json.Status, json.EquipmentType, json.Year]).toEqual([200, 'in_transit', 'driven', '2023'])
  }
  expect(told(gateway).sort()).toEqual(['new-field shipment.colour', 'new-field shipment.vehicles[].wheels'])
  expect(JSON.stringify(gateway.lines())).not.toMatch(/in_transit|driven|MUSEUM|boat|invoice/)
  expect(await counted(gateway)).toEqual(['new-field 4'])
})

describe('new members', () => {
  /** Reads a shipment with these members, and returns what the log says of them. */
  async function shownOf(members: object) {
    const gateway = await answering([{ ...documented(0), ...members }])
    expect((await read(gateway)).status).toBe(200)
    return { lines: told(gateway), counts: await counted(gateway) }
  }
  const news = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${'x'.repeat(i)}`, 1]))

  test('of one object are counted up to the fiftieth', async () => {
    for (const [count, noted] of [[49, 49] as const, [60, 50] as const]) {
      const { lines, counts } = await shownOf(news(count))
      expect([lines.length, counts]).toEqual([noted, [`new-field ${noted}`]])
    }
  })

  test('of a list are counted in its first hundred entries', async () => {
    const { lines, counts } = await shownOf({ vehicles: Array.from({ length: 120 }, () => ({ wheels: 4 })) })
    expect([lines, counts]).toEqual([['new-field shipment.vehicles[].wheels'], ['new-field 100']])
  })

  test('have their name shown unless it may be a value', async () => {
    const plain = ['a', '_aB-9', 'a123', 'x'.repeat(64)]
    const named = await shownOf(Object.fromEntries(plain.map((name) => [name, 1])))
    expect(named.lines).toEqual(plain.map((name) => `new-field shipment.${name}`))
    const values = ['a1234', '9a', 'a.b', 'x'.repeat(65), '']
    const unnamed = await shownOf({ pickup: Object.fromEntries(values.map((name) => [name, 1])) })
    expect(unnamed.lines).toEqual(['new-field shipment.pickup.(an unusual name)'])
    expect(unnamed.counts).toEqual(['new-field 5'])
  })
})
