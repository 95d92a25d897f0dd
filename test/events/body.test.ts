import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { bookingExample, shipmentExample } from '../../mappings/booking-rows.ts'
import { signingKey } from '../../src/webhook-signature.ts'
import { endpoint, openOffice } from './office.ts'
import { replies, startReceiver } from './receiver.ts'

const SECRETS = [1, 2].map((byte) => `whsec_${Buffer.alloc(24, byte).toString('base64')}`)
const keys = SECRETS.flatMap((secret) => signingKey(secret) ?? [])

const headersOf = (headers: object) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('webhook-')))

test.each(['json', 'form'] as const)('a delivery as %s is signed with every secret', async (format) => {
  const receiver = await startReceiver()
  const { take, pass } = await openOffice({ endpoints: [endpoint(receiver.url, { keys, format })] })
  const id = await take()
  await pass(0)
  const [delivery] = receiver.received
  expect(delivery?.headers['content-type']).toBe(
    format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
  )
  expect(delivery?.headers['webhook-id']).toBe(id)
  for (const secret of SECRETS) {
    const verify = () => new Webhook(secret).verify(delivery?.body ?? '', headersOf(delivery?.headers ?? {}))
    if (format === 'json') expect(verify()).toMatchObject({ Event: 'shipment.delivered' })
    // The package parses the body once the signature is right.
    else expect(verify).toThrow(SyntaxError)
  }
  const stranger = new Webhook(`whsec_${Buffer.alloc(24, 3).toString('base64')}`)
  expect(() => stranger.verify(delivery?.body ?? '', headersOf(delivery?.headers ?? {}))).toThrow(/signature/i)
})

test('every try has the same id and body, and a signature of its own time', async () => {
  const receiver = await startReceiver(replies(500))
  const { take, pass, store } = await openOffice({ endpoints: [endpoint(receiver.url, { keys })] })
  await take()
  await pass(0)
  // A later booking does not change what was said.
  await store.put({ links: [], thing: { tenant: 'acme', id: 's-1', own: 'ANOTHER', facts: null } })
  await pass(6_000)
  const [first, second] = receiver.received
  expect(second?.body).toBe(first?.body)
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
  for (const { body, headers } of receiver.received) {
    expect(new Webhook(SECRETS[0] ?? '').verify(body, headersOf(headers))).toMatchObject({ ShipmentNumber: 'REF-s-1' })
  }
})

test('without a secret, a delivery has an id and a time, and no signature', async () => {
  const receiver = await startReceiver()
  const { take, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  const id = await take()
  await pass(0)
  const headers = receiver.received[0]?.headers
  expect(headers?.['webhook-id']).toBe(id)
  expect(headers?.['webhook-timestamp']).toMatch(/^\d+$/)
  expect(headers).not.toHaveProperty('webhook-signature')
})

test('a user name and a password in the address are sent as Basic authentication, and not logged', async () => {
  const receiver = await startReceiver(replies(410))
  const url = receiver.url.replace('http://', 'http://caller:pass%3Aword@')
  const { take, pass, lines } = await openOffice({ endpoints: [endpoint(`${url}?key=secret-key`)] })
  await take()
  await pass(0)
  const [delivery] = receiver.received
  expect(delivery?.headers.authorization).toBe(`Basic ${Buffer.from('caller:pass:word').toString('base64')}`)
  expect(delivery?.path).toBe('/hook?key=secret-key')
  expect(JSON.stringify(lines)).not.toMatch(/pass|secret-key/)
  expect(lines).toContainEqual(expect.objectContaining({ url: `${receiver.url}?***` }))
})

/** The fields of a booking, with the names under which the caller booked. */
async function booked(store: Awaited<ReturnType<typeof openOffice>>['store']): Promise<void> {
  const claim = { tenant: 'acme', key: 'k', handle: 'bk_1', body: '', instance: 'i', vin: '' }
  await store.claim({ ...claim, reference: bookingExample.ReferenceNumber })
  const reply = JSON.stringify({ status: 200, headers: { 'Transload-Shipment-Number': 'TL-100001' }, body: '{}' })
  await store.change(
    { ...claim, version: 1 },
    { state: 'booked', instance: 'i', shipment: shipmentExample.id, reply, why: 'made' },
  )
}

const modified = JSON.stringify({
  shipment_id: shipmentExample.id,
  event: 'shipment.modified',
  event_date: '2024-08-10T08:00:00+0000',
  data: {
    'pickup.zipcode': { old_value: 10314, new_value: 2134 },
    'delivery.contact_name': { old_value: 'Robin Example', new_value: null },
    vehicles: {
      old_value: shipmentExample.vehicles,
      new_value: [{ ...shipmentExample.vehicles[0], make: 'Chevrolet' }],
    },
    status: { old_value: 'new', new_value: 'hold' },
    price: { old_value: 1234.5, new_value: 1300, difference: 65.5 },
    __proto__x: { old_value: 1, new_value: 2 },
  },
})

test.each([
  ['the caller’s own', shipmentExample.id],
  ['the same for an id in capitals', shipmentExample.id.toUpperCase()],
])('the numbers are %s, and changed fields have their version-1 names', async (_, shipment) => {
  const receiver = await startReceiver()
  const { store, pass } = await openOffice({ endpoints: [endpoint(receiver.url)] })
  await booked(store)
  await store.takeEvent({
    tenant: 'acme',
    shipment,
    event: 'shipment.modified',
    date: '2024-08-10T08:00:00+0000',
    digest: '',
    payload: modified,
    deliver: true,
  })
  await pass(0)
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toEqual({
    Event: 'shipment.modified',
    EventDate: '2024-08-10T08:00:00+0000',
    ShipmentNumber: 'TL-100001',
    ReferenceNumber: bookingExample.ReferenceNumber,
    Status: 'hold',
    Message: `Shipment ${bookingExample.ReferenceNumber} is hold. Its price is 1300.00.`,
    PickupZip: '02134',
    DeliveryName: '',
    Make: 'Chevrolet',
    Cost: '1300.00',
  })
})
