/** Promise: the service of the demo announces what happens (contract, section 10). */

import { expect, test } from 'vitest'
import { startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { booking, call } from './client.ts'

test('a booking is announced, and a change with the changed fields, a price with the difference', async () => {
  const received: object[] = []
  const receiver = await openService(async (incoming, outgoing) => {
    received.push(JSON.parse((await incoming.toArray()).join('')))
    // An event that is refused is sent again.
    outgoing.writeHead(received.length === 1 ? 500 : 204).end()
  })
  const { sandbox } = await startGateway({
    sandbox: {
      webhookUrl: `${receiver.url}/webhooks/secret`,
      webhookRetry: { attempts: 3, delayMs: 1 },
      clock: () => new Date('2024-08-10T08:00:00.123Z'),
    },
  })
  const { json } = await call(sandbox, 'POST', '/v2/shipments', booking())
  await sandbox.idle()
  const shipment_id = String(json['id'])
  const created = { shipment_id, event: 'shipment.created', event_date: '2024-08-10T08:00:00+0000' }
  expect(received.splice(1)).toEqual([created])
  const before = sandbox.shipments.get(shipment_id)
  const change = (body: object) => call(sandbox, 'PUT', `/v2/shipments/${shipment_id}`, body)
  await change({ pickup: { ...before?.pickup, zipcode: 10314 } })
  // Nothing of this changes.
  await change({ external_id: 'REF-1' })
  await sandbox.idle()
  const after = sandbox.shipments.get(shipment_id)
  expect(received.slice(1)).toMatchObject([
    {
      event: 'shipment.modified',
      data: {
        'pickup.zipcode': { old_value: 75234, new_value: 10314 },
        price: { old_value: before?.price, new_value: after?.price, difference: expect.any(Number) },
      },
    },
  ])
})
