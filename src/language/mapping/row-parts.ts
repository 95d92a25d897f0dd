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
