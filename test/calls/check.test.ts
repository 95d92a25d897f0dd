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

interface ClientRequest {
  readonly method?: string
  readonly path?: string
  readonly body?: unknown
  readonly type?: string
  readonly authorization?: string
}

/** Sends a request as new code does, and returns its status and the verdict. */
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
  return { status: reply.status, header: reply.headers.get('transload-check'), verdict }
}

/** Explains the calls that the new code will replace. */
async function explained(): Promise<TestGateway> {
  const gateway = await startGateway()
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

test('the declared example of a shipment is right when it is sent back', async () => {
  const gateway = await explained()
  const { example } = actions.find(({ name }) => name === 'shipment.get') ?? expect.fail('no action')
  expect((await check(gateway, changing(kept(example.reply)))).header).toBe('ready')
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

  test('in tenants mode, not with the credential of another tenant, nor with a wrong one', async () => {
    const edge = await openEdge(named(['one', 'two']))
    await post(edge, '/dry-run/createShipment.php', bookingExample, as('one'))
    await post(edge, '/dry-run/createShipment.php', bookingExample, { authorization: 'Basic x' })
    expect((await check(edge, { ...wrong, ...as('one') })).header).toBe('differs')
    expect((await check(edge, { ...wrong, ...as('two') })).header).toBe('ready')
    expect((await check(edge, { ...wrong, authorization: basic('one-legacy', 'wrong') })).status).toBe(401)
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
})
