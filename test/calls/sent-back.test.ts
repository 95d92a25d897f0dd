/** Promise: what a read showed and is sent back changes nothing (contract, section 3). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { runs, SAMPLE_SEED } from '../size.ts'
import { changes, expectTrueUpdates, openShowing, shipments } from './sent-back.ts'

const UPDATE = '/updateShipment.php'

test('what a read showed and is sent back changes nothing, and one changed field only what it stands for', async () => {
  const showing = await openShowing()
  const law = fc.asyncProperty(shipments, changes, (shipment, field) => expectTrueUpdates(showing, shipment, field))
  await expect(fc.assert(law, { numRuns: runs(150, 100_000), ...SAMPLE_SEED })).resolves.toBeUndefined()
}, 3_600_000)

/** Books a shipment, and makes it one as other callers of the service have. */
async function booked(gateway: TestGateway, also: object = {}) {
  const booking = { ReferenceNumber: 'R-1', PickupZip: '10314', DeliveryZip: '33166', BillToName: 'Pat', VinNo: 'VIN1' }
  expect((await post(gateway, '/createShipment.php', booking)).status).toBe(200)
  const [shipment] = gateway.sandbox.shipments.values()
  if (!shipment) throw new Error('nothing was booked')
  shipment.pickup = Object.assign(shipment.pickup ?? {}, {
    location_name: 'Lot',
    contact_name: 'Pam',
    contact_phone: '(214) 555-0000 x5',
  })
  Object.assign(shipment, also)
  gateway.sandbox.requests.length = 0
  return shipment
}

const methods = ({ sandbox }: TestGateway) => sandbox.requests.map(({ method }) => method)

test('the names of a place and of a person survive an update of something else, and of the person', async () => {
  const gateway = await startGateway({ env: OWN })
  const shipment = await booked(gateway)
  const read = (await get(gateway, '/getShipment.php?ReferenceNumber=R-1')).json
  expect(read.PickupName).toBe('Pam')
  const before = structuredClone(shipment)
  const same = await post(gateway, UPDATE, read)
  expect(same.json.Message).toBe('The shipment has these values already; nothing was changed.')
  expect(methods(gateway)).toEqual(['GET', 'GET'])

  const changed = await post(gateway, UPDATE, { ...read, DeliveryCity: 'Hialeah', PickupName: 'Sam' })
  expect(changed).toMatchObject({ status: 200, json: { TransportationBooked: 'Yes' } })
  expect(changed.json.Message).toMatch(/^Shipment .+ was updated\. Changed: PickupName, DeliveryCity\.$/)
  expect(gateway.sandbox.shipments.get(shipment.id)).toMatchObject({
    pickup: { ...before.pickup, contact_name: 'Sam' },
    delivery: { ...before.delivery, city: 'Hialeah' },
  })
})

test('the answer names what was not understood, and what a blank does not clear', async () => {
  const gateway = await startGateway({ env: OWN })
  await booked(gateway)
  const body = { ReferenceNumber: 'R-1', DeliveryZipcode: '90210', PickupName: '', DeliveryName: '', Make: 'Ford' }
  expect((await post(gateway, UPDATE, body)).json.Message).toMatch(
    / was updated\. Not understood: DeliveryZipcode \(did you mean DeliveryZip\?\)\. Not cleared, because a blank changes nothing: PickupName\. Changed: Make\.$/,
  )
})

test.each([
  [{ DeliveryZipcode: '90210' }, 'DeliveryZipcode (did you mean DeliveryZip?) is not a known field.'],
  [{ DeliveryCity: ' ', PickupName: null }, 'DeliveryCity is blank, and PickupName is blank'],
])('an update of %j alone is refused', async (fields, says) => {
  const gateway = await startGateway({ env: OWN })
  await booked(gateway)
  const answer = await post(gateway, UPDATE, { ReferenceNumber: 'R-1', ...fields })
  expect(answer).toMatchObject({ status: 422, json: { Message: expect.stringContaining(says) } })
  expect(methods(gateway)).toEqual([])
})

test('a value that the service shows and version 1 cannot translate is no problem when it comes back', async () => {
  const gateway = await startGateway({ env: OWN })
  const shipment = await booked(gateway)
  shipment.pickup = Object.assign(shipment.pickup ?? {}, { state: 'Ontario', notes: '字'.repeat(2000) })
  const read = (await get(gateway, '/getShipment.php?ReferenceNumber=R-1')).json
  expect((await post(gateway, UPDATE, { ...read, PickupCity: 'Ottawa' })).json.Message).toContain(
    'Changed: PickupCity.',
  )
  expect(gateway.sandbox.shipments.get(shipment.id)?.pickup).toMatchObject({ city: 'Ottawa', state: 'Ontario' })
  const wrong = await post(gateway, UPDATE, { ...read, PickupState: 'Quebec' })
  expect(wrong).toMatchObject({ status: 422, json: { Message: expect.stringContaining('PickupState') } })
})

test('an update says by the status if the transportation is booked', async () => {
  const gateway = await startGateway({ env: OWN })
  const { id } = await booked(gateway, { status: 'canceled' })
  gateway.sandbox.fail({ kind: 'status', status: 200, body: { id }, on: { method: 'PUT' } })
  const answer = await post(gateway, UPDATE, { ReferenceNumber: 'R-1', Make: 'Ford' })
  expect(answer).toMatchObject({ status: 200, json: { TransportationBooked: 'No' } })
})

test.each(['/createShipment.php', '/dry-run/createShipment.php'])(
  '%s names the field that a wrong name means',
  async (path) => {
    const gateway = await startGateway({ env: OWN })
    const body = { PickupZipCode: '10314', DeliveryZip: '33166', BillToName: 'Pat', VinNo: 'VIN1' }
    const { text } = await post(gateway, path, body)
    expect(text).toContain('PickupZip or PickupCity is required; you sent PickupZipCode')
  },
)
