/** The rows that stand in a reply alone. */
export type ReplyRow = OwnNumber | Fixed | Choose | Say

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

/** A reply's sentence for people; `{path}` is the value at a place, `{path|other}` the first that there is, `{path.length}` how many a list has. */
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
