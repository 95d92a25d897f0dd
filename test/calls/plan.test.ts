import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { NOTHING_FOUND } from '../../src/calls/find.ts'
import { accountOf, planCall } from '../../src/calls/plan.ts'
import { version1 } from '../../src/calls/read-request.ts'
import { actionOf } from '../cases/read.ts'
import { CLIENT, get, post, startGateway } from '../gateway.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const SETTINGS = {
  transport_type: 'open',
  vehicle_type: 'car',
  send_quote_id: false,
  shipment_number: 'caller',
} as const

/** Plans a call for a thing that one of its fields named. */
function planOf(action: string, fields: Readonly<Record<string, string>>, namedBy?: string) {
  const request = version1(actionOf(action), { entries: Object.entries(fields), format: 'json', text: '' })
  return planCall(request, { ...NOTHING_FOUND, id: ID, namedBy }, SETTINGS)
}

describe('the field that named the shipment', () => {
  const fields = { ReferenceNumber: 'REF-1', number: 'TL-1', Make: 'Ford' }

  test('is not a change to it, and the account says so', () => {
    const plan = planOf('shipment.update', fields, 'ReferenceNumber')
    expect(plan.problems).toEqual([])
    expect(plan.toService).toEqual({
      method: 'PUT',
      path: `/v2/shipments/${ID}`,
      namesAnId: true,
      body: { vehicles: [{ make: 'Ford' }] },
    })
    const account = accountOf(plan)
    expect(account.fields.map(({ to }) => to)).toEqual(['vehicles[0].make'])
    expect(account.unused.map(({ field }) => field).sort()).toEqual(['ReferenceNumber', 'number'])
  })

  test('leaves the other names as changes', () => {
    const plan = planOf('shipment.update', fields, 'number')
    expect(plan.body).toEqual({ external_id: 'REF-1', vehicles: [{ make: 'Ford' }] })
    expect(accountOf(plan).fields.map(({ to }) => to)).toEqual(['external_id', 'vehicles[0].make'])
  })
})

test('a plan has every problem, the missing name first', () => {
  const fields = { PickupZip: 'nowhere', Year: '12' }
  const request = version1(actionOf('shipment.update'), { entries: Object.entries(fields), format: 'json', text: '' })
  const { problems } = planCall(request, NOTHING_FOUND, SETTINGS)
  expect(problems.map(({ field }) => field)).toEqual(['ShipmentNumber', 'PickupZip', 'Year'])
})

test('an id is one segment of a path', () => {
  const request = version1(actionOf('shipment.get'), { entries: [['id', 'x']], format: 'json', text: '' })
  const planFor = (id: string) => planCall(request, { ...NOTHING_FOUND, id, namedBy: 'id' }, SETTINGS)
  expect(planFor('a/../b?c$&').toService.path).toBe('/v2/shipments/a%2F..%2Fb%3Fc%24%26')
  for (const id of ['.', '..', '...']) expect(() => planFor(id)).toThrow(/dots/)
})

/** Calls in an order in which each finds what it names. */
const calls: readonly (readonly [what: string, path: string, fields: Readonly<Record<string, string>>])[] = [
  ['a quote', '/getShippingQuote.php', quoteExample],
  ['its update', '/getShippingQuote.php', { ActionName: 'Update Rate', OrderRefNumber: quoteExample.OrderRefNumber }],
  ['its approval', '/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: quoteExample.ShipmentNumber }],
  // A booking of the approved quote would ask the service for its shipment first.
  ['a booking', '/createShipment.php', { ...bookingExample, ReferenceNumber: 'REF-1' }],
  ['a read', '/getShipment.php', { ReferenceNumber: 'REF-1' }],
  ['a cancellation', '/deleteShipment.php', { ReferenceNumber: 'REF-1' }],
]

test('a dry run shows the request that the call sends', async () => {
  const gateway = await startGateway({ env: { V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret } })
  for (const [what, path, fields] of calls) {
    const dry = await post(gateway, `/dry-run${path}`, fields)
    const sentBefore = gateway.sandbox.requests.length
    const real =
      path === '/getShipment.php'
        ? await get(gateway, `${path}?${new URLSearchParams(fields)}`)
        : await post(gateway, path, fields)
    expect(real.status, what).toBe(200)
    const sent = gateway.sandbox.requests.slice(sentBefore)
    const { method, url, body } = dry.json.request
    const asShown = { method, path: url.slice(gateway.sandbox.url.length), body: body ? JSON.stringify(body) : '' }
    // The call also reads what it has canceled.
    const confirmation = { method: 'GET', path: asShown.path }
    expect(sent, what).toMatchObject(method === 'DELETE' ? [asShown, confirmation] : [asShown])
  }
})

test('a dry run of an update shows the changes, and the call merges them into the shipment', async () => {
  const gateway = await startGateway({ env: { V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret } })
  await post(gateway, '/createShipment.php', bookingExample)
  const change = { ReferenceNumber: bookingExample.ReferenceNumber, PickupName: 'Gate 9' }
  const { request } = (await post(gateway, '/dry-run/updateShipment.php', change)).json
  await post(gateway, '/updateShipment.php', change)
  const [read, put] = gateway.sandbox.requests.slice(-2)
  const url = gateway.sandbox.url + put?.path
  expect([request.method, request.url, request.over]).toEqual([put?.method, url, `${read?.method} ${url}`])
  expect(JSON.parse(put?.body ?? '')).toMatchObject(request.body)
})
