import type { Row } from './row.ts'

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
  readonly disambiguateBy?: string
}

/** What the cross-reference keeps of a reply. */
export interface Keeps {
  readonly kind: 'quote' | 'shipment'
  /** The fields whose values become names of it. */
  readonly names: readonly string[]
  /** The field that tells several of one name apart. */
  readonly disambiguateBy?: string
  /** Where the reply has the id, and its other names. */
  readonly id: string
  readonly replyNames?: readonly string[]
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
    readonly mergeInto?: 'current'
    /** The service would do it twice if asked twice. */
    readonly notIdempotent?: boolean
    /** Refusing it because it is done already is a success; this status of the shipment tells. */
    readonly doneWhenStatus?: string
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
