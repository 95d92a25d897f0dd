/** Promise: a dry run of an event shows what a callback would get (contract, section 8). */

import { expect, test } from 'vitest'
import { shipmentEvent } from '../../mappings/shipment-event.ts'
import { get, post, startGateway } from '../gateway.ts'

test('GET explains the declared example, by the rows of a delivery', async () => {
  const gateway = await startGateway()
  const { status, json } = await get(gateway, '/dry-run/webhook/shipment.modified')
  expect(status).toBe(200)
  const { bodies, fields, unknown, event, callback } = json
  expect(callback).toBe('shipment.event')
  expect(event).toEqual(shipmentEvent.example)
  expect(bodies.json).toEqual({
    Event: 'shipment.modified',
    EventDate: '2024-08-10T08:00:00+0000',
    ShipmentNumber: shipmentEvent.example.shipment_id,
    ReferenceNumber: '',
    Message: `The service reports shipment.modified for shipment ${shipmentEvent.example.shipment_id}. Its price is 1300.00.`,
    PickupZip: '02134',
    DeliveryName: 'Alex Example',
    Cost: '1300.00',
  })
  expect(Object.fromEntries(new URLSearchParams(bodies.form))).toEqual(bodies.json)
  expect(unknown).toEqual([])
  expect(fields).toContainEqual({
    to: 'PickupZip',
    from: ['changes.pickup.zipcode'],
    before: 2134,
    after: '02134',
    rule: 'zipcode',
    keeps: 'lossy: a ZIP+4 extension, and words around the ZIP',
    origin: 'service',
  })
})

test('POST explains the event that was sent, of any name', async () => {
  const gateway = await startGateway()
  const data = {
    'customer.email': { old_value: 'a@example.com', new_value: 'b@example.com' },
    'pickup.colour': { old_value: 1, new_value: 2 },
    __proto__: { new_value: 'x' },
    price: 5,
  }
  const { status, json } = await post(gateway, '/dry-run/webhook/shipment.exploded', { shipment_id: 'S-1', data })
  expect(status).toBe(200)
  expect(json.bodies.json).toMatchObject({
    Event: 'shipment.exploded',
    ShipmentNumber: 'S-1',
    BillToEmailAddress: 'b@example.com',
  })
  expect(json.bodies.json).not.toHaveProperty('Cost')
  expect(json.unknown).toEqual(['pickup.colour'])
})

test.each([
  ['the status of the event', 'shipment.picked_up', undefined, 'picked_up'],
  ['a changed status', 'shipment.modified', { status: { old_value: 'new', new_value: 'hold' } }, 'hold'],
  ['no status of an event that tells none', 'shipment.canceled_by_carrier', undefined, undefined],
  ['no status of an event with the name of a member', 'constructor', undefined, undefined],
])('shows %s', async (_, event, data, status) => {
  const { json } = await post(await startGateway(), `/dry-run/webhook/${event}`, { data })
  expect(json.bodies.json.Event).toBe(event)
  expect(json.bodies.json.Status).toBe(status)
})

test.each([
  ['[1]', 400],
  ['{"shipment_id":1}', 400],
  ['{', 400],
])('%s is not an event', async (body, status) => {
  const answer = await post(await startGateway(), '/dry-run/webhook/shipment.created', body)
  expect(answer.status).toBe(status)
  expect(answer.headers.get('content-type')).toContain('application/problem+json')
})
