import type { QuoteFact, Row } from './row.ts'

/** A rule over several fields: at least one of the alternatives must hold. */
export interface Requirement {
  readonly anyOf: readonly Alternative[]
}
/** Fields that must all be sent, or a fact that the remembered quote must have. */
export type Alternative = readonly string[] | QuoteFact

/** Requires one of several fields, groups of fields, or facts of the remembered quote. */
export const anyOf = (...alternatives: readonly (string | Alternative)[]): Requirement => ({
  anyOf: alternatives.map((alternative) => (typeof alternative === 'string' ? [alternative] : alternative)),
})

/** Unknown fields that must not be ignored: they mean something that one call cannot do. */
export interface Refusal {
  /** Matches the whole name, which the problem repeats. */
  readonly fields: RegExp
  readonly code: string
  /** The end of the sentence `<field> …`. */
  readonly problem: string
}

/** The quote or shipment that a call is about. */
export interface Target {
  readonly kind: 'quote' | 'shipment'
  /** The fields that may name it, in order of preference. */
  readonly namedBy: readonly string[]
  /** The field that chooses among several shipments of one name. */
  readonly disambiguateBy?: string
}

/** The record of an answered call in the cross-reference. */
export interface XrefRecord {
  readonly kind: 'quote' | 'shipment'
  /** The place of the id in the reply. */
  readonly id: string
  /** The fields whose values become names of it. */
  readonly names: readonly string[]
  /** The places of the reply whose values become names of it. */
  readonly replyNames?: readonly string[]
  /** The field that tells several of one name apart. */
  readonly disambiguateBy?: string
}

/** One version-1 action: its legacy paths, its request to the service, and the translation in both directions. */
export interface Action {
  readonly name: string
  readonly summary: string
  /** Decides the shape of an error. */
  readonly family: 'quote' | 'shipment'
  readonly legacy: {
    readonly method: 'GET' | 'POST'
    readonly paths: readonly string[]
    /** The `ActionName`s that mean this action; `any` if the path alone does. */
    readonly actionNames: readonly string[] | 'any'
    /** An absent `ActionName` means this action. @default false */
    readonly byDefault?: boolean
  }
  readonly service: {
    readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
    /** Contains `{quote_id}` or `{shipment_id}` if, and only if, the action has a target. */
    readonly path: string
    /** `current`: the body is merged into what the service has now. */
    readonly mergeInto?: 'current'
    /** The service repeats the effect each time it is asked. @default false */
    readonly notIdempotent?: boolean
    /** A refusal counts as success when the shipment already has this status. */
    readonly doneWhenStatus?: string
  }
  readonly target?: Target
  /** The fields that may name a remembered quote, where the action has no target. */
  readonly quoteNamedBy?: readonly string[]
  readonly xrefRecord?: XrefRecord
  readonly requires?: readonly Requirement[]
  readonly refuses?: readonly Refusal[]
  readonly request: readonly Row[]
  /** Rows whose places are facts, remembered for a later booking. A value that cannot be read is not remembered. */
  readonly remember?: readonly Row[]
  readonly reply: readonly Row[]
  /** A version-1 request, and the service's reply to it, for documentation and the dry run. */
  readonly example: { readonly request: Readonly<Record<string, string>>; readonly reply: Json }
}

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** Declares an action. */
export const action = (declaration: Action): Action => declaration
