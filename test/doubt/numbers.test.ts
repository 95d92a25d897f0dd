/** Promise: a number is never taken for another thing's (contract, section 6). */

import { expect, test } from 'vitest'
import { book, expectBooked, OTHER_VIN } from '../bookings/desk.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'

/*
 * Promise: where the service gives a shipment the number by which a caller knows another one, the caller's own name comes first
 * (contract, section 6).
 */

/** The number that the stand-in gives its first shipment. */
const FIRST = 'TL-100001'

const statusOf = ({ sandbox }: TestGateway, ...ids: string[]) => ids.map((id) => sandbox.shipments.get(id)?.status)
const cancel = (gateway: TestGateway, name: object) => post(gateway, '/deleteShipment.php', name)
const read = (gateway: TestGateway, name: Record<string, string>) =>
  get(gateway, `/getShipment.php?${new URLSearchParams(name)}`)

test('a number of the service that named an update is not taken for a name of the caller', async () => {
  const gateway = await startGateway()
  const numbered = expectBooked(await book(gateway, { ReferenceNumber: 'REF-1' }))
  expect((await post(gateway, '/updateShipment.php', { number: FIRST, VinNo: OTHER_VIN })).status).toBe(200)
  const named = expectBooked(await book(gateway, { ReferenceNumber: FIRST, VinNo: OTHER_VIN }))
  expect((await cancel(gateway, { ReferenceNumber: FIRST })).status).toBe(200)
  expect(statusOf(gateway, named, numbered)).toEqual(['canceled', 'new'])
})

test.each([
  [200, { number: 'n-1' }],
  [200, { external_id: 'n-1' }],
  [502, { number: 'T-1' }],
])('the service is asked for a number, and answers with %i by a shipment of %o', async (status, own) => {
  const gateway = await startGateway()
  gateway.sandbox.fail({
    kind: 'status',
    status: 200,
    body: { id: 's-1', status: 'new', ...own },
    on: { method: 'GET' },
  })
  const answer = await read(gateway, { number: 'N-1' })
  expect(answer.status).toBe(status)
  if (status === 200) return
  const Message = expect.stringContaining('it shows another shipment')
  expect(answer.json).toEqual({ Message, TransportationBooked: 'Unknown' })
  // Nothing is recorded.
  expect((await read(gateway, { number: 'N-1' })).status).toBe(404)
})
