/** Promise: the service of the demo announces what happens (contract, section 10). */

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Sandbox, type ServiceEvent, startSandbox } from '../stand-in/stand-in.ts'
import { booking, call } from './client.ts'

// The receiver's answers to the next deliveries; then 204. 'never' leaves the sender waiting.
let answers: (number | 'never')[] = []
const received: ServiceEvent[] = []
const receiver = createServer(async (request, response) => {
  received.push(JSON.parse((await request.toArray()).join('')))
  const answer = answers.shift() ?? 204
  if (answer !== 'never') response.writeHead(answer).end()
})

const RETRY = { attempts: 3, delayMs: 1 }

let sandbox: Sandbox
let webhookUrl: string
beforeAll(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  webhookUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/webhooks/secret`
  sandbox = await startSandbox({
    webhookUrl,
    webhookRetry: RETRY,
    clock: () => new Date('2024-08-10T08:00:00.123Z'),
  })
})
beforeEach(async () => {
  await sandbox.idle()
  sandbox.clear()
  sandbox.set({ webhookUrl, webhookRetry: RETRY })
  answers = []
  received.length = 0
})
afterAll(async () => {
  await sandbox.close()
  receiver.closeAllConnections()
  receiver.close()
})

async function booked(): Promise<string> {
  const { json } = await call(sandbox, 'POST', '/v2/shipments', booking())
  await sandbox.idle()
  return String(json['id'])
}

test('a booking is announced', async () => {
  const shipment_id = await booked()
  expect(received).toEqual([{ shipment_id, event: 'shipment.created', event_date: '2024-08-10T08:00:00+0000' }])
  expect(sandbox.webhookDeliveries).toMatchObject([{ url: webhookUrl, attempt: 1, status: 204, delivered: true }])
})

test('an event contains the changed fields, and a price the difference', async () => {
  const id = await booked()
  const before = sandbox.shipments.get(id)
  await call(sandbox, 'PUT', `/v2/shipments/${id}`, { pickup: { ...before?.pickup, zipcode: 10314 } })
  await sandbox.idle()
  const after = sandbox.shipments.get(id)
  expect(received[1]).toMatchObject({
    event: 'shipment.modified',
    data: {
      'pickup.zipcode': { old_value: 75234, new_value: 10314 },
      price: { old_value: before?.price, new_value: after?.price, difference: expect.any(Number) },
    },
  })
  await call(sandbox, 'PUT', `/v2/shipments/${id}`, { external_id: 'REF-1' })
  await sandbox.idle()
  expect(received).toHaveLength(2)
})
