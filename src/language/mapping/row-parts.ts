import { type Keeps, lossy, oneWay } from './codec.ts'
import type { Row } from './row.ts'

/** Returns the version-1 fields that a row covers. */
export function fieldsOf(row: Row): readonly string[] {
  if (row.kind === 'lookup') return row.sources.map(({ v1 }) => v1)
  return 'v1' in row ? [row.v1].flat() : []
}

/** Returns the version-2 places that a row covers. */
export function placesOf(row: Row): readonly string[] {
  if (row.kind === 'split') return Object.values(row.v2)
  return 'v2' in row ? [row.v2] : []
}

/** Returns the names in the braces of a sentence or a path. */
export const bracedIn = (text: string): readonly string[] =>
  [...text.matchAll(/\{([^}]*)\}/g)].flatMap(([, names = '']) => names.split('|'))

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
