/** Promise: a reply that drips is late, unless it is streamed (contract, section 9). */

import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { OWN, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const EVERY_MS = 50

function repeatedly(outgoing: ServerResponse, send: () => void): void {
  send()
  const timer = setInterval(send, EVERY_MS)
  outgoing.on('close', () => clearInterval(timer))
}

test.each([
  ['GET', `/v2/shipments/${ID}`],
  ['POST', `/v2/quote/${ID}/approve`],
  ['POST', '/v2/shipments'],
])('%s %s: informational replies do not prolong the deadline', async (method, path) => {
  const service = await openService((_incoming, outgoing) =>
    repeatedly(outgoing, () => outgoing.writeEarlyHints({ link: '</a>; rel=preload' })),
  )
  const gateway = await startGateway({ serviceUrl: service.url, env: { ...OWN, UPSTREAM_TIMEOUT_MS: '1000' } })
  const body = method === 'POST' ? '{}' : null
  expect((await fetch(`${gateway.url}${path}`, { method, body })).status).toBe(504)
})

test.each([
  ['POST', `/v2/quote/${ID}/approve`],
  ['DELETE', `/v2/shipments/${ID}`],
])('%s %s: a reply that drips is late, because the gateway reads all of it', async (method, path) => {
  const service = await openService((_incoming, outgoing) => repeatedly(outgoing, () => outgoing.write(' ')))
  const gateway = await startGateway({ serviceUrl: service.url, env: { ...OWN, UPSTREAM_TIMEOUT_MS: '1000' } })
  expect((await fetch(`${gateway.url}${path}`, { method })).status).toBe(504)
})

test('a reply that is streamed may take longer than the deadline', async () => {
  let chunks = 0
  const service = await openService((_incoming, outgoing) =>
    repeatedly(outgoing, () => {
      chunks += 1
      if (chunks < 40) outgoing.write('x')
      else outgoing.end()
    }),
  )
  const gateway = await startGateway({ serviceUrl: service.url, env: { ...OWN, UPSTREAM_TIMEOUT_MS: '1000' } })
  const reply = await fetch(`${gateway.url}/v2/shipments/${ID}`)
  expect(await reply.text()).toBe('x'.repeat(39))
})
