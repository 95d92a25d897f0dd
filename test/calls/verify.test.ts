/** Promise: a reply that is not what was asked for is no success (contract, sections 4 and 9). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { get, OWN, post, startGateway } from '../gateway.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const OTHER = '11111111-2222-4333-8444-555555555555'
const SHIPMENT = { id: ID, number: 'T-1', status: 'new', pickup: {}, vehicles: [{ id: 'v-1' }] }
const QUOTE = '/getShippingQuote.php'

/** The calls, and the method of the request whose reply is another one. */
const CALLS = {
  'a new quote': { path: QUOTE, fields: quoteExample, method: 'POST' },
  'a changed quote': { path: QUOTE, fields: { ActionName: 'Update Rate', ShipmentNumber: ID }, method: 'PUT' },
  'a booking': { path: '/createShipment.php', fields: bookingExample, method: 'POST' },
  'a read': { path: '/getShipment.php', fields: { id: ID }, method: 'GET' },
  'a read by number': { path: '/getShipment.php', fields: { number: 'N-1' }, method: 'GET' },
  'a read to update': { path: '/updateShipment.php', fields: { id: ID, Make: 'Ford' }, method: 'GET' },
  'a read to update a place': {
    path: '/updateShipment.php',
    fields: { id: ID, PickupCity: 'Dallas' },
    method: 'GET',
  },
  'an update': { path: '/updateShipment.php', fields: { id: ID, Make: 'Ford' }, method: 'PUT' },
  'a cancellation': { path: '/deleteShipment.php', fields: { id: ID }, method: 'DELETE' },
} as const

const FAILED = 'it says that the call failed'
const ERROR = 'it has an error'
const ANOTHER = 'it names another id. It is not known whether the change was made. It is safe to send it again.'
const ANOTHER_CANCELED = 'it names another id. The shipment may not be canceled. Cancel it again later.'
const NOT_CANCELED = 'it does not show the shipment as canceled'
const NOT_WHOLE = 'it does not show the whole shipment'
const UNKNOWN = 'It is not known whether this booking was made'

type Row = [call: keyof typeof CALLS, body: unknown, says?: string | undefined]

/** Replies to a quote, which are enough to be one but for what they say of themselves. */
const denials: readonly (readonly [object, string?])[] = [
  [{ success: true, ok: 1, error: null, errors: [] }],
  [{ success: false }, FAILED],
  [{ ok: ' No ' }, FAILED],
  [{ success: 0, error: 'x' }, FAILED],
  [{ error: 'no truck' }, ERROR],
  [{ errors: [{ message: 'no truck' }] }, ERROR],
  [{ error: { code: 7, message: '' } }, ERROR],
  [{ error: { code: 0, message: '' } }],
  // Words that mean success count beside a code 0 alone.
  [{ error: { code: ' 0 ', message: ' Success. ' } }],
  [{ errors: [{ code: 0, message: 'No error' }, { code: 0 }] }],
  [{ error: { code: 0, message: 'OK, but no truck' } }, ERROR],
  [{ error: { code: 0, message: 'OK', detail: 'no truck' } }, ERROR],
  [{ error: { code: 7, message: 'OK' } }, ERROR],
  [{ error: { code: false, message: 'OK' } }, ERROR],
  [{ error: { message: 'OK' } }, ERROR],
  [{ error: 'OK' }, ERROR],
]

test.each<Row>([
  ...denials.map(([body, says]): Row => ['a new quote', { shipment_id: ID, price: 1, ...body }, says]),
  ['a new quote', undefined, 'it is empty'],
  ['a new quote', [{ shipment_id: ID, price: 1 }], 'it is not a JSON object'],
  ['a read', { ...SHIPMENT, id: OTHER }, 'it shows a shipment with another id'],
  ['a read', { id: ID, status: ' ', customer: null }, 'it shows nothing of the shipment'],
  ['a read', { number: 'T-1', shipment_id: ID }, 'it shows no shipment with an id'],
  ['a read', { id: ` ${ID.toUpperCase()} `, pickup: {} }],
  ['a read by number', SHIPMENT, 'it shows another shipment'],
  ['a read by number', { ...SHIPMENT, number: 'n-1' }],
  ['a read by number', { ...SHIPMENT, external_id: 'n-1' }],
  ['a read to update', { id: ID, vehicles: [] }, NOT_WHOLE],
  ['a read to update', { id: ID, pickup: {} }, NOT_WHOLE],
  ['a read to update', { ...SHIPMENT, vehicles: ['VIN'] }, NOT_WHOLE],
  ['a read to update', { ...SHIPMENT, vehicles: [{}] }, 'it shows a vehicle without its id'],
  ['a read to update a place', { ...SHIPMENT, vehicles: [{}] }, 'it shows a vehicle without its id'],
  ['a booking', { ...SHIPMENT, status: 'Cancelled' }, UNKNOWN],
  ['a changed quote', { id: OTHER }, ANOTHER],
  ['a changed quote', { shipment_id: OTHER }, ANOTHER],
  ['a changed quote', { id: ID, quote_id: OTHER }, ANOTHER],
  ['a changed quote', { id: 'c-7', shipment_id: ID }, ANOTHER],
  ['a changed quote', { id: [ID] }, ANOTHER],
  ['a changed quote', { id: ` ${ID.toUpperCase()} `, shipment_id: null, quote_id: ' ' }],
  ['an update', { id: OTHER, shipment_id: 'id-3' }, ANOTHER],
  [
    'an update',
    { id: ID, error: 'closed' },
    `${ERROR}. It is not known whether the change was made. It is safe to send it again.`,
  ],
  // The number of a shipment, the id of its change, and the id of its quote are no other shipment.
  ['an update', { id: ID, shipment_id: 'T-1' }],
  ['an update', { id: 'change-7', shipment_id: ID.toUpperCase() }],
  ['an update', { id: ID, quote_id: OTHER }],
  ['a cancellation', { id: OTHER }, ANOTHER_CANCELED],
  ['a cancellation', { id: OTHER, shipment_id: 'id-3' }, ANOTHER_CANCELED],
  ['a cancellation', { success: false }, FAILED],
  ...['new', ' PICKED_UP ', 'failed'].map((status): Row => ['a cancellation', { id: ID, status }, NOT_CANCELED]),
  ...['CANCELED', 'cancelled', 'success', 200, 'deleted', ' '].map((status): Row => ['a cancellation', { status }]),
  ['a cancellation', { id: 'change-7', status: 'canceled', shipment_id: ID }],
  ['a cancellation', 'canceled'],
])('%s that is answered with %j: %s', async (call, body, says) => {
  const { path, fields, method } = CALLS[call]
  const gateway = await startGateway({ env: { ...OWN, V2_SHIPMENT_PATH: '/v2/shipments' } })
  const after = { ...SHIPMENT, status: method === 'DELETE' ? 'canceled' : 'new' }
  const text = body === undefined ? '' : JSON.stringify(body)
  gateway.sandbox.fail(
    // An id that the store does not know is asked for before it is read to update.
    { kind: 'status', status: 200, body: text, on: { method }, times: call.startsWith('a read to update') ? 2 : 1 },
    { kind: 'status', status: 200, body: after, on: { method: 'GET' }, times: 'always' },
    { kind: 'status', status: 204, times: 'always' },
  )
  const isRead = path === '/getShipment.php'
  const answer = isRead
    ? await get(gateway, `${path}?${new URLSearchParams(fields)}`)
    : await post(gateway, path, fields)
  expect(answer.status, answer.text).toBe(says === undefined ? 200 : says === UNKNOWN ? 503 : 502)
  if (says !== undefined) expect(answer.json.Message).toContain(says)
})
