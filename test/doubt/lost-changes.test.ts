import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'

/*
 * A version-1 change whose reply does not arrive, or cannot be read, may have been made. The answer says so; a read, or a new quote,
 * that fares the same can be asked for again.
 */

const QUOTE = '/getShippingQuote.php'
const MAY_BE_MADE = /The change may have been made or not/

/** Opens a gateway with a booking; only a fault that is a time-out is waited for. */
const open = async ({ kind = '' }: { readonly kind?: string } = {}) => {
  const gateway = await startGateway(kind.startsWith('timeout') ? { env: { UPSTREAM_TIMEOUT_MS: '500' } } : {})
  await post(gateway, QUOTE, quoteExample)
  await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: 'REF-1' })
  return gateway
}

const CHANGES = {
  'an update of a quote': [
    { method: 'PUT', path: '/v2/quote/*' },
    (gateway: TestGateway) => post(gateway, QUOTE, { ...quoteExample, ActionName: 'Update Rate' }),
  ],
  'an approval': [
    { method: 'POST', path: '/v2/quote/*' },
    (gateway: TestGateway) =>
      post(gateway, QUOTE, { ActionName: 'Approve Rate', ShipmentNumber: quoteExample.ShipmentNumber }),
  ],
  'an update of a shipment': [
    { method: 'PUT' },
    (gateway: TestGateway) =>
      post(gateway, '/updateShipment.php', { ReferenceNumber: 'REF-1', PickupName: 'Robin Example' }),
  ],
  'a cancellation': [
    { method: 'DELETE' },
    (gateway: TestGateway) => post(gateway, '/deleteShipment.php', { ReferenceNumber: 'REF-1' }),
  ],
} as const

const LOSSES = {
  'no reply in time': [{ kind: 'timeout' }, 504],
  'no reply': [{ kind: 'reset-after' }, 502],
  'half a reply': [{ kind: 'reset-mid-body' }, 502],
  'too large a reply': [{ kind: 'huge', megabytes: 9 }, 502],
} as const satisfies Readonly<Record<string, readonly [Fault, number]>>

const cases = Object.entries(CHANGES).flatMap(([change, [on, send]]) =>
  Object.entries(LOSSES).map(([loss, [fault, status]]) => ({ change, on, send, loss, fault, status })),
)

test.each(cases)('$change with $loss may have been made', async ({ on, send, fault, status }) => {
  const gateway = await open(fault)
  gateway.sandbox.fail({ ...fault, on, times: 'always' })
  expect(await send(gateway)).toMatchObject({ status, json: { Message: expect.stringMatching(MAY_BE_MADE) } })
})

test.each(Object.values(LOSSES))('a read and a new quote with %j were only asked for', async (fault, status) => {
  const gateway = await open(fault)
  gateway.sandbox.fail({ ...fault, times: 'always' })
  for (const answer of [
    await get(gateway, '/getShipment.php?ReferenceNumber=REF-1'),
    await post(gateway, QUOTE, quoteExample),
  ]) {
    expect(answer.status).toBe(status)
    expect(answer.json.Message).not.toMatch(MAY_BE_MADE)
  }
})

test('an update whose shipment cannot be read changes nothing', async () => {
  const gateway = await open()
  gateway.sandbox.fail({ kind: 'reset-after', on: { method: 'GET' }, times: 'always' })
  const [, update] = CHANGES['an update of a shipment']
  expect((await update(gateway)).json.Message).not.toMatch(MAY_BE_MADE)
})

test.each(['an update of a quote', 'an approval', 'an update of a shipment'] as const)(
  '%s with a reply that is no JSON may have been made',
  async (change) => {
    const gateway = await open()
    const [on, send] = CHANGES[change]
    gateway.sandbox.fail({ kind: 'not-json', on })
    expect(await send(gateway)).toMatchObject({ status: 502, json: { Message: expect.stringMatching(MAY_BE_MADE) } })
  },
)

test('a booking with any of them is unknown', async () => {
  for (const fault of [...Object.values(LOSSES).map(([fault]) => fault), { kind: 'not-json' } as const]) {
    const gateway = await open(fault)
    gateway.sandbox.fail({ ...fault, on: { method: 'POST', path: '/v2/shipments' } })
    const { status, json } = await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber: 'REF-2' })
    expect({ status, json }).toEqual({
      status: 503,
      json: { Message: expect.stringContaining('outcome'), TransportationBooked: 'Unknown' },
    })
  }
})

test('a version-2 booking on a legacy path with too large a reply may have been made', async () => {
  const gateway = await open()
  gateway.sandbox.fail({ kind: 'huge', megabytes: 9 })
  const body = { customer: { customer_name: 'Pat Example' }, pickup: { zipcode: 10314 }, vehicles: [] }
  const { status, json } = await post(gateway, '/createShipment.php', body)
  expect({ status, json }).toEqual({
    status: 502,
    json: { Message: expect.stringContaining('may have done what was asked'), TransportationBooked: 'Unknown' },
  })
})
