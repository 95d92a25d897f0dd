/** Promise: no request hides in another (contract, section 1). */

import { expect, test } from 'vitest'
import { basic, startGateway, type TestGateway } from '../gateway.ts'
import { sample } from '../size.ts'
import { openLine } from './line.ts'
import tables from './smuggling.json' with { type: 'json' }

/** A request whose length two servers may read differently. */
interface Variant {
  /** Header lines with their ends. */
  readonly headers: string
  readonly body: string
  /** Between the header lines. @default '\r\n' */
  readonly newline?: string
  readonly version?: string
}

/** Stands in a body, and must never be taken for a request. */
const HIDDEN = 'GET /v2/hidden HTTP/1.1\r\nHost: x\r\nX-Request-Id: hidden\r\n\r\n'
const FORM = `TempShipFromPostalCode=10314&TempShipToPostalCode=33166&x=${HIDDEN}`
const LENGTH = String(FORM.length)
const HEX = FORM.length.toString(16)

const CHUNKED = 'Transfer-Encoding: chunked'
const chunk = `${HEX}\r\n${FORM}\r\n`
const LAST = '0\r\n\r\n'
const BEHIND = LAST + HIDDEN
const BEHIND_LENGTH = `Content-Length: ${BEHIND.length}\r\n`

/** The places of the hidden request, for a declaration of an encoding. */
const placed = (encoding: string): readonly Variant[] => [
  // After the end for a reader of chunks but inside for a reader of lengths, in both orders.
  { headers: `${BEHIND_LENGTH}${encoding}\r\n`, body: BEHIND },
  { headers: `${encoding}\r\n${BEHIND_LENGTH}`, body: BEHIND },
  // Inside a chunk, after the end for a reader of lengths, and with no length at all.
  { headers: `Content-Length: 4\r\n${encoding}\r\n`, body: chunk + LAST },
  { headers: `${encoding}\r\n`, body: chunk + LAST },
]

/** Every declaration of a length in the tables, in every sensible combination; `#` is the correct length. */
function* variants(): Generator<Variant> {
  for (const name of tables.encodingNames) {
    for (const value of tables.encodingValues) yield* placed(`${name}:${value}`)
  }
  for (const name of tables.lengthNames) {
    for (const value of tables.lengthValues) {
      const odd = `${name}:${value.replaceAll('#', LENGTH).replace('{hex}', HEX)}\r\n`
      const right = `Content-Length: ${LENGTH}\r\n`
      yield { headers: odd + right, body: FORM }
      yield { headers: right + odd, body: FORM }
    }
  }
  const headers = `${CHUNKED}\r\n`
  for (const spelled of tables.sizes) {
    const size = spelled.replace('{upper}', HEX.toUpperCase())
    const written = size.replace('#', HEX)
    for (const newline of tables.chunkNewlines) {
      yield { headers, body: `${written}${newline}${FORM}\r\n${LAST}` }
      yield { headers, body: `${chunk}${size.replace('#', '0')}${newline}${newline}` }
      yield { headers, body: `${written}\r\n${FORM}${newline}${LAST}` }
    }
  }
  for (const newline of tables.newlines) for (const variant of placed(CHUNKED)) yield { ...variant, newline }
  for (const version of tables.versions) for (const variant of placed(CHUNKED)) yield { ...variant, version }
  for (const trailer of tables.trailers) yield { headers, body: `${chunk}0\r\n${trailer}\r\n\r\n` }
}

const PROBE = `GET /v2/probe HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\nX-Request-Id: probe-`

/** Sends a variant, a probe after it, and a request that ends the connection; returns the errors of the outcome. */
async function attempt(gateway: TestGateway, variant: Variant, number: number, toService: boolean): Promise<string[]> {
  const { headers, body, newline = '\r\n', version = 'HTTP/1.1' } = variant
  const line = await openLine(gateway)
  const path = toService ? `/v2/outer-${number}` : '/getShippingQuote.php'
  const id = `outer-${number}`
  const first = [`POST ${path} ${version}`, 'Host: x', `Authorization: ${basic()}`, `X-Request-Id: ${id}`].join(newline)
  const bytes = `${first}${newline}${newline === '\r\n' ? headers : headers.replaceAll('\r\n', newline)}${newline}${body}`
  const cut = number % bytes.length
  // Sent in two pieces, because packet boundaries must not matter.
  line.write(bytes.slice(0, cut))
  line.write(`${bytes.slice(cut)}${PROBE}${number}\r\n\r\n\0\0\0\0\r\n\r\n`)
  const replies = await line.closed()
  line.hangUp()

  const reached = gateway.sandbox.requests.filter(({ headers: { 'x-request-id': sent } }) => sent === id).length
  const probed = gateway.sandbox.requests.filter(({ path: at, headers: { 'x-request-id': sent } }) => {
    return at === '/v2/probe' && sent === `probe-${number}`
  }).length
  const [own] = replies
  const wrong: string[] = []
  if (own === undefined || replies.length > 2) wrong.push(`${replies.length} replies`)
  if (reached > 1 || probed > 1) wrong.push(`${reached} and ${probed} requests`)
  if (reached === 1 && toService && !own?.headers.has('sandbox')) wrong.push('the reply is not that of the service')
  const refused = own !== undefined && own.status >= 400 && !own.headers.has('sandbox')
  if (refused && own.headers.get('connection')?.[0] === 'close' && reached + probed > 0) wrong.push('refused, and sent')
  if (own && own.status < 400 && reached === 0) wrong.push(`answered ${own.status}, and not sent`)
  if (replies.length === 2 && probed === 0) wrong.push('a reply to nothing')
  const refusals = replies.filter(({ status, headers: sent }) => status >= 400 && !sent.has('sandbox'))
  if (!refusals.every(({ json }) => 'Message' in json || 'detail' in json)) wrong.push('a refusal that is not JSON')
  return wrong.map((mistake) => `${JSON.stringify(variant)} ${toService ? 'to the service' : 'to a form'}: ${mistake}`)
}

const AT_ONCE = 32

test.each([
  ['what passes through', true],
  ['what is translated', false],
] as const)('no request in disguise gets through with %s', async (_, toService) => {
  const gateway = await startGateway({ env: { SOURCE_CONNECTIONS: '10000' } })
  const all = [...variants()]
  expect(all.length).toBeGreaterThanOrEqual(1_500)
  const wrong: string[] = []
  const sent = sample(all, 5)
  const queue = sent.entries()
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const [number, variant] of queue) wrong.push(...(await attempt(gateway, variant, number, toService)))
    }),
  )
  expect(wrong).toEqual([])
  expect(
    gateway.sandbox.requests.filter(({ path, headers }) => `${path}${headers['x-request-id']}`.includes('hidden')),
  ).toEqual([])
  // The harness sees the forwarded requests: some variants are valid, and so are the probes after them.
  expect(gateway.sandbox.requests.filter(({ path }) => path === '/v2/probe').length).toBeGreaterThan(sent.length / 25)
})
