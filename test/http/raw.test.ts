/** Promise: each request in `raw.txt`, most of them malformed, is answered and forwarded as it says (contract, section 9). */

import { expect, test } from 'vitest'
import { get, startGateway } from '../gateway.ts'
import { openLine } from './line.ts'
import { rawRequests } from './raw.ts'

/** The service answers after the caller has ended its side. */
const DELAY_MS = 20
const PROBE = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'

test('each request in raw.txt is answered as it says, and nothing else is sent on', async () => {
  const { sandbox, ...gateway } = await startGateway({ env: { SOURCE_CONNECTIONS: '10000' } })
  // Otherwise the first streamed body would ask whether the service accepts the credential.
  await get(gateway, '/v2/shipments/none')
  sandbox.fail({ kind: 'delay', ms: DELAY_MS, times: 'always' })
  const seen: string[] = []
  for (const { what, outcome: expected, bytes, ends } of rawRequests) {
    sandbox.requests.length = 0
    const line = await openLine(gateway)
    line.write(bytes)
    if (ends) line.end()
    const count = expected.match(/\b\d{3}\b/g)?.length ?? 0
    let replies = await (expected.includes('kept') ? line.replies(count) : line.closed())
    const connection = line.isClosed() ? 'closed' : 'kept'
    if (connection === 'kept') {
      line.write(PROBE)
      replies = (await line.replies(count + 1)).slice(0, -1)
    }
    line.hangUp()
    const last = replies.at(-1)
    const isRefusal = last && last.status >= 400 && !last.headers.has('sandbox')
    const reached = sandbox.requests.map(({ method, path }) => `${method} ${path}`).join(', ')
    const outcome = [...replies.map(({ status }) => status), connection].join(' ')
    const message = isRefusal ? `: ${last.json['Message'] ?? last.json['detail']}` : ''
    seen.push(`${what} → ${outcome}${reached && `, sent on: ${reached}`}${message}`)
  }
  expect(seen).toEqual(rawRequests.map(({ what, outcome }) => `${what} → ${outcome}`))
})
