/** Promise: no request hides in another (contract, section 1). */

import { expect, test } from 'vitest'
import { basic, startGateway, type TestGateway } from '../gateway.ts'
import { sample } from '../size.ts'
import { notJson, openLine } from './line.ts'

/** A request whose length two servers may read differently. */
interface Variant {
  readonly what: string
  /** Header lines with their ends, and the body. */
  readonly headers: string
  readonly body: string
  /** Between the header lines. @default '\r\n' */
  readonly newline?: string
  readonly version?: string
}

/** Stands in a body, and must never be taken for a request. */
const HIDDEN = 'GET /v2/hidden HTTP/1.1\r\nHost: x\r\nX-Request-Id: hidden\r\n\r\n'
const FORM = `TempShipFromPostalCode=10314&TempShipToPostalCode=33166&x=${HIDDEN}`

const chunk = (data: string) => `${data.length.toString(16)}\r\n${data}\r\n`
const LAST = '0\r\n\r\n'

const BEHIND = LAST + HIDDEN
const WITHIN = chunk(FORM) + LAST
const BEHIND_LENGTH = `Content-Length: ${BEHIND.length}\r\n`

/** The places of the hidden request, for a declaration of an encoding. */
const placed = (encoding: string): readonly Variant[] => [
  // Behind what would be the end for a reader of chunks, and within for a reader of lengths, in both orders.
  { what: `behind: ${encoding}`, headers: `${BEHIND_LENGTH}${encoding}\r\n`, body: BEHIND },
  { what: `behind, first: ${encoding}`, headers: `${encoding}\r\n${BEHIND_LENGTH}`, body: BEHIND },
  // Within a chunk, where a reader of lengths would have ended before.
  { what: `within: ${encoding}`, headers: `Content-Length: 4\r\n${encoding}\r\n`, body: WITHIN },
  // Within a chunk, with no length at all.
  { what: `alone: ${encoding}`, headers: `${encoding}\r\n`, body: WITHIN },
]

const ENCODING_NAMES = [
  'Transfer-Encoding',
  'transfer-encoding',
  'TRANSFER-ENCODING',
  'Transfer_Encoding',
  'Transfer-Encoding ',
  'Transfer-Encoding\t',
  ' Transfer-Encoding',
  '\tTransfer-Encoding',
  'Transfer-Encoding\0',
  'Transfer-Encoding\x0b',
  'X-Transfer-Encoding',
  'Transfer-Encodin\xe7',
  'X: y\nTransfer-Encoding',
  'X: y\rTransfer-Encoding',
  'X: y\r\n Transfer-Encoding',
]
const ENCODING_VALUES = [
  'chunked',
  ' chunked',
  '\tchunked',
  ' chunked ',
  ' chunked\t',
  ' Chunked',
  ' CHUNKED',
  ' xchunked',
  ' chunkedx',
  ' "chunked"',
  " 'chunked'",
  ' chunked, identity',
  ' identity, chunked',
  ' gzip, chunked',
  ' chunked;q=1',
  ' chunked\0',
  ' \0chunked',
  ' \x0bchunked',
  ' chunked\x0b',
  ' \x0cchunked',
  ' ch\xc3\xbcnked',
  ' \xa0chunked',
  ' cow',
  '',
  ' chunked,',
  ' ,chunked',
  ' chunked, chunked',
  ' chun ked',
  '\r\n chunked',
  '\n chunked',
  ' chunked\r',
  ' chunked\r\nTransfer-Encoding: chunked',
  ' chunked\r\nTransfer-Encoding: cow',
  ' cow\r\nTransfer-Encoding: chunked',
  ' identity\r\nTransfer-Encoding: chunked',
]

const LENGTH_NAMES = [
  'Content-Length',
  'content-length',
  'Content_Length',
  'Content-Length ',
  'Content-Length\t',
  ' Content-Length',
  'Content-Length\0',
  'X-Content-Length',
  'X: y\nContent-Length',
  'X: y\rContent-Length',
  'X: y\r\n Content-Length',
]
const lengthValues = (length: number) => [
  ' 0',
  ' 4',
  ` ${length}`,
  ` 0${length}`,
  ` +${length}`,
  ` -${length}`,
  ` ${length}.0`,
  ` 0x${length.toString(16)}`,
  ` ${length}, ${length}`,
  ` ${length},0`,
  ` 0, ${length}`,
  ` ${length} 0`,
  ` ${length};0`,
  ` "${length}"`,
  ` ${length}e0`,
  ` ${length}\0`,
  ` \x0b${length}`,
  ` ${length}\x0b`,
  ' 18446744073709551616',
  '',
  ' NaN',
  `\r\n ${length}`,
]

/** Sizes of a chunk; `#` is the right one. */
const SIZES = [
  '0x#',
  '+#',
  '-#',
  ' #',
  '\t#',
  '# ',
  '#\t',
  '0#',
  '00000000000000000000#',
  `1${'0'.repeat(16)}#`,
  FORM.length.toString(16).toUpperCase(),
  '#;',
  '#;a',
  '#;a=b',
  '#;a="b"',
  '#;a="b\r\n0\r\n\r\n"',
  '#;\n',
  '#;a\n0',
  '#;\r0',
  '# ;a=b',
  '#,1',
  '#.0',
  '#\0',
  '#g',
  '#\x0b',
  '',
  '0',
  '00',
  '-0',
  'zz',
  '1',
]
const CHUNK_NEWLINES = ['\r\n', '\n', '\r', '\n\r', '\r\r\n', '\r\n\r\n', '']

/** Every declaration of a length in the tables, in every sensible combination. */
function* variants(): Generator<Variant> {
  for (const name of ENCODING_NAMES) {
    for (const value of ENCODING_VALUES) {
      yield* placed(`${name}:${value}`)
    }
  }
  for (const name of LENGTH_NAMES) {
    for (const value of lengthValues(FORM.length)) {
      const odd = `${name}:${value}\r\n`
      const right = `Content-Length: ${FORM.length}\r\n`
      yield { what: `length, then right: ${odd}`, headers: odd + right, body: FORM }
      yield { what: `length, after right: ${odd}`, headers: right + odd, body: FORM }
    }
  }
  const headers = 'Transfer-Encoding: chunked\r\n'
  for (const size of SIZES) {
    const written = size.replace('#', FORM.length.toString(16))
    const zero = size.replace('#', '0')
    for (const newline of CHUNK_NEWLINES) {
      yield { what: `size ${written}`, headers, body: `${written}${newline}${FORM}\r\n${LAST}` }
      yield { what: `last size ${zero}`, headers, body: `${chunk(FORM)}${zero}${newline}${newline}` }
      yield { what: `end of chunk, ${written}`, headers, body: `${written}\r\n${FORM}${newline}${LAST}` }
    }
  }
  for (const newline of ['\n', '\r', '\r\r\n', '\n\r', '\0\r\n', ' \r\n', '\r\n\t']) {
    for (const variant of placed('Transfer-Encoding: chunked')) yield { ...variant, newline }
  }
  for (const version of ['HTTP/1.0', 'HTTP/0.9', 'HTTP/1.2', 'HTTP/2.0', '']) {
    for (const variant of placed('Transfer-Encoding: chunked')) yield { ...variant, version }
  }
  for (const trailer of ['Content-Length: 0', 'Transfer-Encoding: chunked', 'Host: evil', ' x', 'X: y\n\n', 'X\r: y']) {
    yield { what: `trailer ${trailer}`, headers, body: `${chunk(FORM)}0\r\n${trailer}\r\n\r\n` }
  }
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
  // Sent in two pieces, because packets have no meaning.
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
  if (refused && own.headers.get('connection') === 'close' && reached + probed > 0) wrong.push('refused, and sent')
  if (own && own.status < 400 && reached === 0) wrong.push(`answered ${own.status}, and not sent`)
  if (replies.length === 2 && probed === 0) wrong.push('a reply to nothing')
  if (notJson(replies.filter((reply) => !reply.headers.has('sandbox'))).length > 0)
    wrong.push('a refusal that is not JSON')
  return wrong.map(
    (mistake) => `${JSON.stringify(variant.what)} ${toService ? 'to the service' : 'to a form'}: ${mistake}`,
  )
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
  // The harness sees what is sent: some variants are good requests, and so are the probes behind them.
  expect(gateway.sandbox.requests.filter(({ path }) => path === '/v2/probe').length).toBeGreaterThan(sent.length / 25)
})
