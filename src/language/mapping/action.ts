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
interface FieldRefusal {
  /** Matches the whole name, which the problem repeats. */
  readonly fields: RegExp
  readonly code: string
  /** The end of the sentence `<field> …`. */
  readonly problem: string
}

/** The quote or shipment that a call is about. */
export interface Target {
  readonly kind: 'quote' | 'shipment'
  /** The fields that may name it. */
  readonly namedBy: readonly string[]
}

/** An action's verb. The gateway has one file for each verb, in `src/calls`. */
export const VERBS = ['quote', 'approve', 'book', 'read', 'update', 'cancel'] as const
export type VerbName = (typeof VERBS)[number]

/** One version-1 action: its legacy paths, its request to the service, and the translation in both directions. */
export interface Action {
  readonly name: string
  readonly verb: VerbName
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
  }
  readonly target?: Target
  /** The fields that may name a remembered quote, if the action has no target. */
  readonly quoteNamedBy?: readonly string[]
  /** The fields whose values become names of the new quote or shipment. @default none */
  readonly givesNames?: readonly string[]
  readonly requires?: readonly Requirement[]
  readonly refuses?: readonly FieldRefusal[]
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
