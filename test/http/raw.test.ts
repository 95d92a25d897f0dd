/** Promise: each request in `raw.txt`, most of them malformed, is answered as it says, and nothing else is sent on (contract, section 9). */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { basic, get, startGateway } from '../gateway.ts'
import { openLine } from './line.ts'

const END = '{end}'
/** The service answers long after the caller has ended its side. */
const DELAY_MS = 20
const PROBE = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', '0': '\0', '\\': '\\' }

/** Returns the bytes that a text stands for. */
const bytesOf = (text: string) =>
  text
    .replaceAll('\n', '\r\n')
    .replaceAll('{auth}', basic())
    .replace(/\{(\d+) x\}/g, (_, count) => 'x'.repeat(Number(count)))
    .replace(/\{(\d+) headers\}/g, (_, count) => Array(Number(count)).fill('A: 1').join('\r\n'))
    .replace(/\\(?:x([\da-f]{2})|(.))/g, (_, hex, letter) =>
      hex ? String.fromCharCode(Number.parseInt(hex, 16)) : (ESCAPES[letter] ?? ''),
    )

const [, ...cases] = readFileSync(join(import.meta.dirname, 'raw.txt'), 'utf8').split(/^== /m)

test('each request in raw.txt is answered as it says, and nothing else is sent on', async () => {
  const { sandbox, ...gateway } = await startGateway({ env: { SOURCE_CONNECTIONS: '10000' } })
  // Otherwise the first body that streams would ask whether the service accepts the credential.
  await get(gateway, '/v2/shipments/none')
  sandbox.fail({ kind: 'delay', ms: DELAY_MS, times: 'always' })
  const seen: string[] = []
  for (const [heading = '', ...lines] of cases.map((one) => one.replace(/\n$/, '').split('\n'))) {
    sandbox.requests.length = 0
    const text = lines.join('\n')
    const [what, expected = ''] = heading.split(' → ')
    const line = await openLine(gateway)
    line.write(bytesOf(text.replace(END, '')))
    if (text.endsWith(END)) line.end()
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
  expect(seen).toEqual(cases.map((one) => one.split('\n', 1)[0]))
})
