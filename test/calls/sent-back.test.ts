/** Promise: an update writes only the changes, even if others change the shipment at the same time (contract, section 4). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { runs, SAMPLE_SEED } from '../size.ts'
import { changes, expectTrueUpdates, openShowing, shipments } from './sent-back.ts'

test('sending back a read changes nothing, and one changed field changes only what it stands for', async () => {
  const showing = await openShowing()
  const law = fc.asyncProperty(shipments, changes, (shipment, field) => expectTrueUpdates(showing, shipment, field))
  await expect(fc.assert(law, { numRuns: runs(75, 25_000), ...SAMPLE_SEED })).resolves.toBeUndefined()
}, 3_600_000)

const update = (gateway: TestGateway, fields: object) =>
  post(gateway, '/updateShipment.php', { ReferenceNumber: bookingExample.ReferenceNumber, ...fields })

/** Opens a gateway before a service with a booked shipment. */
async function openBooked(etag: boolean) {
  const gateway = await startGateway({ env: OWN, sandbox: { etag } })
  const { headers } = await post(gateway, '/createShipment.php', bookingExample)
  gateway.sandbox.requests.length = 0
  return { gateway, sandbox: gateway.sandbox, id: headers.get('transload-shipment-id') ?? '' }
}

test('an update that finds a changed shipment starts again from a fresh read with its ETag, and keeps the other change', async () => {
  const { gateway, sandbox, id } = await openBooked(true)
  const overtaken = sandbox
    .next(({ method }) => method === 'GET')
    .then(() => {
      const shipment = sandbox.shipments.get(id) ?? expect.fail('no shipment')
      sandbox.shipments.set(id, { ...shipment, delivery: { ...shipment.delivery, contact_name: 'Their change' } })
    })
  expect((await update(gateway, { PickupName: 'Our change' })).json).toMatchObject({ TransportationBooked: 'Yes' })
  await overtaken
  expect(sandbox.requests.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET', 'PUT'])
  const [, first, , second] = sandbox.requests.map(({ headers }) => headers['if-match'])
  expect([first, second]).toEqual([expect.stringMatching(/^"\d+"$/), expect.stringMatching(/^"\d+"$/)])
  expect(first).not.toBe(second)
  const both = { pickup: { contact_name: 'Our change' }, delivery: { contact_name: 'Their change' } }
  expect(sandbox.shipments.get(id)).toMatchObject(both)
  sandbox.set({ etag: false })
  await update(gateway, { PickupName: 'Another' })
  expect(sandbox.requests.at(-1)?.headers['if-match']).toBeUndefined()
})

test('concurrent updates of one shipment are done one after the other, each from a fresh read', async () => {
  const { gateway, sandbox, id } = await openBooked(false)
  const all = [{ PickupName: 'Gate 4' }, { DeliveryName: 'Gate 5' }, { DeliveryCity: 'Tampa' }]
  const answers = await Promise.all(all.map((changed) => update(gateway, changed)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(sandbox.requests.map(({ method }) => method)).toEqual(['GET', 'PUT', 'GET', 'PUT', 'GET', 'PUT'])
  const result = { pickup: { contact_name: 'Gate 4' }, delivery: { contact_name: 'Gate 5', city: 'Tampa' } }
  expect(sandbox.shipments.get(id)).toMatchObject(result)
})
