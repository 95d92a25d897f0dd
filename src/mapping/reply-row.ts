/** The rows that only a reply has. */
export type ReplyRow = CallerNumber | Fixed | Choose | Message

/** A reply's field for the caller's own number, else the service's. */
export interface CallerNumber {
  readonly kind: 'callerNumber'
  readonly v1: string
  readonly v2: string
}

/** Answers the caller's own number for the thing, else the service's. */
export const callerNumber = (v1: string, v2: string): CallerNumber => ({ kind: 'callerNumber', v1, v2 })

/** A reply's field that is always the same. */
export interface Fixed {
  readonly kind: 'fixed'
  readonly v1: string
  readonly value: string
}

/** Answers the same value always. */
export const fixed = (v1: string, value: string): Fixed => ({ kind: 'fixed', v1, value })

/** A reply's field that depends on a place's value and cannot be reversed. */
export interface Choose {
  readonly kind: 'choose'
  readonly v1: string
  readonly v2: string
  readonly cases: Readonly<Record<string, string>>
  /** The answer for every other value, and for none. */
  readonly default: string
}

/** Chooses a reply's field by a place's value. */
export const choose = (
  v1: string,
  v2: string,
  cases: Readonly<Record<string, string>>,
  defaultValue: string,
): Choose => ({ kind: 'choose', v1, v2, cases, default: defaultValue })

/**
 * A sentence of a message. `{Field}` is that of an earlier row, `{path}` the value at a place, `{path|other}` the first of these that has one,
 * `{path.length}` the number of entries of a list.
 */
export interface Sentence {
  readonly text: string
  /** Without it, the sentence always counts. */
  readonly when?: { readonly is: 'present' | 'absent' | 'several'; readonly v2: string }
}

/** A reply's field for people. */
export interface Message {
  readonly kind: 'message'
  readonly v1: string
  readonly sentences: readonly Sentence[]
}

/** Answers every sentence whose condition holds; the field is left out if none does. */
export const message = (v1: string, sentences: readonly Sentence[]): Message => ({ kind: 'message', v1, sentences })
/** A sentence for when the place has a value. */
export const ifPresent = (v2: string, text: string): Sentence => ({ text, when: { is: 'present', v2 } })
/** A sentence for when the place has no value. */
export const ifAbsent = (v2: string, text: string): Sentence => ({ text, when: { is: 'absent', v2 } })
/** A sentence for when the list at the place has more than one entry. */
export const ifSeveral = (v2: string, text: string): Sentence => ({ text, when: { is: 'several', v2 } })
