import type { Codec } from './codec.ts'

/** One line of a mapping: a closed union of twelve kinds. */
export type Row = Move | Split | Join | Lookup | FromQuote | Ref | V1Only | V2Only | ReplyRow

/** The source of a place's value if the caller sent nothing for it. A row tries its fallbacks in order. */
export type Fallback = QuoteFact | DefaultValue | Guess

/** An operator's default setting, which a dry run marks as assumed. */
interface DefaultValue {
  /** `assumedAgain`: only if the remembered quote assumed a default, too. */
  readonly kind: 'setting' | 'assumedAgain'
  readonly setting: DefaultSetting
}

/** A lookup in the row's table that is only a guess; a dry run marks it as assumed. */
interface Guess {
  readonly kind: 'guess'
  /** The fields whose values, joined together, are searched for a phrase. */
  readonly v1: readonly string[]
}

/** The first of these facts that the remembered quote has and did not merely assume. */
export interface QuoteFact {
  readonly kind: 'quoteFact'
  readonly facts: readonly string[]
}

/** One field to one place. */
export interface Move {
  readonly kind: 'move'
  readonly v1: string
  readonly v2: string
  readonly codec: Codec
  readonly required: boolean
  readonly fallbacks: readonly Fallback[]
}

interface MoveOptions {
  /**
   * In a request, the caller must send the field. In a reply, the service must fill the place.
   * @default false
   */
  readonly required?: boolean
  /** Tried in order when the field is absent. A dry run marks a setting as assumed. @default [] */
  readonly fallbacks?: readonly Fallback[]
}

/** Moves one field to one place, through a codec. */
export const move = (v1: string, v2: string, codec: Codec, options: MoveOptions = {}): Move => ({
  kind: 'move',
  v1,
  v2,
  codec,
  required: false,
  fallbacks: [],
  // Spread, not picked, because the check at the start must see unknown options.
  ...options,
})

/** The parts that a split's codec returns; an absent part is left out. */
export type Parts = Readonly<Record<string, string | undefined>>

/** One field to several places. */
interface Split {
  readonly kind: 'split'
  readonly v1: string
  /** Part of the codec's value → place. */
  readonly v2: Readonly<Record<string, string>>
  readonly codec: Codec<Parts>
}

/** Splits one field into several places, one for each part. */
export const split = (v1: string, v2: Readonly<Record<string, string>>, codec: Codec<Parts>): Split => ({
  kind: 'split',
  v1,
  v2,
  codec,
})

/** A named rule that joins several strings into one and splits it again. */
export interface Joiner {
  readonly name: string
  readonly summary: string
  readonly join: (parts: readonly string[]) => string
  readonly split: (text: string) => readonly string[]
}

/** Several fields to one place. */
export interface Join {
  readonly kind: 'join'
  readonly v1: readonly string[]
  readonly v2: string
  readonly joiner: Joiner
}

/** Joins several fields into one place; blank ones are left out. */
export const join = (v1: readonly string[], v2: string, joiner: Joiner): Join => ({ kind: 'join', v1, v2, joiner })

/** A place whose value comes from a lookup table, by the first field whose value the table knows. */
export interface Lookup {
  readonly kind: 'lookup'
  readonly sources: readonly LookupSource[]
  readonly v2: string
  readonly table: string
  readonly fallbacks: readonly Fallback[]
}

interface LookupSource {
  readonly v1: string
  /** `wholeValue`: the whole value is a phrase of the table. `phraseIn`: the value contains one. */
  readonly by: 'wholeValue' | 'phraseIn'
}

/** Looks up the whole value of a field. */
export const wholeValue = (v1: string): LookupSource => ({ v1, by: 'wholeValue' })
/** Looks up the longest phrase of a field that the table knows. */
export const phraseIn = (v1: string): LookupSource => ({ v1, by: 'phraseIn' })

/** Looks up a place's value in a named table. A field counts if the table knows none of those before it. */
export const lookup = (
  sources: readonly LookupSource[],
  v2: string,
  table: string,
  fallbacks: readonly Fallback[] = [],
): Lookup => ({ kind: 'lookup', sources, v2, table, fallbacks })

/** A place that version 1 has no field for, filled from the remembered quote. */
interface FromQuote {
  readonly kind: 'fromQuote'
  readonly v2: string
  readonly fallbacks: readonly Fallback[]
  /** Only if the operator has switched this on. */
  readonly onlyWith?: SwitchSetting
}

interface FromQuoteOptions {
  /** Tried in order when no quote is remembered; without one, the place is left out. @default [] */
  readonly fallbacks?: readonly Fallback[]
  readonly onlyWith?: SwitchSetting
}

/** Fills a place from a fact of the remembered quote. */
export const fromQuote = (v2: string, fact: string, options: FromQuoteOptions = {}): FromQuote => ({
  kind: 'fromQuote',
  v2,
  ...options,
  fallbacks: [quoteFact(fact), ...(options.fallbacks ?? [])],
})

/** A field that names a quote or a shipment and goes nowhere else. */
interface Ref {
  readonly kind: 'ref'
  readonly v1: string
  readonly why: string
}

/** Declares a field that only names something; the cross-reference resolves or records it. */
export const ref = (v1: string, why: string): Ref => ({ kind: 'ref', v1, why })

/** A field that version 2 has no place for. */
interface V1Only {
  readonly kind: 'v1Only'
  readonly v1: string
  readonly why: string
}

/** Declares fields that only version 1 has, and why leaving them out loses nothing. */
export const v1Only = (v1: readonly string[], why: string): readonly V1Only[] =>
  v1.map((field) => ({ kind: 'v1Only', v1: field, why }))

/** A place that version 1 has no field for. */
interface V2Only {
  readonly kind: 'v2Only'
  readonly v2: string
  readonly why: string
  /** The service sets the place; an update must not send it. */
  readonly setByService: boolean
}

/** Declares places that only version 2 has, and why. A place includes everything below it. */
export const v2Only = (v2: readonly string[], why: string): readonly V2Only[] =>
  v2.map((place) => ({ kind: 'v2Only', v2: place, why, setByService: false }))

/** Declares places that only the service sets: read, never sent. */
export const setByService = (v2: readonly string[], why: string): readonly V2Only[] =>
  v2.map((place) => ({ kind: 'v2Only', v2: place, why, setByService: true }))

/** Falls back to the first of these facts that the remembered quote has. */
export const quoteFact = (...facts: readonly string[]): QuoteFact => ({ kind: 'quoteFact', facts })
/** Falls back to an operator's default setting; a dry run marks it as assumed. */
export const setting = (name: DefaultSetting): Fallback => ({ kind: 'setting', setting: name })
/** Falls back to today's default if the remembered quote assumed a default. */
export const assumedAgain = (name: DefaultSetting): Fallback => ({ kind: 'assumedAgain', setting: name })
/** Falls back to a phrase of these fields in the table of a lookup row; a dry run marks it as assumed. */
export const guess = (...v1: readonly string[]): Fallback => ({ kind: 'guess', v1 })

/** The rows that only a reply has. */
type ReplyRow = CallerNumber | FixedField | Choose | Message

/** A reply's field with the caller's own number, otherwise the service's. */
interface CallerNumber {
  readonly kind: 'callerNumber'
  readonly v1: string
  readonly v2: string
}

/** Answers the caller's own number for the thing, otherwise the service's. */
export const callerNumber = (v1: string, v2: string): CallerNumber => ({ kind: 'callerNumber', v1, v2 })

/** A reply's field that is always the same. */
interface FixedField {
  readonly kind: 'fixed'
  readonly v1: string
  readonly value: string
}

/** Always answers the same value. */
export const fixed = (v1: string, value: string): FixedField => ({ kind: 'fixed', v1, value })

/** A reply's field that depends on a place's value and cannot be reversed. */
interface Choose {
  readonly kind: 'choose'
  readonly v1: string
  readonly v2: string
  readonly cases: Readonly<Record<string, string>>
  /** The answer for every other value, and for none. */
  readonly default: string
}

/** Chooses the value of a reply's field by a place's value. */
export const choose = (
  v1: string,
  v2: string,
  cases: Readonly<Record<string, string>>,
  defaultValue: string,
): Choose => ({ kind: 'choose', v1, v2, cases, default: defaultValue })

/**
 * A sentence of a message. `{Field}` is the value of an earlier row, `{path}` the value at a place, `{path|other}` the first of these
 * values that exists, `{path.length}` the number of entries in a list.
 */
export interface Sentence {
  readonly text: string
  /** Without a condition, the sentence is always included. */
  readonly when?: { readonly is: 'present' | 'absent' | 'several'; readonly v2: string }
}

/** A reply's field for people. */
export interface Message {
  readonly kind: 'message'
  readonly v1: string
  readonly sentences: readonly Sentence[]
}

/** Answers all sentences whose condition holds; the field is left out if none does. */
export const message = (v1: string, sentences: readonly Sentence[]): Message => ({ kind: 'message', v1, sentences })
/** A sentence for when the place has a value. */
export const ifPresent = (v2: string, text: string): Sentence => ({ text, when: { is: 'present', v2 } })
/** A sentence for when the place has no value. */
export const ifAbsent = (v2: string, text: string): Sentence => ({ text, when: { is: 'absent', v2 } })
/** A sentence for when the list at the place has more than one entry. */
export const ifSeveral = (v2: string, text: string): Sentence => ({ text, when: { is: 'several', v2 } })

/** The fact that lists what a remembered quote took from default settings, separated by blanks. */
export const ASSUMED_FACT = 'assumed'
/** The fact that lists the facts that the quote's fields stated only partly, such as `zipcode=2134`, one per line. */
export const PARTLY_ASSUMED_FACT = 'partly_assumed'

/** The operator's default settings that a row may fall back to. */
export type DefaultSetting = 'transport_type' | 'vehicle_type'
/** The operator's switches that a row may depend on. */
type SwitchSetting = 'send_quote_id'

/** The settings of a translation; a tenant may have its own. */
export interface Settings {
  readonly transport_type: string
  readonly vehicle_type: string
  readonly send_quote_id: boolean
  /** The numbers in replies: the caller's own, if there is one, or always the service's. */
  readonly shipment_number: 'caller' | 'service'
}
