/** Promise: concurrent calls find one spelling, and requests are counted in one (contract, section 3). */

import { expect, test } from 'vitest'
import { atOnce } from '../callers/tenants-gateway.ts'
import { metricsOf, startGateway } from '../gateway.ts'
import { approve, book, cancel, quote, read, update } from './calls.ts'

test('auto finds one spelling for all callers', async () => {
  const gateway = await startGateway({ sandbox: { shipmentPath: 'singular' } })
  const booked = await atOnce(4, () => book(gateway))
  expect(booked.map(({ status }) => status)).toEqual([200, 200, 200, 200])
})

test('each request is counted by its operation, in one spelling and without ids', async () => {
  const gateway = await startGateway({ env: { V2_SHIPMENT_PATH: '/v2/shipment' } })
  for (const call of [quote, book, read, update, cancel, approve]) await call(gateway)
  const text = await metricsOf(gateway)
  const operations = [...text.matchAll(/service_seconds_count\{operation="([^"]+)"/g)].map(([, operation]) => operation)
  expect([...new Set(operations)].sort()).toEqual([
    'DELETE /v2/shipments/{id}',
    'GET /v2/shipments/{id}',
    'POST /v2/quote',
    'POST /v2/quote/{id}/approve',
    'POST /v2/shipments',
    'PUT /v2/shipments/{id}',
  ])
})
