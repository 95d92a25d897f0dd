import type { Row } from './row.ts'

/** Returns the part of a version-1 text that a conversion must keep, such as its digits. */
export type Sense = (text: string) => string

/**
 * The part of a value that a round trip keeps: from version 1 to version 2 and back, and from version 2 to version 1 and
 * back. Laws check it over generated values (`test/mapping/keeps.laws.test.ts`).
 */
export type Keeps =
  /** The same text comes back. */
  | { readonly class: 'exact' }
  /** The same value comes back, in one form of all that mean it. */
  | { readonly class: 'canonical'; readonly form: string; readonly sense?: Sense }
  /** A part does not come back. */
  | { readonly class: 'lossy'; readonly lost: string; readonly sense?: Sense }
  /** The row works in one direction only. */
  | { readonly class: 'oneWay'; readonly why: string }

/** Keeps every text as it is. */
export const exact: Keeps = { class: 'exact' }

/**
 * Keeps the meaning, and gives it one form. `sense` returns what two texts of one meaning share.
 * @default sense: `lettersAndDigits`
 */
export const canonical = (form: string, sense?: Sense): Keeps => ({ class: 'canonical', form, ...(sense && { sense }) })

/**
 * Loses a part; `sense` leaves out the differences that lose nothing.
 * @default sense: `lettersAndDigits`
 */
export const lossy = (lost: string, sense?: Sense): Keeps => ({ class: 'lossy', lost, ...(sense && { sense }) })

/** Has no way back. */
export const oneWay = (why: string): Keeps => ({ class: 'oneWay', why })

/** Returns the letters and digits of a text in upper case, without zeros in front: its default sense. */
export const lettersAndDigits: Sense = (text) =>
  text
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .replace(/^0+/, '')

/** Returns a class with its detail in one line, such as `canonical: five digits`. */
function keepsText(keeps: Keeps): string {
  if (keeps.class === 'canonical') return `canonical: ${keeps.form}`
  if (keeps.class === 'lossy') return `lossy: ${keeps.lost}`
  return keeps.class === 'oneWay' ? `one way: ${keeps.why}` : keeps.class
}

/**
 * Returns what a row's round trip keeps: as its codec or joiner declares, else by the kind of the row. Undefined for a
 * codec of an operator that declares nothing.
 */
export function keepsOf(row: Row): Keeps | undefined {
  if (row.kind === 'join') return row.joiner.keeps
  return 'codec' in row ? row.codec.keeps : KEEPS[row.kind]
}

const KEEPS: Readonly<Record<Exclude<Row['kind'], 'move' | 'split' | 'join'>, Keeps>> = {
  lookup: oneWay('several phrases mean one value'),
  fromQuote: oneWay('the caller did not send it'),
  ref: oneWay('names are not part of a body'),
  v1Only: lossy('all of it'),
  v2Only: lossy('all of it'),
  callerNumber: oneWay("the caller's own number is not the service's"),
  fixed: oneWay('the same for every reply'),
  choose: oneWay('several values have one result'),
  message: oneWay('a sentence for people'),
}

/** The line of a value that a fallback fills. */
export const FALLBACK_KEEPS = keepsText(KEEPS.fromQuote)

/** Returns the same as one line for a dry run and the mapping reference. */
export function keepsTextOf(row: Row): string | undefined {
  const keeps = keepsOf(row)
  return keeps && keepsText(keeps)
}
