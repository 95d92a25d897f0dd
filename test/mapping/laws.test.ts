/** Promise: each field is accounted for once, and no text from the service is harmful (contract, sections 4 and 8). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { version1 } from '../../src/calls/read-request.ts'
import type { CompiledAction } from '../../src/language/mapping/compile.ts'
import { explainReplyTranslation, explainRequestTranslation } from '../../src/language/mapping/explain.ts'
import { type Entry, looseName, NOT_FLAT } from '../../src/language/mapping/fields.ts'
import { type Draft, parsePlace, putAt, valueAt } from '../../src/language/mapping/paths.ts'
import type { KnownFacts } from '../../src/language/mapping/request.ts'
import { placesOf } from '../../src/language/mapping/row-parts.ts'
import { isStructure } from '../../src/language/text/json.ts'
import { SETTINGS } from '../events/office.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

const RUNS = runs(80, 400)
const settings = { ...SETTINGS, send_quote_id: true }

const { actions } = await loadMappings()

/** Values of a field, valid and invalid, trimmed as in a body. */
const written = fc.oneof(
  fc.constantFrom('10314', '2134', '02134-1234', 'K1A 0B1', 'OPEN AUTO', 'enclosed auto', 'BOX TRUCK', 'SUV'),
  fc.constantFrom('(214) 555-0000 x1', '+1 214 555 0000', 'none', 'TX', 'new york', 'Nowhere', '2023', '1885'),
  fc.constantFrom('1FDXE4FN9PDD32477', 'S1047B', 'Pat~2145550000~~~pat@example.com', "it's", '$&'),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.trim() || 'x'),
)
const value = fc.oneof({ weight: 8, arbitrary: written }, fc.constant(null), fc.constant<typeof NOT_FLAT>(NOT_FLAT))

const respelled = (name: string) =>
  fc.constantFrom(name, name.toLowerCase(), name.toUpperCase(), name.replace(/\.$/, ''), name.replace(/\.$/, '_'))

/** Fields of an action in every spelling, some of them twice, and unknown names. */
const entriesOf = ({ fields }: CompiledAction): fc.Arbitrary<Entry[]> => {
  const known = fc.constantFrom(...fields.names).chain(respelled)
  const unknown = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'toString', 'Foo', 'PickupPhNo..'), fc.string())
  const name = fc.oneof({ weight: 9, arbitrary: known }, { weight: 1, arbitrary: unknown })
  return fc.array(fc.tuple(name, value), { maxLength: 40 })
}

const someFacts: fc.Arbitrary<KnownFacts | undefined> = fc.option(
  fc
    .subarray(['pickup', 'transport_type', 'vehicle_type', 'customer_name', 'contact_name', 'address', 'quote_id'])
    .map((names) => Object.fromEntries([['zipcode', 2134], ...names.map((name) => [name, `the ${name}`])])),
  { nil: undefined },
)

/** Strings that no service should send. */
const strange = fc.oneof(
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('\r\nA: b', '\x1b[31m', '\ud83d', '\u2028', '\u202e', 'x'.repeat(30_000), '🚚'.repeat(5_000)),
)

/** Bodies with known and unknown places, whose values are of any shape. */
const repliesOf = ({ action }: CompiledAction): fc.Arbitrary<unknown> => {
  const places = action.reply.flatMap((row) => (row.kind === 'fixed' ? [] : placesOf(row)))
  const unknown = ['broker', 'pickup.floor', 'vehicles[0].wheels', 'vehicles[1].vin', 'documents[0].id']
  const values = fc.oneof(written, strange, fc.integer(), fc.jsonValue())
  const filled = fc.dictionary(fc.constantFrom(...places, 'number', 'status', ...unknown), values, { maxKeys: 30 })
  return fc.oneof({ weight: 4, arbitrary: filled.map(bodyOf) }, fc.jsonValue())
}

function bodyOf(said: Readonly<Record<string, unknown>>): Draft {
  const body: Draft = {}
  for (const [place, value] of Object.entries(said)) {
    const path = parsePlace(place) ?? []
    const holders = path.map((_, depth) => valueAt(body, path.slice(0, depth)))
    // There may already be a part as text.
    if (holders.every((holder) => holder === undefined || isStructure(holder))) putAt(body, path, value)
  }
  return body
}

/** The paths of the leaves of a body; empty objects and lists are leaves. */
function leavesOf(value: unknown, path = ''): readonly string[] {
  // A copy has no holes.
  const parts = isStructure(value) ? Object.entries(Array.isArray(value) ? [...value] : value) : []
  if (parts.length === 0) return path === '' ? [] : [path]
  const place = (part: string) => (Array.isArray(value) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`)
  return parts.flatMap(([part, below]) => leavesOf(below, place(part)))
}

const sorted = (names: Iterable<string>) => [...names].sort()

describe.each([...actions])('laws of %s', (_name, compiled) => {
  test('each sent field and each leaf of the body is explained once and correctly, and an explained run equals a plain one', () => {
    const law = fc.property(entriesOf(compiled), someFacts, (entries, facts) => {
      const { fields } = version1(compiled, entries)
      const account = explainRequestTranslation(compiled, fields, settings, facts)
      const documented = new Map(compiled.fields.names.map((name) => [looseName(name), name]))
      const sent = new Set(entries.map(([name]) => documented.get(looseName(name)) ?? name))
      const told = [
        ...new Set(account.fields.flatMap(({ from }) => from)),
        ...account.unused.map(({ field }) => field),
        ...account.unknown,
      ]
      expect(sorted(told)).toEqual(sorted(sent))
      for (const { why } of account.unused) expect(why).not.toBe('')

      const paths = leavesOf(account.body)
      expect(sorted(account.fields.map(({ to }) => to))).toEqual(sorted(paths))
      for (const { to, after } of account.fields) expect(valueAt(account.body, parsePlace(to) ?? [])).toBe(after)

      const plain = compiled.request(fields, { settings, facts })
      expect(JSON.stringify(account.body)).toBe(JSON.stringify(plain.body))
      expect(account.problems).toEqual(plain.problems)
      for (const { field, message } of plain.problems) {
        expect(compiled.fields.names).toContain(field)
        expect(message.startsWith(field)).toBe(true)
      }
    })
    expectLaw(law, RUNS)
  })

  test('each leaf of a reply is reported once, as used, unused or unknown, and every text is harmless and bounded', () => {
    const law = fc.property(repliesOf(compiled), (body) => {
      const { reply, fields, unused, unknown } = explainReplyTranslation(compiled, body, settings, undefined)
      const used = new Set(fields.flatMap(({ from }) => from))
      const paths = leavesOf(body)
      const told = paths.filter((path) => used.has(path))
      expect(sorted([...told, ...unused.map(({ field }) => field), ...unknown])).toEqual(sorted(paths))
      expect(sorted(fields.map(({ to }) => to))).toEqual(sorted(Object.keys(reply)))
      for (const text of Object.values(reply)) {
        expect(text).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u)
        expect(text.isWellFormed()).toBe(true)
        expect(text.length).toBeLessThanOrEqual(4096)
      }
    })
    expectLaw(law, 2 * RUNS)
  })
})
