/** Promise: no reply of the service makes the gateway fail, lie or destroy (contract, section 9). */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { WholeAnswer } from '../gateway.ts'
import { runs, SAMPLE_SEED } from '../size.ts'
import type { Answer } from '../stand-in/faults.ts'
import type { RecordedRequest } from '../stand-in/stand-in.ts'
import { callNames, openDoubted } from './doubted.ts'

/*
 * The replies are the service's own, but cut, wrapped, renamed and filled with strange values, with any status.
 */

const strange = fc.constantFrom(
  ...['', ' ', '..', 'a\r\nSet-Cookie: x=1', '\u001b[2J\u001b]0;x\u0007', '\u2028\u2029\u0085', '\u202egnp.exe'],
  ...['\ud83d', '\udc00tail', '😀'.repeat(300), 'x'.repeat(5_000), '../../v2/shipments', '%00%0d%0a', '__proto__'],
  ...['canceled', 'false', '12345678901234567890'],
)
const number = fc.constantFrom('0', '-0', '1e400', '12345678901234567890', '1.00499999999999999999', '-1', '0.1e-7')
/** A value as JSON text, for numbers whose digits a double would change. */
const value = fc.oneof(
  strange.map((text) => JSON.stringify(text)),
  number,
  fc.constantFrom('[[]]', '{"error":"x"}', '{"id":"..","__proto__":{"status":"canceled"}}'),
  fc.json({ maxDepth: 2 }),
)

const change = fc.record({
  kind: fc.constantFrom('set', 'set', 'set', 'set', 'drop', 'drop', 'wrap', 'cut', 'replace', 'append'),
  key: fc.constantFrom(
    ...['id', 'shipment_id', 'quote_id', 'number', 'external_id', 'status', 'price', 'data', 'shipment'],
    ...['success', 'ok', 'error', 'errors', 'message', 'vehicles', 'pickup', 'delivery', 'customer', '__proto__'],
  ),
  text: value,
  share: fc.double({ min: 0, max: 1, noNaN: true }),
})

/** Applies a change to the text of a body. Members are written as text, because a double would change their numbers. */
function changed(body: string, { kind, key, text, share }: typeof change extends fc.Arbitrary<infer C> ? C : never) {
  const others = () => JSON.stringify({ ...parsed(body), [key]: undefined })
  const isObject = Object.keys(parsed(body)).length > 0
  switch (kind) {
    case 'set':
      return isObject ? `{${JSON.stringify(key)}:${text},${others().slice(1)}` : body
    case 'drop':
      return isObject ? others() : body
    case 'wrap':
      return key === 'id' ? `[${body}]` : `{${JSON.stringify(key)}:${body}}`
    case 'cut':
      return body.slice(0, Math.floor(body.length * share))
    default:
      return kind === 'append' ? body + text : text
  }
}

/** The members of an object in a text; none if there is no object. */
function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return { ...JSON.parse(text) }
  } catch {
    return {}
  }
}

const status = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(200, 201, 202, 204) },
  // Other statuses cause retries and open the circuit.
  { weight: 2, arbitrary: fc.integer({ min: 200, max: 599 }).filter((one) => ![502, 503, 504].includes(one)) },
)
const headers = fc.constantFrom<Readonly<Record<string, string>>>(
  ...[{}, { etag: '"1"' }, { 'retry-after': '3' }, { 'retry-after': 'soon' }, { 'content-type': 'text/html' }],
)
const name = fc.constantFrom(...callNames)
const sample = fc.record({ name, status, headers, changes: fc.array(change, { maxLength: 4 }) })

/** No text of the service is shown raw or without a limit, and no call ends in a fault of the gateway. */
function expectPlain({ status: answered, json, headers: told }: WholeAnswer): void {
  expect(answered).not.toBe(500)
  expect(json.Message).not.toBe('')
  for (const [field, text] of Object.entries<string>(json)) {
    expect(text).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
    expect(text.isWellFormed()).toBe(true)
    expect(text.length).toBeLessThanOrEqual(field === 'Message' ? 500 : 4_096)
  }
  for (const text of told.values()) expect(text).toMatch(/^[\x20-\x7e]{0,1200}$/)
}

/** An update is based on a whole shipment, with its id, and keeps the ids of its parts. */
function expectWholeRead(reply: Answer, put: RecordedRequest): void {
  expect(Math.floor(reply.status / 100)).toBe(2)
  const read = parsed(String(reply.body))
  expect(read).toMatchObject({ id: expect.any(String), pickup: expect.anything(), vehicles: expect.any(Array) })
  expect(put.path.toLowerCase()).toBe(`/v2/shipments/${String(read['id']).trim().toLowerCase()}`)
  const idsOf = (list: unknown) => [list].flat().flatMap((entry) => Object(entry)['id'] ?? [])
  expect(idsOf(parsed(put.body)['vehicles'])).toEqual(expect.arrayContaining(idsOf(read['vehicles'])))
}

/** The number of replies; `TRANSLOAD_RUNS=100000` tries more by hand. */
const RUNS = runs(60, 8_000)

test('no reply of the service makes the gateway fail, lie or destroy', { timeout: 1_800_000 }, async () => {
  const doubt = await openDoubted()
  await fc.assert(
    fc.asyncProperty(sample, async ({ name, status, headers, changes }) => {
      let reply: Answer | undefined
      const outcome = await doubt(name, ({ body }) => {
        reply = { status, headers, body: changes.reduce(changed, String(body)) }
        return reply
      })
      expectPlain(outcome.answer)
      const put = outcome.next.find(({ method }) => method === 'PUT')
      if (put && reply && name !== 'update') expectWholeRead(reply, put)
      if (name === 'cancellation not made') expect(outcome.answer.status).not.toBe(200)
      // The same call again is answered, too.
      expectPlain(await outcome.again())
      // By its status, a refusal proves that nothing was booked.
      if (name === 'booking' && !(status >= 400 && status < 500)) expect(outcome.shipments()).toBe(1)
    }),
    { numRuns: RUNS, ...SAMPLE_SEED },
  )
})
