/** Promise: new code is checked before it is used: usual mistakes are found, right programs are never called wrong (contract, section 12). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { actions } from '../../mappings/index.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { as, named, openEdge } from '../callers/edge.ts'
import { type Answered, basic, OWN, post, startGateway, type TestGateway } from '../gateway.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'

/** What the gateway would send for the example. */
const BOOKING = {
  external_id: 'WTS20250216191244',
  customer: { customer_name: 'Pat Example', phone: '2145550000', email: 'pat@example.com' },
  pickup: {
    ...{ address: '10 Sample St', city: 'Staten Island', state: 'NY', zipcode: 10314, notes: 'Gate code 1234' },
    ...{ location_name: 'Example Motors', contact_name: 'Example Motors' },
    ...{ contact_phone: '7185550100', contact_email: 'lot@example.com' },
  },
  delivery: {
    ...{ address: '20 Test Ave', city: 'Miami', state: 'FL', zipcode: 33166, notes: 'Call ahead' },
    ...{ location_name: 'Robin Example', contact_name: 'Robin Example' },
    ...{ contact_phone: '3055550101', contact_email: 'robin@example.com' },
  },
  vehicles: [{ vin: '1FDXE4FN9PDD32477', year: 2023, make: 'Ford', model: 'E-450', type: 'truck_ext' }],
  transport_type: 'open',
}
const { vehicles, pickup, delivery } = BOOKING
const [vehicle] = vehicles
const QUOTE = { pickup: '10314', delivery: '33166', vehicle_type: 'truck_ext', transport_type: 'open' }
const CHANGED = {
  ...BOOKING,
  vehicles: [{ ...vehicle, id: ID }],
  delivery: { ...delivery, contact_name: 'Sam Example' },
}

interface Sent {
  readonly method?: string
  readonly path?: string
  readonly body?: unknown
  readonly type?: string
  readonly authorization?: string
}

/** Sends what new code sends, and returns the answer with the verdict. */
async function check(
  { url }: Pick<TestGateway, 'url'>,
  { method = 'POST', path = '/v2/shipments', body, type = 'application/json', authorization = basic() }: Sent,
) {
  const reply = await fetch(`${url}/check${path}`, {
    method,
    headers: { authorization, ...(type && { 'content-type': type }) },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  })
  const verdict = await fetch(`${url}/check/last`, { headers: { authorization } })
  return {
    status: reply.status,
    header: reply.headers.get('transload-check'),
    example: (await reply.json()) as Answered['json'],
    verdict: (await verdict.json()) as Answered['json'],
  }
}

/** Explains the calls that the new code is to replace. */
async function explained(options: Parameters<typeof startGateway>[0] = {}): Promise<TestGateway> {
  const gateway = await startGateway(options)
  await post(gateway, '/dry-run/getShippingQuote.php', { ...quoteExample })
  await post(gateway, '/dry-run/createShipment.php', bookingExample)
  const change = { ReferenceNumber: bookingExample.ReferenceNumber, DeliveryName: 'Sam Example' }
  await post(gateway, '/dry-run/updateShipment.php', change)
  gateway.sandbox.requests.length = 0
  return gateway
}

const booking = (part: object): Sent => ({ body: { ...BOOKING, ...part } })
const changing = (body: object): Sent => ({ method: 'PUT', path: `/v2/shipments/${ID}`, body })

/** The mistakes that programs for version 2 begin with: what was sent, and where the verdict finds what. */
const mistakes: readonly (readonly [name: string, sent: Sent, place: string, reason: RegExp])[] = [
  ['a ZIP as a string', booking({ pickup: { ...pickup, zipcode: '10314' } }), 'pickup.zipcode', /is an integer/],
  [
    'a ZIP with four more digits',
    booking({ pickup: { ...pickup, zipcode: 103141234 } }),
    'pickup.zipcode',
    /five digits/,
  ],
  [
    'a date without an offset',
    booking({ pickup: { ...pickup, available_pickup_dttm: '2026-03-01T08:00:00' } }),
    'pickup.available_pickup_dttm',
    /an offset without a colon/,
  ],
  ['ids left out of a PUT', changing({ ...CHANGED, vehicles }), 'vehicles[0].id', /ids of its parts/],
  [
    'a PUT of the changed fields only',
    changing({ delivery: { contact_name: 'Sam Example' } }),
    'pickup',
    /replaces the whole/,
  ],
  ['no external_id', booking({ external_id: undefined }), 'external_id', /always sends it/],
  [
    'a customer without a name, which no dry run has explained',
    booking({ external_id: 'OTHER-3', customer: { phone: '2145550000' } }),
    'customer.customer_name',
    /always sends it/,
  ],
  ['vehicles as an object', booking({ vehicles: vehicle }), 'vehicles', /is a list/],
  ['no vehicle', booking({ vehicles: [] }), 'vehicles', /not empty/],
  ['a year as text', booking({ vehicles: [{ ...vehicle, year: '2023' }] }), 'vehicles[0].year', /is an integer/],
  [
    'a phone with punctuation',
    booking({ pickup: { ...pickup, contact_phone: '(718) 555-0100' } }),
    'pickup.contact_phone',
    /digits only/,
  ],
  ['a state in lower case', booking({ pickup: { ...pickup, state: 'ny' } }), 'pickup.state', /two capital letters/],
  ['the old word for the trailer', booking({ transport_type: 'OPEN' }), 'transport_type', /one of open, enclosed/],
  [
    'a kind of vehicle that there is not',
    booking({ vehicles: [{ ...vehicle, type: 'BOX TRUCK' }] }),
    'vehicles[0].type',
    /one of car, suv/,
  ],
  ['an unknown field', booking({ colour: 'red' }), 'colour', /no such field/],
  ['a slip of the pen', booking({ pickup: { ...pickup, adress: '1 St' } }), 'pickup.adress', /did you mean address/],
  ['a name of version 1', booking({ PickupZip: '10314' }), 'PickupZip', /version 1: version 2 has pickup\.zipcode/],
  ['a field that version 2 has not', booking({ CSR: 'Al' }), 'CSR', /does not record the agent/],
  ['a form', { body: new URLSearchParams(QUOTE).toString(), path: '/v2/quote' }, 'body', /no JSON/],
  ['an empty body', {}, 'body', /is empty/],
  ['a list as the body', { body: [BOOKING] }, 'body', /is a JSON object/],
  ['a path of version 1', { ...booking({}), path: '/createShipment.php' }, 'path', /version 2 has \/v2\/quote,/],
  ['PATCH', { ...changing(CHANGED), method: 'PATCH' }, 'method', /takes .*PUT/],
  [
    "the quote's id in its body",
    { method: 'PUT', path: `/v2/quote/${ID}`, body: { ...QUOTE, quote_id: ID } },
    'quote_id',
    /in the path/,
  ],
  ['a price', booking({ price: 1234.5 }), 'price', /only the service sets price/],
  [
    'a field that was forgotten',
    booking({ delivery: { ...delivery, notes: undefined } }),
    'delivery.notes',
    /gateway sends it/,
  ],
  [
    'a value that is another one',
    booking({ delivery: { ...delivery, zipcode: 33101 } }),
    'delivery.zipcode',
    /another value/,
  ],
]

test('a mistake of new code is found', async () => {
  const gateway = await explained()
  for (const [name, sent, place, reason] of mistakes) {
    const { header, verdict } = await check(gateway, sent)
    expect(header, name).toBe('differs')
    const { differences, unknown, missing } = verdict
    const rows = [...differences, ...unknown, ...missing]
    // Nothing else is called wrong, but for what is missing of a PUT or beside a wrong path.
    expect(rows, name).toContainEqual(expect.objectContaining({ path: place, reason: expect.stringMatching(reason) }))
    if (!['PUT', 'PATCH'].includes(sent.method ?? '')) expect(rows, name).toHaveLength(1)
  }
  expect(gateway.sandbox.requests).toEqual([])
})

const reversed = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(reversed)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .reverse()
            .map(([name, part]) => [name, reversed(part)]),
        )
      : value

const DATE = '2026-03-01T08:00:00-0500'
/** A booking that no dry run has explained, with all that a request may have. */
const EVERY_MEMBER = {
  external_id: 'OTHER-2',
  customer: {
    ...{
      ...BOOKING.customer,
      customer_type: 'DEALER',
      address: '1 Test Dr',
      city: 'Dallas',
      state: 'TX',
      zipcode: 75234,
    },
    ...{ contact_name: 'Pat Example', contact_email: 'pat@example.com', contact_phone: '2145550000' },
  },
  pickup: {
    ...{ ...pickup, location_type: 'AUCTION', available_pickup_dttm: DATE, scheduled_pickup_dttm: DATE },
    ...{ scheduled_pickup_dttm_end: DATE, pickup_dttm: '2026-03-01T08:00:00.000-0500' },
  },
  delivery: {
    ...{ ...delivery, location_type: 'PRIVATE', preferred_delivery_dttm: DATE, scheduled_delivery_dttm: DATE },
    ...{ scheduled_delivery_dttm_end: DATE, delivery_dttm: DATE },
  },
  vehicles: [{ ...vehicle, trim: 'XLT', is_modified: false, is_inoperable: true, notes: 'Low' }],
  transport_type: 'enclosed',
  instructions: 'Ring twice',
}

const right: readonly (readonly [name: string, sent: Sent])[] = [
  ['a booking', booking({})],
  ['keys in another order', { body: reversed(BOOKING) as object }],
  [
    'numbers in other spellings',
    { body: JSON.stringify(BOOKING).replace('10314', '1.0314e4').replace('2023', '2023.0') },
  ],
  ['what the gateway only assumed, as the caller knows it', booking({ transport_type: 'enclosed' })],
  ['without what the gateway only assumed', booking({ transport_type: undefined })],
  [
    'more than version 1 had',
    booking({
      instructions: 'Ring twice',
      pickup: { ...pickup, available_pickup_dttm: '2026-03-01T08:00:00.000-0500' },
    }),
  ],
  [
    'the singular path, and a charset',
    { ...booking({}), path: '/v2/shipment', type: 'application/json; charset=utf-8' },
  ],
  ['a quote', { path: '/v2/quote', body: QUOTE }],
  ['a quote in the query', { method: 'GET', path: `/v2/quote?${new URLSearchParams(QUOTE)}`, type: '' }],
  ['a changed quote', { method: 'PUT', path: `/v2/quote/${ID}`, body: { delivery: '33101' } }],
  ['an approval', { path: `/v2/quote/${ID}/approve`, body: {} }],
  ['an approval without a body', { path: `/v2/quote/${ID}/approve`, type: '' }],
  ['a read', { method: 'GET', path: `/v2/shipments/${ID}`, type: '' }],
  ['a change', changing(CHANGED)],
  ['a change with one vehicle more', changing({ ...CHANGED, vehicles: [...CHANGED.vehicles, vehicle] })],
  ['a cancellation', { method: 'DELETE', path: `/v2/shipments/${ID}`, type: '' }],
  ['every member that the interface document shows in a request', { body: EVERY_MEMBER }],
  ['a booking that no dry run has explained', booking({ external_id: 'OTHER-1', pickup: { zipcode: 2134 } })],
]

test('a right program is called right', async () => {
  const gateway = await explained()
  for (const [name, sent] of right) {
    const { status, header, verdict } = await check(gateway, sent)
    expect(verdict, name).toMatchObject({ check: 'ready', differences: [], unknown: [], missing: [] })
    expect({ status, header }).toEqual({ status: 200, header: 'ready' })
  }
  expect(gateway.sandbox.requests).toEqual([])
})

test('what only the service sets is wrong in a booking', async () => {
  const gateway = await explained()
  for (const name of ['id', 'number', 'status', 'price', 'distance', 'distance_meters', 'documents']) {
    const { header, verdict } = await check(gateway, booking({ [name]: 1 }))
    expect([header, ...verdict.differences, ...verdict.unknown]).toMatchObject(['differs', { path: name }])
  }
  for (const name of ['id', 'weight', 'height', 'width', 'length', 'photos']) {
    const { verdict } = await check(gateway, booking({ vehicles: [{ ...vehicle, [name]: 1 }] }))
    expect([...verdict.differences, ...verdict.unknown]).toMatchObject([{ path: `vehicles[0].${name}` }])
  }
})

test('the answer is an example of what the service says, with ids', async () => {
  const gateway = await explained()
  const { example, verdict } = await check(gateway, booking({}))
  expect(example).toMatchObject({ id: expect.any(String), number: 'TL-100001', vehicles: [{ id: expect.any(String) }] })
  expect(verdict).toMatchObject({ action: 'shipment.create', comparedWith: 'the last dry run of this request' })
  const other = '0d4f1b1c-3f0e-4c58-8a53-5a3f4de0b801'
  const read = await check(gateway, { method: 'GET', path: `/v2/shipments/${other}`, type: '' })
  expect(read.example.id).toBe(other)
  expect((await check(gateway, { method: 'PUT', path: `/v2/quote/${other}`, body: {} })).example.shipment_id).toBe(
    other,
  )
  // The examples of the declarations are right by themselves.
  for (const { example: declared } of actions.filter(({ name }) => name === 'shipment.get'))
    expect((await check(gateway, changing(kept(declared.reply)))).header).toBe('ready')
})

/** Leaves out what only the service sets, as programs must. */
function kept(shipment: unknown): object {
  const { id, number, status, price, distance, distance_meters, documents, ...rest } = shipment as Record<
    string,
    unknown
  >
  return {
    ...rest,
    delivery: { ...(rest['delivery'] as object), contact_name: 'Sam Example', location_name: 'Sam Example' },
  }
}

describe('a caller sees its own dry runs only', () => {
  const wrong = booking({ pickup: { ...pickup, notes: 'other' } })

  test.each([
    ['another secret', basic('demo', 'guessed')],
    ['another client', basic('other', 'demo-secret')],
  ])('in client mode, not with %s', async (_, authorization) => {
    const gateway = await explained()
    expect((await check(gateway, wrong)).header).toBe('differs')
    const { header, verdict } = await check(gateway, { ...wrong, authorization })
    expect(header).toBe('ready')
    expect(verdict.comparedWith).toBe('the declared shapes alone')
    expect(gateway.sandbox.requests).toEqual([])
  })

  test('in client mode, a credential is needed, and nothing was checked before', async () => {
    const { url } = await startGateway()
    const none = await fetch(`${url}/check/v2/shipments`, { method: 'POST', body: '{}' })
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Basic')])
    const last = await fetch(`${url}/check/last`, { headers: { authorization: basic() } })
    expect([last.status, last.headers.get('content-type')]).toEqual([404, expect.stringContaining('problem+json')])
  })

  test('in tenants mode, not with the credential of another tenant, nor with a wrong one', async () => {
    const edge = await openEdge(named(['one', 'two']))
    await post(edge, '/dry-run/createShipment.php', bookingExample, as('one'))
    await post(edge, '/dry-run/createShipment.php', bookingExample, { authorization: 'Basic x' })
    expect((await check(edge, { ...wrong, ...as('one') })).header).toBe('differs')
    expect((await check(edge, { ...wrong, ...as('two') })).header).toBe('ready')
    expect((await check(edge, { ...wrong, authorization: basic('one-legacy', 'wrong') })).status).toBe(401)
  })

  test('in fixed mode, pages of other sites are refused', async () => {
    const gateway = await explained({ env: OWN })
    expect((await check(gateway, wrong)).header).toBe('differs')
    const foreign = await fetch(`${gateway.url}/check/last`, { headers: { origin: 'https://evil.example' } })
    expect(foreign.status).toBe(403)
  })
})

describe('a check explains with limits', () => {
  test.each([
    ['many unknown fields', Object.fromEntries(Array.from({ length: 12_000 }, (_, i) => [`m${i}`, 1]))],
    ['a long name', { ['n'.repeat(200_000)]: 1 }],
    ['many vehicles', { vehicles: Array.from({ length: 60_000 }, () => 1) }],
    ['a long text', { ...BOOKING, external_id: 7, pickup: { ...pickup, zipcode: '"'.repeat(100_000) } }],
  ])('%s', async (_, body) => {
    const gateway = await explained()
    const { header, verdict } = await check(gateway, { body })
    expect(header).toBe('differs')
    expect(JSON.stringify(verdict).length).toBeLessThan(64 * 1024)
    const { differences, unknown, missing } = verdict
    expect(differences.length + unknown.length + missing.length).toBeLessThanOrEqual(100)
  })

  test('a body that is too large is refused', async () => {
    const gateway = await startGateway()
    const { status } = await post(gateway, '/check/v2/shipments', `{"a":"${'x'.repeat(300_000)}"}`)
    expect(status).toBe(413)
  })
})
