import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { lettersAndDigits } from '../../src/language/mapping/codec.ts'
import { indexFields } from '../../src/language/mapping/fields.ts'
import { compileLookup } from '../../src/language/mapping/lookup.ts'
import { type Draft, parsePlace, putAt, valueAt } from '../../src/language/mapping/paths.ts'
import { compileReply } from '../../src/language/mapping/reply.ts'
import { compileRequest } from '../../src/language/mapping/request.ts'
import type { Row } from '../../src/language/mapping/row.ts'
import { fieldsOf, keepsOf, placesOf } from '../../src/language/mapping/row-parts.ts'
import { shownText } from '../../src/language/text/service-text.ts'
import { SAMPLE_SEED } from '../size.ts'

/*
 * The laws of the classes of rows. A row runs alone: `put` from version 1 to version 2, `get` back.
 */

/** The fields of one row, absent ones left out. */
type Fields = Readonly<Record<string, string>>

const tables = new Map([['vehicle_types', compileLookup({ TRUCK: 'truck', 'BOX TRUCK': 'truck_ext' })]])
const settings = {
  transport_type: 'open',
  vehicle_type: 'car',
  shipment_number: 'service',
  send_quote_id: true,
} as const

/** Returns the body of a request with these fields; undefined if the row refuses one, or all count as absent. */
function put(row: Row, fields: Fields): Draft | undefined {
  const index = indexFields(fieldsOf(row))
  const values = index.names.map((name) => fields[name])
  const run = {
    values,
    facts: undefined,
    settings,
    body: {},
    problems: [],
    notes: [],
    sent: [],
    explanations: undefined,
  }
  for (const step of compileRequest([withoutFallbacks(row)], index, tables)) step(run)
  return run.problems.length === 0 && Object.keys(run.body).length > 0 ? run.body : undefined
}

/** A fallback fills a place that the caller did not send: it is no part of a round trip. */
const withoutFallbacks = (row: Row): Row =>
  row.kind === 'move' ? { ...row, fallbacks: [] } : row.kind === 'lookup' ? { ...row, fallbacks: [] } : row

/** Returns the fields of a reply with this body; blank ones are absent. */
function get(row: Row, body: Draft): Fields {
  const reply: Record<string, string> = {}
  for (const step of compileReply([row])) {
    step({ body, own: undefined, settings, reply, missing: [], unreadable: [], explanations: undefined })
  }
  return Object.fromEntries(Object.entries(reply).filter(([, text]) => text.trim() !== ''))
}

/** One text, as each of the codecs reads it, or as none does. */
const digits = (most: number) => fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: most })
const word = fc.string({ unit: fc.constantFrom(...'ABCDEFGHXYZabcxyz ,.-~@ß'), minLength: 1, maxLength: 12 })
const anyText: fc.Arbitrary<string> = fc
  .oneof(
    fc.string({ unit: 'grapheme', maxLength: 20 }),
    word,
    digits(12),
    fc.stringMatching(/^\d{5}( ?[-–] ?\d{4})?$/),
    fc.stringMatching(/^\d{3,4}$/),
    fc.stringMatching(/^(\+1 ?)?\(?[2-9]\d\d\)?[ -]?\d{3}-\d{4}( ?(x|ext\.?|#) ?\d{1,4})?$/),
    fc.stringMatching(/^(19|20)\d\d(\.0)?$/),
    fc.stringMatching(/^\$?\d{1,3}(,\d{3}){0,2}(\.\d{1,4})?$/),
    fc.stringMatching(/^\d{1,4}\.\d\d[1-9]$/),
    fc.stringMatching(/^[A-HJ-NPR-Z0-9]{16,17}$/),
    fc.constantFrom('TX', 'ny', 'New York', 'texas', 'D.C.', 'OPEN AUTO', 'open_auto', 'Enclosed  Auto', 'BOX TRUCK'),
    fc
      .tuple(word, digits(10), fc.constantFrom('', 'pat@example.com', 'a@b'), fc.constantFrom('', 'x', 'other words'))
      .map(([name, phone, email, rest]) => [name, phone, rest, '', email].join('~')),
  )
  .map((text) => shownText(text, 200).trim())
  .filter((text) => text !== '')

/** Fields of a row; the second of several may be absent. */
const someFields = (row: Row): fc.Arbitrary<Fields> => {
  const [first, ...rest] = fieldsOf(row)
  return fc
    .record(Object.fromEntries(fieldsOf(row).map((name) => [name, anyText])) as Record<string, fc.Arbitrary<string>>, {
      requiredKeys: first === undefined ? [] : rest.length > 0 ? [] : [first],
    })
    .map((fields) => Object.fromEntries(Object.entries(fields)))
}

/** One trial: the fields that are put, and others whose parts the service may hold beside them. */
interface Trial {
  readonly row: Row
  readonly fields: Fields
  readonly others: Fields
}

/** Chooses a rule first: most rows only leave a field out. */
const trials = (rows: readonly Row[]): fc.Arbitrary<Trial> =>
  fc
    .constantFrom(...Map.groupBy(rows, ruleOf).values())
    .chain((some) => fc.constantFrom(...some))
    .chain((row) => fc.record({ row: fc.constant(row), fields: someFields(row), others: someFields(row) }))

/** Returns the first breach of a class's law by these rows, after so many generated values; undefined if there is none. */
export function wrongClass(rows: readonly Row[], numRuns: number): string | undefined {
  const losses = new Map<Row, boolean>()
  const law = fc.property(trials(rows), (trial) => {
    const breach = breachOf(trial, () => losses.set(trial.row, true))
    if (breach !== undefined) throw new Error(`${nameOf(trial.row)}: ${breach}`)
  })
  const { failed, errorInstance, counterexample } = fc.check(law, { numRuns, ...SAMPLE_SEED })
  if (failed) {
    const said = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
    return `${said}; put ${JSON.stringify(counterexample?.[0]?.fields)} beside ${JSON.stringify(counterexample?.[0]?.others)}`
  }
  // A codec is tried in many rows; in one of them its loss must show.
  const showed = new Set([...losses.keys()].map(ruleOf))
  const idle = rows.find((row) => isLossy(row) && !showed.has(ruleOf(row)))
  return idle && `${nameOf(idle)}: is declared as lossy, and nothing was lost in ${numRuns} round trips`
}

const isLossy = (row: Row) => keepsOf(row)?.class === 'lossy' && row.kind !== 'v1Only' && row.kind !== 'v2Only'
const ruleOf = (row: Row) => ('codec' in row ? row.codec.name : 'joiner' in row ? row.joiner.name : row.kind)
const nameOf = (row: Row) => `${row.kind} ${[...fieldsOf(row), ...placesOf(row)].join(' ')}`

function breachOf({ row, fields, others }: Trial, sawLoss: () => void): string | undefined {
  const keeps = keepsOf(row)
  if (!keeps) return undefined
  if (keeps.class === 'oneWay') return waysBack(row, fields)
  if (row.kind === 'v1Only') return put(row, fields) && 'a field that is left out was put'
  if (row.kind === 'v2Only') return Object.keys(get(row, bodyWith(row, fields))).length > 0 ? 'it was shown' : undefined

  const body = put(row, fields)
  if (!body) return undefined
  const back = get(row, body)
  const again = put(row, back)
  const mixed = mix(row, body, put(row, others))
  const mixedAgain = put(row, get(row, mixed))
  switch (keeps.class) {
    case 'exact':
      if (!isDeepStrictEqual(back, fields)) return `put ${show(fields)}, got ${show(back)}`
      if (!isDeepStrictEqual(mixedAgain, mixed)) return `had ${show(mixed)}, was put back as ${show(mixedAgain)}`
      return undefined
    case 'canonical': {
      const sense = keeps.sense ?? lettersAndDigits
      if (!isDeepStrictEqual(mapped(back, sense), mapped(fields, sense))) return `${show(fields)} became ${show(back)}`
      if (!isDeepStrictEqual(again, body)) return `had ${show(body)}, was put back as ${show(again)}`
      if (!isDeepStrictEqual(mixedAgain, mixed)) return `had ${show(mixed)}, was put back as ${show(mixedAgain)}`
      return again && isDeepStrictEqual(get(row, again), back) ? undefined : `${show(back)} is not the only form`
    }
    case 'lossy': {
      const sense = keeps.sense ?? lettersAndDigits
      const lost = !isDeepStrictEqual(mapped(back, sense), mapped(fields, sense))
      if (lost || !isDeepStrictEqual(mixedAgain, mixed)) sawLoss()
      return lost ? unremarked(row, fields) : undefined
    }
    default:
      return keeps satisfies never
  }
}

/** A codec that can remark on losses remarks on each. */
function unremarked(row: Row, fields: Fields): string | undefined {
  if (!('codec' in row) || !row.codec.remark) return undefined
  const remark = row.codec.remark(fields[row.v1] ?? '')
  return remark?.loss === undefined ? `loses a part of ${show(fields)} without a remark` : undefined
}

/** A row of one direction is refused in the other. */
function waysBack(row: Row, fields: Fields): string | undefined {
  const compiles = [() => compileRequest([row], indexFields(fieldsOf(row)), tables), () => compileReply([row])].map(
    (compile) => {
      try {
        return compile().length > 0
      } catch {
        return false
      }
    },
  )
  if (compiles.every(Boolean)) return 'works in both directions'
  if (row.kind === 'ref' && put(row, fields)) return 'a name was put'
  return undefined
}

/** Returns a body with the even parts of one and the odd parts of another: the service may hold any. */
function mix(row: Row, one: Draft, other: Draft | undefined): Draft {
  const mixed: Draft = {}
  for (const [i, place] of placesOf(row).entries()) {
    const path = parsePlace(place) ?? []
    const value = valueAt(i % 2 === 0 ? one : (other ?? one), path)
    if (value !== undefined) putAt(mixed, path, value)
  }
  return mixed
}

function bodyWith(row: Row, fields: Fields): Draft {
  const body: Draft = {}
  for (const place of placesOf(row)) putAt(body, parsePlace(place) ?? [], Object.values(fields)[0] ?? 'x')
  return body
}

const mapped = (fields: Fields, sense: (text: string) => string) =>
  Object.fromEntries(Object.entries(fields).map(([name, text]) => [name, sense(text)]))

const show = (value: unknown) => JSON.stringify(value)
