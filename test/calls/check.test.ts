/** Promise: new code is checked before it is used: common mistakes are found, and correct programs are never rejected (contract, section 12). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { actions } from '../../mappings/index.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { as, named, openEdge } from '../callers/tenants-gateway.ts'
import { answerTo, basic, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'

/**
 * Correct requests, and the mistakes that new programs for version 2 make: the change to a request, and the place and reason in the
 * verdict.
 */
const { requests, mistakes, right } = JSON.parse(readFileSync(join(import.meta.dirname, 'checked.json'), 'utf8'))
const BOOKING = requests.booking.body
const { pickup } = BOOKING
const [vehicle] = BOOKING.vehicles

interface ClientRequest {
  readonly method?: string
  readonly path?: string
  readonly body?: unknown
  readonly type?: string
  readonly authorization?: string
}

/** Sends a request as new code does, and returns the answer with the verdict. */
async function check(
  { url }: Pick<TestGateway, 'url'>,
  { method = 'POST', path = '/v2/shipments', body, type = 'application/json', authorization = basic() }: ClientRequest,
) {
  const reply = await answerTo(`${url}/check${path}`, {
    method,
    headers: { authorization, ...(type && { 'content-type': type }) },
    body: body === undefined || body === '' ? null : typeof body === 'string' ? body : JSON.stringify(body),
  })
  const { json: verdict } = await get({ url }, '/check/last', { authorization })
  return { status: reply.status, header: reply.headers.get('transload-check'), example: reply.json, verdict }
}

/** Explains the calls that the new code will replace. */
async function explained(options: Parameters<typeof startGateway>[0] = {}): Promise<TestGateway> {
  const gateway = await startGateway(options)
  await post(gateway, '/dry-run/getShippingQuote.php', { ...quoteExample })
  await post(gateway, '/dry-run/createShipment.php', bookingExample)
  const change = { ReferenceNumber: bookingExample.ReferenceNumber, DeliveryName: 'Sam Example' }
  await post(gateway, '/dry-run/updateShipment.php', change)
  gateway.sandbox.requests.length = 0
  return gateway
}

const booking = (part: object): ClientRequest => ({ body: { ...BOOKING, ...part } })
const changing = (body: object): ClientRequest => ({ method: 'PUT', path: `/v2/shipments/${ID}`, body })

type Json = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a value with changes: null removes a member, and a list changes the entries at the same positions. */
function merged(value: unknown, change: unknown): unknown {
  if (Array.isArray(change) && Array.isArray(value)) return change.map((entry, i) => merged(value[i], entry))
  if (!isObject(change) || !isObject(value)) return change
  const members = Object.entries(change).map(([name, part]) => [name, merged(value[name], part)])
  return Object.fromEntries(
    Object.entries({ ...value, ...Object.fromEntries(members) }).filter(([, part]) => part !== null),
  )
}

/** The requests of a document, by name. */
const documented = (cases: Readonly<Record<string, Json>>) =>
  Object.entries(cases).map(([name, { of, with: change = {}, ...more }]) => {
    const request = requests[String(of)]
    return { name, ...request, body: merged(request.body, change), ...more }
  })

test('a mistake in new code is found', async () => {
  const gateway = await explained()
  for (const { name, place, reason, ...sent } of documented(mistakes)) {
    const { header, verdict } = await check(gateway, sent)
    expect(header, name).toBe('differs')
    const { differences, unknown, missing } = verdict
    const rows = [...differences, ...unknown, ...missing]
    // Nothing else is reported, except missing members of a PUT or differences due to a wrong path.
    expect(rows, name).toContainEqual(expect.objectContaining({ path: place, reason: expect.stringContaining(reason) }))
    if (!['PUT', 'PATCH'].includes(sent.method)) expect(rows, name).toHaveLength(1)
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

test('a right program is called right', async () => {
  const gateway = await explained()
  const spelled = JSON.stringify(BOOKING).replace('10314', '1.0314e4').replace('2023', '2023.0')
  const others = [
    { name: 'keys in another order', body: reversed(BOOKING) },
    { name: 'numbers in other spellings', body: spelled },
  ]
  for (const { name, ...sent } of [...others, ...documented(right)]) {
    const { status, header, verdict } = await check(gateway, sent)
    expect(verdict, name).toMatchObject({ check: 'ready', differences: [], unknown: [], missing: [] })
    expect({ status, header }).toEqual({ status: 200, header: 'ready' })
  }
  expect(gateway.sandbox.requests).toEqual([])
})

test('a booking must not have what only the service sets', async () => {
  const gateway = await explained()
  for (const name of ['id', 'number', 'status', 'price', 'distance', 'distance_meters', 'documents']) {
    const { header, verdict } = await check(gateway, booking({ [name]: 1 }))
    expect([header, ...verdict.differences, ...verdict.unknown]).toMatchObject(['differs', { path: name }])
  }
  for (const name of ['id', 'weight', 'height', 'width', 'length', 'photos']) {
    const { verdict } = await check(gateway, booking({ vehicles: [{ ...vehicle, [name]: 1 }] }))
    expect([...verdict.differences, ...verdict.unknown]).toMatchObject([{ path: `vehicles[0].${name}` }])
  }
  const { verdict } = await check(gateway, changing({ status: 'new' }))
  expect(verdict.unknown).toMatchObject([{ path: 'status' }])
})

test('the answer is an example of what the service says, with ids', async () => {
  const gateway = await explained()
  const { example, verdict } = await check(gateway, booking({}))
  expect((await get(gateway, '/check/last/')).json).toEqual(verdict)
  // No program can take it for a real shipment.
  expect(example).toMatchObject({
    id: '00000000-0000-4000-8000-000000000000',
    number: 'EXAMPLE',
    external_id: BOOKING.external_id,
    vehicles: [{ id: expect.any(String) }],
  })
  expect(verdict).toMatchObject({ action: 'shipment.create', comparedWith: 'the last dry run of this request' })
  const other = '0d4f1b1c-3f0e-4c58-8a53-5a3f4de0b801'
  const read = await check(gateway, { method: 'GET', path: `/v2/shipments/${other}`, type: '' })
  expect(read.example).toMatchObject({ id: other, number: 'EXAMPLE', external_id: 'EXAMPLE' })
  expect((await check(gateway, { method: 'PUT', path: `/v2/quote/${other}`, body: {} })).example.shipment_id).toBe(
    other,
  )
  // The examples of the declarations are correct themselves.
  for (const { example: declared } of actions.filter(({ name }) => name === 'shipment.get'))
    expect((await check(gateway, changing(kept(declared.reply)))).header).toBe('ready')
})

test('a verdict says what cannot be checked here', async () => {
  const gateway = await explained()
  expect((await check(gateway, booking({}))).verdict.notChecked).toEqual([])
  const unknownId = `whether ${ID} is the id of what the dry run named`
  const read = await check(gateway, { method: 'GET', path: `/v2/shipments/${ID}`, type: '' })
  expect(read.verdict).toMatchObject({ check: 'ready', notChecked: [`whether the service knows the id ${ID}`] })
  const { external_id, ...whole } = requests.change.body
  const { zipcode, ...delivery } = whole.delivery
  const [{ vin, ...known }] = whole.vehicles
  const sent = { ...whole, delivery, vehicles: [known] }
  expect((await check(gateway, changing(sent))).verdict.notChecked).toEqual([
    unknownId,
    'what else the shipment has, which this request would delete; a shipment may also have delivery.zipcode, vehicles[0].vin, external_id',
  ])
  expect((await check(gateway, changing(requests.change.body))).verdict.notChecked).toEqual([
    unknownId,
    'what else the shipment has, which this request would delete',
  ])
})

test('a service id that is not a UUID is right if the cross-reference knows it', async () => {
  const gateway = await startGateway({ env: OWN })
  const { store } = gateway
  await store.put({ names: [{ tenant: 'demo', kind: 'shipment', name: 'REF-9', id: 'sh-9', givenBy: 'caller' }] })
  await post(gateway, '/dry-run/deleteShipment.php', { ReferenceNumber: 'REF-9' })
  const sent = { method: 'DELETE', type: '' }
  const { verdict } = await check(gateway, { ...sent, path: '/v2/shipments/sh-9' })
  expect(verdict).toMatchObject({ check: 'ready', notChecked: [] })
  expect((await check(gateway, { ...sent, path: '/v2/shipments/REF-9' })).status).toBe(404)
})

/** Leaves out the members that only the service sets, as programs must. */
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

describe('a caller sees only its own dry runs', () => {
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

  test('in client mode, strangers push out nothing of a caller whose credential is proven', {
    timeout: 120_000,
  }, async () => {
    const gateway = await explained()
    const body = { ...BOOKING, instructions: 'x'.repeat(250_000) }
    // 17 megabytes; at most 16 are kept in all.
    for (let i = 0; i < 70; i += 1)
      await post(gateway, '/dry-run/createShipment.php', body, { authorization: basic(`stranger-${i}`) })
    expect((await check(gateway, wrong)).verdict.comparedWith).toBe('the last dry run of this request')
  })

  test('in client mode, a credential is required, and nothing was checked before', async () => {
    const { url } = await startGateway()
    const none = await fetch(`${url}/check/v2/shipments`, { method: 'POST', body: '{}' })
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Basic')])
    const last = await get({ url }, '/check/last')
    expect([last.status, last.headers.get('content-type')]).toEqual([404, expect.stringContaining('problem+json')])
    expect(last.json).toMatchObject({ title: 'Nothing was checked' })
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
    expect((await get(gateway, '/check/last', { origin: 'https://evil.example' })).status).toBe(403)
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

  test('too large a body is refused', async () => {
    const gateway = await startGateway()
    const { status } = await post(gateway, '/check/v2/shipments', `{"a":"${'x'.repeat(300_000)}"}`)
    expect(status).toBe(413)
  })
})
