/** Promise: of several shipments of one reference the right one is found, or the caller is asked (contract, section 6). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { CLIENT, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { link } from '../store/samples.ts'

const REFERENCE = bookingExample.ReferenceNumber
const BY_ID = '/v2/shipments/'

const open = () => startGateway({ env: { V2_SHIPMENT_PATH: '/v2/shipments' } })
const cancel = (gateway: TestGateway) => post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
const sent = ({ sandbox }: TestGateway) => sandbox.requests.splice(0).map(({ method, path }) => `${method} ${path}`)

/** Books, and puts so many newer shipments under the same reference that the service does not know. */
async function bookAmongGone(gateway: TestGateway, others: number) {
  const { headers } = await post(gateway, '/createShipment.php', bookingExample)
  const ids = Array.from({ length: others }, (_, i) => `gone-${i}`)
  for (const [i, id] of ids.entries()) {
    const at = gateway.store.now() + i
    const shipment = { tenant: CLIENT.id, kind: 'shipment', name: REFERENCE, vin: id, id, at } as const
    await gateway.store.put({ links: [link(shipment)] })
  }
  sent(gateway)
  return { id: headers.get('transload-shipment-id') ?? expect.fail('not booked'), newest: ids.at(-1) }
}

describe('several shipments of one reference', () => {
  test('are told apart by reads of up to ten of them', async () => {
    const gateway = await open()
    const { id } = await bookAmongGone(gateway, 9)
    expect((await cancel(gateway)).status).toBe(200)
    const requests = sent(gateway)
    expect(requests.filter((request) => request.startsWith(`GET ${BY_ID}gone-`))).toHaveLength(9)
    expect(requests).toContain(`DELETE ${BY_ID}${id}`)
  })

  test('are only listed where they are more, to a credential that may read the newest', async () => {
    const gateway = await open()
    const { newest } = await bookAmongGone(gateway, 10)
    const { status, json } = await cancel(gateway)
    expect(status).toBe(409)
    expect(json.Message).toContain(bookingExample.VinNo)
    expect(sent(gateway)).toEqual([`GET ${BY_ID}${newest}`])
  })
})

test.each([401, 403])(
  'several shipments of one reference are not listed to a credential that is answered %i',
  async (status) => {
    const gateway = await open()
    await bookAmongGone(gateway, 3)
    gateway.sandbox.fail({ kind: 'status', status, times: 'always' })
    const answer = await cancel(gateway)
    expect(answer.status).toBe(status)
    expect(answer.text).not.toContain(bookingExample.VinNo)
  },
)

describe('a name that the cross-reference does not have', () => {
  const read = (gateway: TestGateway) => get(gateway, '/getShipment.php?ReferenceNumber=NONE&number=OTHER')

  test.each([400, 404, 405, 410, 422])(
    'is unknown to a service that answers %i, and the next name is tried',
    async (status) => {
      const gateway = await open()
      gateway.sandbox.fail({ kind: 'status', status, times: 2 })
      const answer = await read(gateway)
      expect(answer.status).toBe(404)
      expect(answer.json.Message).toContain('ReferenceNumber NONE or number OTHER')
      expect(sent(gateway)).toEqual([`GET ${BY_ID}NONE`, `GET ${BY_ID}OTHER`])
    },
  )

  test.each([401, 403, 409, 418])('may be known to a service that answers %i, which is the answer', async (status) => {
    const gateway = await open()
    gateway.sandbox.fail({ kind: 'status', status, times: 1 })
    expect((await read(gateway)).status).toBe(status)
    expect(sent(gateway)).toEqual([`GET ${BY_ID}NONE`])
  })
})
