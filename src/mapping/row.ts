import type { Codec } from './codec.ts'
import type { ReplyRow } from './reply-row.ts'
import type { DefaultSetting, SwitchSetting } from './settings.ts'

/** What becomes of a field or a place: twelve kinds, and no other. */
export type Row = Move | Split | Join | Lookup | Recall | Ref | V1Only | V2Only | ReplyRow

/** What stands in for a field that the caller did not send, in order of preference. */
export type Fallback =
  | { readonly kind: 'remembered'; readonly facts: readonly string[] }
  | { readonly kind: 'setting'; readonly setting: DefaultSetting }

/** One field to one place. */
export interface Move {
  readonly kind: 'move'
  readonly v1: string
  readonly v2: string
  readonly codec: Codec
  readonly required: boolean
  readonly otherwise: readonly Fallback[]
}

interface MoveOptions {
  /**
   * In a request: the caller must send it. In a reply: without it the reply is unreadable.
   * @default false
   */
  readonly required?: boolean
  /** What stands in for it; the dry run marks a setting as assumed. */
  readonly otherwise?: readonly Fallback[]
}

/** Moves one field, through a codec. */
export const move = (v1: string, v2: string, codec: Codec, options: MoveOptions = {}): Move => ({
  kind: 'move',
  v1,
  v2,
  codec,
  required: options.required ?? false,
  otherwise: options.otherwise ?? [],
})

/** The parts that a split's codec gives; an absent part is left out. */
export type Parts = Readonly<Record<string, string | undefined>>

/** One field to several places. */
export interface Split {
  readonly kind: 'split'
  readonly v1: string
  /** Part of the codec's value → place. */
  readonly v2: Readonly<Record<string, string>>
  readonly codec: Codec<Parts>
}

/** Splits one field into several places, a part each. */
export const split = (v1: string, v2: Readonly<Record<string, string>>, codec: Codec<Parts>): Split => ({
  kind: 'split',
  v1,
  v2,
  codec,
})

/** How several strings make one and come apart again. */
export interface Joint {
  readonly name: string
  readonly summary: string
  readonly join: (parts: readonly string[]) => string
  readonly part: (text: string) => readonly string[]
}

/** Several fields to one place. */
export interface Join {
  readonly kind: 'join'
  readonly v1: readonly string[]
  readonly v2: string
  readonly joint: Joint
}

/** Joins several fields into one place; blank ones are left out. */
export const join = (v1: readonly string[], v2: string, joint: Joint): Join => ({ kind: 'join', v1, v2, joint })

/** A place whose value is looked up, by the first field that the table knows. */
export interface Lookup {
  readonly kind: 'lookup'
  readonly sources: readonly LookupSource[]
  readonly v2: string
  readonly table: string
  readonly otherwise: readonly Fallback[]
}

export interface LookupSource {
  readonly v1: string
  /** `code`: the whole value is a code; `words`: any phrase in it may be one. */
  readonly by: 'code' | 'words'
}

/** The whole value of a field is looked up. */
export const code = (v1: string): LookupSource => ({ v1, by: 'code' })
/** The longest phrase of a field that the table knows is looked up. */
export const words = (v1: string): LookupSource => ({ v1, by: 'words' })

/** Looks a place's value up in a named table; a field that the table lacks falls through to the next. */
export const lookup = (
  sources: readonly LookupSource[],
  v2: string,
  table: string,
  otherwise: readonly Fallback[],
): Lookup => ({ kind: 'lookup', sources, v2, table, otherwise })

/** A place that version 1 has no field for: a fact of the remembered quote. */
export interface Recall {
  readonly kind: 'recall'
  readonly v2: string
  readonly otherwise: readonly Fallback[]
  readonly when?: SwitchSetting
}

/** Recalls a fact of the remembered quote, else what `otherwise` says, else leaves the place out. */
export const recall = (
  v2: string,
  fact: string,
  options: { readonly otherwise?: readonly Fallback[]; readonly when?: SwitchSetting } = {},
): Recall => ({
  kind: 'recall',
  v2,
  otherwise: [remembered(fact), ...(options.otherwise ?? [])],
  ...(options.when && { when: options.when }),
})

/** A field that only names something in the cross-reference. */
export interface Ref {
  readonly kind: 'ref'
  readonly v1: string
  readonly why: string
}

/** A reference to the cross-reference: it finds or keeps an id, and its value goes nowhere else. */
export const ref = (v1: string, why: string): Ref => ({ kind: 'ref', v1, why })

/** A field that version 2 has no place for. */
export interface V1Only {
  readonly kind: 'v1Only'
  readonly v1: string
  readonly why: string
}

/** Fields that only version 1 has, and why nothing is lost by leaving them. */
export const v1Only = (v1: readonly string[], why: string): readonly V1Only[] =>
  v1.map((field) => ({ kind: 'v1Only', v1: field, why }))

/** A place that version 1 has no field for. */
export interface V2Only {
  readonly kind: 'v2Only'
  readonly v2: string
  readonly why: string
  /** The service sets it, so that an update must not send it. */
  readonly serverSets: boolean
}

/** Places that only version 2 has, and why version 1 does without. A place stands for all that is below it. */
export const v2Only = (v2: readonly string[], why: string): readonly V2Only[] =>
  v2.map((place) => ({ kind: 'v2Only', v2: place, why, serverSets: false }))

/** Places that only the service sets: read, never sent. */
export const serverSets = (v2: readonly string[], why: string): readonly V2Only[] =>
  v2.map((place) => ({ kind: 'v2Only', v2: place, why, serverSets: true }))

/** Falls back to the first of these facts that the remembered quote has. */
export const remembered = (...facts: readonly string[]): Fallback => ({ kind: 'remembered', facts })
/** Falls back to an operator's default: assumed, and said to be. */
export const setting = (name: DefaultSetting): Fallback => ({ kind: 'setting', setting: name })
