import { scalarText } from '../text/json.ts'
import { FIELD_LIMIT, MESSAGE_LIMIT, shownText } from '../text/service-text.ts'
import { type Codec, Failed } from './codec.ts'
import { placeOf, valueAt } from './paths.ts'
import type { Explanation, ValueOrigin } from './request.ts'
import type { Row, Sentence, Settings } from './row.ts'
import { fieldsOf, placesOf } from './row-parts.ts'

/** One run of an action's reply rows over one of the service's replies. */
interface ReplyRun {
  /** The service's body, parsed, of any shape. */
  readonly body: unknown
  /** The caller's own number for the thing, if it has one. */
  readonly own: string | undefined
  readonly settings: Settings
  /** The version-1 reply, in the order of the rows. */
  readonly reply: Record<string, string>
  /** Required places that the service did not fill. */
  readonly missing: string[]
  /** Places with a value that no codec can read; a message treats them as absent. */
  readonly unreadable: string[]
  readonly explanations: Explanation[] | undefined
}

type ReplyStep = (run: ReplyRun) => void

/** The context of a reply's translation. */
interface ReplyContext {
  readonly settings: Settings
  /** The caller's own number for the thing. */
  readonly own: string | undefined
  /** Receives explanations; absent in a real call. */
  readonly explanations?: Explanation[] | undefined
}

/** A translated reply. */
interface ReplyTranslation {
  readonly reply: Readonly<Record<string, string>>
  /** Required places that the service did not fill. */
  readonly missing: readonly string[]
}

/** Translates the service's body, whatever its shape. */
type TranslateReply = (body: unknown, context: ReplyContext) => ReplyTranslation

/**
 * Compiles a reply's rows once. A request's row runs backwards here. A row that may be absent is left out if the body has none of its
 * places.
 */
export function compileReply(rows: readonly Row[], mayBeAbsent: (row: Row) => boolean = () => false): TranslateReply {
  const steps = rows.flatMap((row) => {
    const step = compileRow(row)
    if (!step || !mayBeAbsent(row)) return step ?? []
    const places = placesOf(row).map(placeOf)
    return (run: ReplyRun) => {
      if (places.some((place) => valueAt(run.body, place) !== undefined)) step(run)
    }
  })
  const blank = blankReply(rows, mayBeAbsent)
  return (body, { settings, own, explanations }) => {
    const run: ReplyRun = { body, own, settings, reply: { ...blank }, missing: [], unreadable: [], explanations }
    for (const step of steps) step(run)
    return run
  }
}

/**
 * Returns a reply with the fields that are always set, in the order of the rows, because an object that grows field by field is copied
 * again and again. A message may be absent, too, and ends the list.
 */
function blankReply(rows: readonly Row[], mayBeAbsent: (row: Row) => boolean): Readonly<Record<string, string>> {
  const blank: Record<string, string> = {}
  for (const row of rows) {
    if (row.kind === 'message' || mayBeAbsent(row)) break
    for (const field of fieldsOf(row)) blank[field] = ''
  }
  // V8 copies a parsed object as one block of memory.
  return JSON.parse(JSON.stringify(blank))
}

function compileRow(row: Row): ReplyStep | undefined {
  const rule = ruleName(row)
  switch (row.kind) {
    case 'move': {
      const place = placeOf(row.v2)
      const from = [row.v2]
      return (run) => {
        const before = valueAt(run.body, place)
        const isAbsent = absent(before)
        const text = isAbsent ? undefined : encode(row.codec, before, row.required)
        const after = text === undefined ? '' : shown(row.v1, text)
        if (after === '' && row.required) run.missing.push(row.v2)
        if (text === undefined && !isAbsent) run.unreadable.push(row.v2)
        answer(run, row.v1, after, text === undefined ? NOWHERE : from, before, rule, 'service')
      }
    }
    case 'split': {
      const parts = Object.entries(row.v2).map(([part, v2]) => ({ part, v2, place: placeOf(v2) }))
      return (run) => {
        const before: Record<string, string> = {}
        const from: string[] = []
        for (const { part, v2, place } of parts) {
          const text = asText(valueAt(run.body, place))
          if (text === '') continue
          before[part] = text
          from.push(v2)
        }
        const after = from.length === 0 ? '' : shown(row.v1, encoded(row.codec, before) ?? '')
        answer(run, row.v1, after, from, before, rule, 'service')
      }
    }
    case 'join': {
      const place = placeOf(row.v2)
      const from = [row.v2]
      return (run) => {
        const before = valueAt(run.body, place)
        const parts = absent(before) ? [] : row.joiner.split(asText(before))
        for (const [i, v1] of row.v1.entries()) {
          const after = shown(v1, parts[i] ?? '')
          answer(run, v1, after, after === '' ? NOWHERE : from, before, rule, 'service')
        }
      }
    }
    case 'callerNumber': {
      const place = placeOf(row.v2)
      const from = [row.v2]
      return (run) => {
        const theirs = valueAt(run.body, place)
        const own = run.settings.shipment_number === 'caller' ? run.own : undefined
        if (own === undefined) answer(run, row.v1, shown(row.v1, asText(theirs)), from, theirs, rule, 'service')
        else answer(run, row.v1, own, NOWHERE, theirs, rule, 'caller')
      }
    }
    case 'fixed':
      return (run) => answer(run, row.v1, row.value, NOWHERE, undefined, rule, 'fixed')
    case 'choose': {
      const place = placeOf(row.v2)
      const from = [row.v2]
      const cases = new Map(Object.entries(row.cases).map(([value, chosen]) => [value.toLowerCase(), chosen]))
      return (run) => {
        const before = valueAt(run.body, place)
        const after = cases.get(asText(before).trim().toLowerCase()) ?? row.default
        answer(run, row.v1, after, from, before, rule, 'service')
      }
    }
    case 'message': {
      const sentences = row.sentences.map(compileSentence)
      return (run) => {
        const texts = sentences.flatMap((sentence) => sentence(run) ?? [])
        if (texts.length === 0) return
        answer(run, row.v1, shown(row.v1, texts.join(' ')), NOWHERE, undefined, rule, 'fixed')
      }
    }
    case 'v2Only':
    case 'v1Only':
      return undefined
    case 'lookup':
    case 'fromQuote':
    case 'ref':
      throw new Error(`a ${row.kind} row cannot be used in a reply`)
    default:
      return row satisfies never
  }
}

function ruleName(row: Row): string {
  if (row.kind === 'move' || row.kind === 'split') return row.codec.name
  if (row.kind === 'join') return row.joiner.name
  return row.kind === 'callerNumber' ? 'number' : row.kind
}

function absent(value: unknown): value is undefined | null {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}

/** Returns a scalar as text; empty for blanks, and for an object or a list in its place. */
function asText(value: unknown): string {
  return absent(value) ? '' : (scalarText(value) ?? '')
}

/** Returns the service's text as the field may show it. */
function shown(v1: string, text: string): string {
  return shownText(text, v1 === 'Message' ? MESSAGE_LIMIT : FIELD_LIMIT)
}

/** Encodes a value. A value that the codec does not know is answered unchanged, because the service's lists grow. */
function encode(codec: Codec, value: unknown, strictly: boolean): string | undefined {
  // If a double would change a number's digits, the codec gets its text.
  const text = codec.encode(typeof value === 'object' ? (scalarText(value) ?? value) : value)
  if (!(text instanceof Failed)) return text
  return strictly || codec.passThroughUnknown === false ? undefined : asText(value)
}

/** Encodes a value; returns undefined for one that is not one of the codec's. */
export function encoded(codec: Codec, value: unknown): string | undefined {
  const text = codec.encode(value)
  return text instanceof Failed ? undefined : text
}

const PLACEHOLDER = /\{([^}]+)\}/g
/** The longest value that a sentence quotes, because the rest of the message has to fit as well. */
const QUOTED_LIMIT = 128

function compileSentence({ text, when }: Sentence): (run: ReplyRun) => string | undefined {
  const condition = when && { ...when, place: placeOf(when.v2) }
  // Every second part is the inside of a placeholder.
  const parts = text.split(PLACEHOLDER).map((part, nth) => {
    if (nth % 2 === 0) return () => part
    const places = part.split('|').map(placeOf)
    return ({ body, reply }: ReplyRun): string => {
      if (Object.hasOwn(reply, part)) return quoted(reply[part])
      for (const place of places) {
        const value = quoted(valueAt(body, place))
        if (value !== '') return value
      }
      return ''
    }
  })
  return (run) => {
    const { body, unreadable } = run
    if (condition) {
      const value = valueAt(body, condition.place)
      const isPresent = quoted(value) !== '' && !unreadable.includes(condition.v2)
      if (condition.is === 'present' && !isPresent) return undefined
      if (condition.is === 'absent' && isPresent) return undefined
      if (condition.is === 'several' && !(Array.isArray(value) && value.length > 1)) return undefined
    }
    return parts.map((part) => part(run)).join('')
  }
}

const quoted = (value: unknown): string => shownText(asText(value), QUOTED_LIMIT).trim()

const NOWHERE: readonly string[] = []

/** Sets a field of the reply, and explains it. */
function answer(
  run: ReplyRun,
  to: string,
  after: string,
  from: readonly string[],
  before: unknown,
  rule: string,
  origin: ValueOrigin,
): void {
  run.reply[to] = after
  run.explanations?.push({
    to,
    from,
    ...(from.length > 0 && { before }),
    after,
    rule,
    origin,
  })
}
