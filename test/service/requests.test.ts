/** Promise: each translated call is a request as the interface document shows it (contract, section 3). */

import { expect, test } from 'vitest'
import { basic, startGateway } from '../gateway.ts'
import { approve, book, cancel, quote, read, update } from './calls.ts'

test('every request goes below /v2/ with Basic authentication; one with a body is JSON, and one without has no type', async () => {
  const gateway = await startGateway({ env: { APPROVAL_BOOKS: 'no' }, sandbox: { approvalBooks: false } })
  const calls = [quote, approve, book, read, update, cancel]
  for (const call of calls) expect((await call(gateway)).status).toBe(200)
  const { requests } = gateway.sandbox
  const id = [...gateway.sandbox.shipments.keys()].at(-1)
  const [quoteId] = gateway.sandbox.quotes.keys()
  const types = requests.map(({ method, path, headers }) => [`${method} ${path}`, headers['content-type']])
  expect(types).toEqual([
    ['POST /v2/quote', 'application/json'],
    [`POST /v2/quote/${quoteId}/approve`, 'application/json'],
    ['POST /v2/shipments', 'application/json'],
    [`GET /v2/shipments/${id}`, undefined],
    [`GET /v2/shipments/${id}`, undefined],
    [`PUT /v2/shipments/${id}`, 'application/json'],
    [`DELETE /v2/shipments/${id}`, undefined],
    [`GET /v2/shipments/${id}`, undefined],
  ])
  for (const { headers, body } of requests) {
    expect(headers.authorization).toBe(basic())
    if (headers['content-type']) expect(JSON.parse(body)).toEqual(expect.any(Object))
    else expect(body).toBe('')
  }
})
