/*
 * The shape of a request of version 2, as plain data: its members, their types, and the values that are known. It serves to
 * check new code.
 */

/** The shape of a value. */
export type Shape =
  | { readonly kind: 'text' | 'number' | 'flag' | 'date' | 'any'; readonly form?: Form }
  | { readonly kind: 'choice'; readonly values: readonly string[] }
  | {
      readonly kind: 'object'
      readonly members: Members
      readonly required: readonly string[]
      /** At least one of these must be there; none for no such rule. */
      readonly oneOf: readonly string[]
    }
  | { readonly kind: 'list'; readonly of: Shape }

/** The form of a value. */
export interface Form {
  readonly pattern: RegExp
  /** Completes a sentence that begins with the member's name. */
  readonly says: string
}

/** The members of an object, by name. */
export type Members = Readonly<Record<string, Shape>>

export const text: Shape = { kind: 'text' }
export const flag: Shape = { kind: 'flag' }
/** A date-time in one of the service's two forms. */
export const date: Shape = { kind: 'date' }
/** A value that is known to exist, of a form that is not. */
export const any: Shape = { kind: 'any' }
/** A text that is one of these. */
export const choice = (...values: readonly string[]): Shape => ({ kind: 'choice', values })
/** An object with these members; those that are required must be there, and not null. */
export const object = (
  members: Members,
  required: readonly string[] = [],
  oneOf: readonly string[] = [],
): Extract<Shape, { kind: 'object' }> => ({ kind: 'object', members, required, oneOf })
/** A list of values of one shape. */
export const list = (of: Shape): Shape => ({ kind: 'list', of })

/** A date-time, with or without milliseconds. */
export const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?[+-]\d{4}$/
