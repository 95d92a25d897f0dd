import type { Codec } from './codec.ts'

/**
 * The vocabulary of a mapping: plain data, made by tiny constructors, and closed. One declaration gives both
 * directions: a request runs it from version 1 to version 2, a reply from version 2 to version 1.
 *
 * Version-1 fields are named as documented (`PickupPhNo.`), version-2 places by dotted path (`vehicles[0].year`).
 */
export type Row = Move | Split | Join | Lookup | Recall | Ref | OwnNumber | Fixed | Choose | Say | V1Only | V2Only

/** What stands in for a field that the caller did not send, in order of preference. */
export type Fallback =
  | { readonly kind: 'remembered'; readonly facts: readonly string[] }
  | { readonly kind: 'setting'; readonly setting: DefaultSetting }

/** The operator's defaults that a row may fall back to. */
export type DefaultSetting = 'transport_type' | 'vehicle_type'
/** The operator's switches that a row may wait for. */
export type SwitchSetting = 'send_quote_id'

/** The part of the configuration that a translation depends on; a tenant may have its own. */
export interface Settings {
  readonly transport_type: string
  readonly vehicle_type: string
  readonly send_quote_id: boolean
  /** Whether replies carry the caller's own numbers or always the service's. */
  readonly shipment_number: 'caller' | 'service'
}

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

/** A reply's field for the caller's own number, else the service's. */
export interface OwnNumber {
  readonly kind: 'ownNumber'
  readonly v1: string
  readonly v2: string
}

/** The caller's own number for the thing, else what the service calls it. */
export const ownNumber = (v1: string, v2: string): OwnNumber => ({ kind: 'ownNumber', v1, v2 })

/** A reply's field that is always the same. */
export interface Fixed {
  readonly kind: 'fixed'
  readonly v1: string
  readonly value: string
}

/** A reply's field that is always the same. */
export const fixed = (v1: string, value: string): Fixed => ({ kind: 'fixed', v1, value })

/** A reply's field that depends on a place's value and cannot be turned back. */
export interface Choose {
  readonly kind: 'choose'
  readonly v1: string
  readonly v2: string
  readonly cases: Readonly<Record<string, string>>
  readonly otherwise: string
}

/** Chooses a reply's field by a place's value. */
export const choose = (v1: string, v2: string, cases: Readonly<Record<string, string>>, otherwise: string): Choose => ({
  kind: 'choose',
  v1,
  v2,
  cases,
  otherwise,
})

/** A reply's sentence for people; `{path}` is the value at a place, `{path.length}` how many a list has. */
export interface Sentence {
  readonly text: string
  /** `has`, `lacks`: a value stands there; `several`: a list of more than one. Without it: always. */
  readonly when?: { readonly is: 'has' | 'lacks' | 'several'; readonly v2: string }
}

/** A reply's field for people. */
export interface Say {
  readonly kind: 'say'
  readonly v1: string
  readonly sentences: readonly Sentence[]
}

/** Says every sentence whose condition holds; without any, the field is left out. */
export const say = (v1: string, sentences: readonly Sentence[]): Say => ({ kind: 'say', v1, sentences })
/** A sentence said when a value stands at the place. */
export const has = (v2: string, text: string): Sentence => ({ text, when: { is: 'has', v2 } })
/** A sentence said when no value stands at the place. */
export const lacks = (v2: string, text: string): Sentence => ({ text, when: { is: 'lacks', v2 } })
/** A sentence said when the list at the place has more than one entry. */
export const several = (v2: string, text: string): Sentence => ({ text, when: { is: 'several', v2 } })

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

/** A rule over several fields: at least one of the alternatives must be whole. */
export interface Need {
  readonly anyOf: readonly Alternative[]
}
/** Fields that together satisfy a need, or a remembered fact that does. */
export type Alternative = { readonly fields: readonly string[] } | { readonly fact: string }

/** Requires one of several fields or groups of fields. */
export const need = (...anyOf: readonly Alternative[]): Need => ({ anyOf })
/** These fields, all of them. */
export const fields = (...names: readonly string[]): Alternative => ({ fields: names })
/** This fact of the remembered quote. */
export const fact = (name: string): Alternative => ({ fact: name })

/** How a call names the thing it is about. */
export interface Finds {
  readonly kind: 'quote' | 'shipment'
  /** The fields that may name it, in order of preference. */
  readonly by: readonly string[]
  /** The field that chooses among several shipments of one name. */
  readonly among?: string
}

/** What the cross-reference keeps of a reply. */
export interface Keeps {
  readonly kind: 'quote' | 'shipment'
  /** The fields whose values become names of it. */
  readonly under: readonly string[]
  /** The field that tells several of one name apart. */
  readonly with?: string
  /** Where the reply has the id, and its other names. */
  readonly id: string
  readonly also?: readonly string[]
}

/** One version-1 action: where it is called, what it calls, and how the two are translated. */
export interface Action {
  readonly name: string
  readonly summary: string
  /** Decides the shape of an error. */
  readonly family: 'quote' | 'shipment'
  readonly legacy: {
    readonly method: 'GET' | 'POST'
    readonly paths: readonly string[]
    /** The `ActionName`s that mean it; `any`: the path alone does. */
    readonly actionNames: readonly string[] | 'any'
    /** Whether an absent `ActionName` means it. */
    readonly byDefault?: boolean
  }
  readonly service: {
    readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
    /** With `{quote_id}` or `{shipment_id}` where `finds` says what the call names. */
    readonly path: string
    /** `current`: the body is laid over what the service has now. */
    readonly over?: 'current'
    /** The service would do it twice if asked twice. */
    readonly once?: boolean
    /** Refusing it because it is done already is a success; this status of the shipment tells. */
    readonly until?: string
  }
  readonly finds?: Finds
  /** The fields that may name a remembered quote whose facts the rows recall. */
  readonly recalls?: readonly string[]
  readonly keeps?: Keeps
  readonly needs?: readonly Need[]
  readonly request: readonly Row[]
  /** What to remember for later calls: rows whose places are facts. A value that cannot be read is not remembered. */
  readonly remember?: readonly Row[]
  readonly reply: readonly Row[]
  /** A version-1 request, and the service's reply to it, for documentation and the dry run. */
  readonly example: { readonly request: Readonly<Record<string, string>>; readonly reply: Json }
}

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** Declares an action. */
export const action = (declaration: Action): Action => declaration
