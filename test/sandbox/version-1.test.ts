import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { call } from './client.ts'

const QUOTE = {
  ActionName: 'Get Rate',
  ShipmentNumber: 'WTS1',
  OrderRefNumber: 'ORDER-1',
  EquipmentType: 'OPEN AUTO',
  PickupCommodityCode: 'BOX TRUCK',
  TempShipFromPostalCode: '10314',
  TempShipToPostalCode: '33166',
}
const BOOKING = {
  ActionName: 'MakeBooking',
  ReferenceNumber: 'REF-1',
  PickupZip: '02134-1234',
  PickupName: 'Pat Example',
  'PickupPhNo.': '2145550000',
  DeliveryZip: 33166,
  BillToName: 'Example Motors',
  Year: '2023',
  Make: 'Ford',
  VinNo: '1FDXE4FN9PDD32477',
}

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
beforeEach(() => sandbox.clear())
afterAll(() => sandbox.close())

test('a version-1 quote is priced, updated and approved in the shape of version 1', async () => {
  for (const path of ['/getShippingQuote.php', '/quotes/getShippingQuoteWTS.php', '/v2/quote']) {
    const { status, json } = await call(sandbox, 'POST', path, QUOTE)
    expect([path, status, Object.keys(json)]).toEqual([path, 200, ['Cost', 'ShipmentNumber']])
    expect(json).toMatchObject({ Cost: expect.stringMatching(/^\d+\.\d\d$/), ShipmentNumber: 'WTS1' })
  }
  const update = { ...QUOTE, ActionName: 'Update Rate', EquipmentType: 'ENCLOSED AUTO' }
  const updated = await call(sandbox, 'POST', '/getShippingQuote.php', update)
  const approval = { ActionName: 'Approve Rate', ShipmentNumber: 'WTS1' }
  const approved = await call(sandbox, 'POST', '/getShippingQuote.php', approval)
  expect(approved.json).toMatchObject({ Cost: updated.json['Cost'], TransportationBooked: 'Yes' })
  expect(sandbox.shipments.size).toBe(1)
})

test('a version-1 body at PUT /v2/quote/{id} updates that quote', async () => {
  const { json } = await call(sandbox, 'POST', '/v2/quote', { pickup: '10314', delivery: '33166' })
  const updated = await call(sandbox, 'PUT', `/v2/quote/${json['shipment_id']}`, { EquipmentType: 'ENCLOSED AUTO' })
  expect(updated.json).toEqual({
    Cost: sandbox.quotes.get(String(json['shipment_id']))?.price.toFixed(2),
    ShipmentNumber: json['shipment_id'],
  })
})

test('a version-1 booking is made, read, updated and canceled by its reference', async () => {
  const booked = await call(sandbox, 'POST', '/createShipment.php', BOOKING)
  expect(booked).toMatchObject({ status: 200, json: { TransportationBooked: 'Yes' } })
  const [shipment] = sandbox.shipments.values()
  expect(shipment).toMatchObject({
    external_id: 'REF-1',
    pickup: { zipcode: 2134, contact_phone: '2145550000' },
    vehicles: [{ year: 2023 }],
  })

  const change = { ReferenceNumber: 'REF-1', PickupCity: 'Boston' }
  expect((await call(sandbox, 'POST', '/updateShipment.php', change)).json['TransportationBooked']).toBe('Yes')
  const read = await call(sandbox, 'GET', '/getShipment.php?ReferenceNumber=REF-1')
  expect(read.json).toMatchObject({
    ShipmentNumber: 'TL-100001',
    PickupZip: '02134',
    PickupCity: 'Boston',
    'PickupPhNo.': '2145550000',
    Make: 'Ford',
    Model: '',
    Status: 'new',
  })
  expect([...sandbox.shipments.values()][0]?.vehicles).toHaveLength(1)

  const canceled = await call(sandbox, 'POST', '/deleteShipment.php', { ReferenceNumber: 'REF-1' })
  expect(canceled).toMatchObject({ status: 200, json: { TransportationBooked: 'No' } })
  expect((await call(sandbox, 'POST', '/deleteShipment.php', { ReferenceNumber: 'REF-1' })).status).toBe(409)
})

test('a version-1 body at the shipment paths of version 2 is answered in the shape of version 1', async () => {
  const booked = await call(sandbox, 'POST', '/v2/shipments', BOOKING)
  expect(booked).toMatchObject({ status: 200, json: { TransportationBooked: 'Yes' } })
  const [id] = sandbox.shipments.keys()
  const updated = await call(sandbox, 'PUT', `/v2/shipments/${id}`, { Make: 'Example' })
  expect(updated.json).toEqual({ Message: 'Shipment TL-100001 is updated', TransportationBooked: 'Yes' })
})

test('form fields work, with the underscore that PHP makes of a dot', async () => {
  const form = new URLSearchParams({ ...BOOKING, DeliveryZip: '33166', 'PickupPhNo.': '', PickupPhNo_: '2145550001' })
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  expect((await call(sandbox, 'POST', '/ConfirmBooking', form.toString(), type)).status).toBe(200)
  expect([...sandbox.shipments.values()][0]?.pickup.contact_phone).toBe('2145550001')
})

test('a byte order mark before the JSON is skipped', async () => {
  expect((await call(sandbox, 'POST', '/createShipment.php', `\uFEFF${JSON.stringify(BOOKING)}`)).status).toBe(200)
})

test('refusals have the shape of version 1, too', async () => {
  const quote = await call(sandbox, 'POST', '/getShippingQuote.php', { ActionName: 'Get Rate', ShipmentNumber: 'W' })
  expect(quote).toMatchObject({ status: 422, json: { Cost: '', ShipmentNumber: 'W' } })
  expect(quote.json['Message']).toContain('pickup is required')
  const bad = await call(sandbox, 'POST', '/createShipment.php', '{')
  expect(bad).toMatchObject({ status: 400, json: { TransportationBooked: 'No' } })
  expect((await call(sandbox, 'GET', '/getShipment.php?ReferenceNumber=none')).status).toBe(404)
  expect((await call(sandbox, 'GET', '/getShipment.php')).status).toBe(422)
  expect((await call(sandbox, 'POST', '/createShipment.php', BOOKING, { authorization: '' })).status).toBe(401)
})
