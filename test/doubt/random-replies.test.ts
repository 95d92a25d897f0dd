import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { UpstreamReply, UpstreamRequest } from '../../src/service/exchange.ts'
import { runs, SAMPLE_SEED } from '../size.ts'
import { type CallName, callNames, doubt, type Reply } from './calls.ts'

/*
 * Replies by a grammar: what the service would have answered, cut, wrapped, renamed and filled with strange values, under
 * any status. In every case, nothing is written without a whole read, no call ends in a fault of the gateway, and no
 * control character comes out.
 */

type Json = unknown

const strange = fc.constantFrom(
  '',
  ' ',
  '..',
  'a\r\nSet-Cookie: x=1',
  '\u001b[2J\u001b]0;x\u0007',
  '\u2028\u2029\u0085',
  '\u202egnp.exe',
  '\ud83d',
  '\udc00tail',
  '😀'.repeat(300),
  'x'.repeat(5_000),
  '../../v2/shipments',
  '%00%0d%0a',
  '__proto__',
  'canceled',
  'false',
  '12345678901234567890',
)
const number = fc.constantFrom('0', '-0', '1e400', '12345678901234567890', '1.00499999999999999999', '-1', '0.1e-7')
const leaf: fc.Arbitrary<string> = fc.oneof(
  strange.map((text) => JSON.stringify(text)),
  fc.string().map((text) => JSON.stringify(text)),
  number,
  fc.constantFrom('true', 'false', 'null', '[]', '{}', '[[]]', '{"error":"x"}'),
)

/** A value as JSON text, for numbers whose digits a double would change. */
const value: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }).map((list) => `[${list.join()}]`),
    fc
      .array(
        fc.tuple(
          fc.oneof(fc.constantFrom('id', 'status', 'price', 'vehicles', '__proto__'), fc.string()),
          tie('value'),
        ),
        {
          maxLength: 3,
        },
      )
      .map((members) => `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`),
  ),
})).value

const KEYS = [
  ...['id', 'shipment_id', 'quote_id', 'number', 'external_id', 'status', 'price'],
  ...['success', 'ok', 'error', 'errors', 'message', 'vehicles', 'pickup', 'delivery', 'customer', '__proto__'],
] as const

/** One change of a reply's body. */
type Change =
  | { readonly kind: 'set'; readonly key: string; readonly text: string }
  | { readonly kind: 'drop'; readonly key: string }
  | { readonly kind: 'wrap'; readonly key: string | undefined }
  | { readonly kind: 'cut'; readonly share: number }
  | { readonly kind: 'replace'; readonly text: string }
  | { readonly kind: 'append'; readonly text: string }

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('set'), key: fc.constantFrom(...KEYS), text: value }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('drop'), key: fc.constantFrom(...KEYS) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('wrap'), key: fc.constantFrom('data', 'shipment', 'id', undefined) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cut'), share: fc.double({ min: 0, max: 1, noNaN: true }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('replace'), text: fc.oneof(value, fc.string()) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('append'), text: fc.oneof(value, fc.string()) }) },
)

const status = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(200, 201, 202, 204) },
  { weight: 2, arbitrary: fc.integer({ min: 200, max: 599 }).filter((one) => ![502, 503, 504].includes(one)) },
)
const headers = fc.constantFrom<Readonly<Record<string, string>>>(
  {},
  { etag: '"1"' },
  { 'retry-after': '3' },
  { 'retry-after': 'soon' },
  { 'content-type': 'text/html' },
)

const sample = fc.record({
  name: fc.constantFrom(...callNames),
  status,
  headers,
  changes: fc.array(change, { minLength: 0, maxLength: 4 }),
})

/** Applies a change to the text of a body. Members are written as text, because a double would change their numbers. */
function changed(text: string, one: Change): string {
  switch (one.kind) {
    case 'set':
      return text.startsWith('{') ? `{${JSON.stringify(one.key)}:${one.text},${without(text, one.key).slice(1)}` : text
    case 'drop':
      return without(text, one.key)
    case 'wrap':
      return one.key === undefined ? `[${text}]` : `{${JSON.stringify(one.key)}:${text}}`
    case 'cut':
      return text.slice(0, Math.floor(text.length * one.share))
    case 'replace':
      return one.text
    case 'append':
      return text + one.text
    default:
      return one satisfies never
  }
}

function without(text: string, key: string): string {
  const body = parsed(text)
  if (!isObject(body)) return text
  return JSON.stringify(Object.fromEntries(Object.entries(body).filter(([name]) => name !== key)))
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (body: Json): body is Readonly<Record<string, Json>> =>
  typeof body === 'object' && body !== null && !Array.isArray(body)

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u
const MESSAGE_LIMIT = 500
const FIELD_LIMIT = 4_096

/** Nothing that the service says comes out raw, or without end. */
function expectPlain({ json, headers }: Awaited<ReturnType<typeof doubt>>['answer']): void {
  for (const [name, text] of Object.entries(json)) {
    expect(text).not.toMatch(CONTROL)
    expect(text.isWellFormed()).toBe(true)
    expect(text.length).toBeLessThanOrEqual(name === 'Message' ? MESSAGE_LIMIT : FIELD_LIMIT)
  }
  for (const text of Object.values(headers)) expect(text).toMatch(/^[\x20-\x7e]{0,1200}$/)
}

/** A read that an update may be based on: the whole shipment, with its id. */
function expectWholeRead(reply: Reply, put: UpstreamRequest): void {
  expect(reply.status).toBeGreaterThanOrEqual(200)
  expect(reply.status).toBeLessThan(300)
  const read = parsed(String(reply.body))
  expect(read).toMatchObject({ id: expect.any(String), pickup: expect.anything(), vehicles: expect.any(Array) })
  const written = parsed(put.body ?? '')
  if (!isObject(read) || !isObject(written)) throw new Error('The read or the update is no object.')
  expect(put.path.toLowerCase()).toBe(`/v2/shipments/${String(read['id']).trim().toLowerCase()}`)
  const idsOf = (list: Json) => (Array.isArray(list) ? list.map((entry) => isObject(entry) && entry['id']) : [])
  const ids = idsOf(read['vehicles']).filter((id) => id !== undefined)
  expect(idsOf(written['vehicles'])).toEqual(expect.arrayContaining(ids))
}

/** Replies tried; `TRANSLOAD_RUNS=100000` tries more by hand. */
const RUNS = runs(1_000, 8_000)

test('no reply of the service makes the gateway fail, lie or destroy', async () => {
  const seen = new Map<CallName, number>()
  await fc.assert(
    fc.asyncProperty(sample, async ({ name, status, headers, changes }) => {
      let reply: Reply | undefined
      const outcome = await doubt(name, (own: UpstreamReply) => {
        reply = { status, headers, body: changes.reduce(changed, own.body.toString()) }
        return reply
      })
      const { answer, requests } = outcome
      seen.set(name, (seen.get(name) ?? 0) + 1)
      expect(answer.status).not.toBe(500)
      expect(answer.json['Message'] ?? 'none').not.toBe('')
      expectPlain(answer)
      const put = requests.slice(1).find(({ method }) => method === 'PUT')
      if (put && reply && name !== 'update') expectWholeRead(reply, put)
      if (name === 'cancellation not made') expect(answer.status).not.toBe(200)
      // The same call again is answered, too.
      const again = await outcome.again()
      expect(again.status).not.toBe(500)
      expectPlain(again)
      // By its status, a refusal proves that nothing was booked.
      const isRefusal = status >= 400 && status < 500
      if (name === 'booking' && !isRefusal) expect(outcome.shipments()).toBe(1)
    }),
    { numRuns: RUNS, ...SAMPLE_SEED },
  )
  expect(seen.size).toBe(callNames.length)
}, 1_800_000)
