import type { Codec } from './codec.ts'
import type { Keeps } from './keeps.ts'
import type { ReplyRow } from './reply-row.ts'
import type { DefaultSetting, SwitchSetting } from './settings.ts'

/** One line of a mapping: a closed union of twelve kinds. */
export type Row = Move | Split | Join | Lookup | FromQuote | Ref | V1Only | V2Only | ReplyRow

/** The source of a place's value if the caller sent nothing for it. A row tries its fallbacks in order. */
export type Fallback = QuoteFact | { readonly kind: 'setting'; readonly setting: DefaultSetting }

/** A fact of the remembered quote: the first of these that it has. */
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
  // Spread, not picked, because the check at start must see unknown options.
  ...options,
})

/** The parts that a split's codec returns; an absent part is left out. */
export type Parts = Readonly<Record<string, string | undefined>>

/** One field to several places. */
export interface Split {
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
  /** The part of the fields that their round trip keeps. @default not declared, and not shown */
  readonly keeps?: Keeps
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

/** A place whose value comes from a lookup table, by the first field that the table knows. */
export interface Lookup {
  readonly kind: 'lookup'
  readonly sources: readonly LookupSource[]
  readonly v2: string
  readonly table: string
  readonly fallbacks: readonly Fallback[]
}

export interface LookupSource {
  readonly v1: string
  /** `wholeValue`: the whole value is a phrase of the table. `phraseIn`: the value contains one. */
  readonly by: 'wholeValue' | 'phraseIn'
}

/** Looks up the whole value of a field. */
export const wholeValue = (v1: string): LookupSource => ({ v1, by: 'wholeValue' })
/** Looks up the longest phrase of a field that the table knows. */
export const phraseIn = (v1: string): LookupSource => ({ v1, by: 'phraseIn' })

/** Looks up a place's value in a named table. The next field counts when the table does not know the one before. */
export const lookup = (
  sources: readonly LookupSource[],
  v2: string,
  table: string,
  fallbacks: readonly Fallback[] = [],
): Lookup => ({ kind: 'lookup', sources, v2, table, fallbacks })

/** A place that version 1 has no field for, filled from the remembered quote. */
export interface FromQuote {
  readonly kind: 'fromQuote'
  readonly v2: string
  readonly fallbacks: readonly Fallback[]
  /** Only where the operator has switched this on. */
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
export interface Ref {
  readonly kind: 'ref'
  readonly v1: string
  readonly why: string
}

/** Declares a field that only names something: the cross-reference resolves or records it. */
export const ref = (v1: string, why: string): Ref => ({ kind: 'ref', v1, why })

/** A field that version 2 has no place for. */
export interface V1Only {
  readonly kind: 'v1Only'
  readonly v1: string
  readonly why: string
}

/** Declares fields that only version 1 has, and the reason why leaving them out loses nothing. */
export const v1Only = (v1: readonly string[], why: string): readonly V1Only[] =>
  v1.map((field) => ({ kind: 'v1Only', v1: field, why }))

/** A place that version 1 has no field for. */
export interface V2Only {
  readonly kind: 'v2Only'
  readonly v2: string
  readonly why: string
  /** The service sets the place; an update must not send it. */
  readonly setByService: boolean
}

/** Declares places that only version 2 has, and the reason. A place includes everything below it. */
export const v2Only = (v2: readonly string[], why: string): readonly V2Only[] =>
  v2.map((place) => ({ kind: 'v2Only', v2: place, why, setByService: false }))

/** Declares places that only the service sets: read, never sent. */
export const setByService = (v2: readonly string[], why: string): readonly V2Only[] =>
  v2.map((place) => ({ kind: 'v2Only', v2: place, why, setByService: true }))

/** Falls back to the first of these facts that the remembered quote has. */
export const quoteFact = (...facts: readonly string[]): QuoteFact => ({ kind: 'quoteFact', facts })
/** Falls back to an operator's default setting; a dry run marks it as assumed. */
export const setting = (name: DefaultSetting): Fallback => ({ kind: 'setting', setting: name })
