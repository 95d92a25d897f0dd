/** Promise: paths with odd escapes are refused or passed on (contract, section 1). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OWN, startGateway } from '../gateway.ts'
import { runs } from '../size.ts'
import { send } from './wire.ts'

const RUNS = runs(300, 5_000)

/** Percent signs that are no escapes, escapes that are no UTF-8, and escapes of escapes. */
const ODD = [
  ...['%', '%%', '%2', '%zz', '%g0', '%-1', '%u0041', '%+2'],
  ...[
    '%ff',
    '%80',
    '%c3',
    '%c3%28',
    '%e2%82',
    '%ed%a0%80',
    '%ed%b0%80',
    '%c0%ae',
    '%e0%80%80',
    '%f8%88%80%80%80',
    '%f4%90%80%80',
  ],
  ...[
    '%25',
    '%2525',
    '%25zz',
    '%25ff',
    '%3f',
    '%3F%zz',
    '%23',
    '%2f',
    '%5c',
    '%3b',
    '%00',
    '%7f',
    '%c2%85',
    '%e2%80%a8',
    '%ef%bb%bf',
  ],
]

const piece = fc.oneof(
  fc.constantFrom(...ODD),
  fc.constantFrom('shipments', 'shipment', 'quote', 'approve', 'a-1', '/', ';', '.', '~'),
)
const path = fc
  .tuple(
    fc.constantFrom('/v2/', '/v2/shipments/', '/v2/quote/', '/%76%32/'),
    fc.array(piece, { minLength: 1, maxLength: 5 }),
  )
  .map(([begin, rest]) => begin + rest.join(''))
const call = fc.tuple(
  fc.constantFrom('DELETE', 'POST', 'PUT', 'GET'),
  fc.oneof(
    { weight: 4, arbitrary: path },
    path.map((one) => `${one}?why=%zz`),
    path.map((one) => `${one}/approve`),
  ),
)

const EXAMPLES = ODD.flatMap((odd) =>
  [
    `DELETE /v2/shipments/${odd}`,
    `PUT /v2/shipment/${odd}`,
    `POST /v2/quote/${odd}/approve`,
    `POST /v2/${odd}`,
    `DELETE /v2/shipments/a?${odd}`,
  ].map((line) => line.split(' ') as [string, string]),
)

test('a path below /v2/ with odd escapes is refused or passed on, and never a fault of the gateway', async () => {
  // With the cache, each of the call's questions about its path is asked.
  const gateway = await startGateway({ env: OWN, sandbox: { approvalBooks: true } })
  const calls = [...EXAMPLES, ...fc.sample(call, { numRuns: RUNS, seed: 7 })]
  const seen = new Set<number>()
  for (const [method, target] of calls) {
    const head = `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n`
    const reply = await send(gateway, `${head}{}`)
    expect(reply.status, `${method} ${target}: ${reply.body}`).toBeLessThan(500)
    seen.add(reply.status)
  }
  // Some were refused, and some reached the service.
  expect(seen.has(400)).toBe(true)
  expect(gateway.sandbox.requests.length).toBeGreaterThan(EXAMPLES.length / 4)
  expect(gateway.lines().filter(({ error }) => error === 'gateway-failed')).toEqual([])
})
