import type { Row } from './row.ts'

/** Returns the version-1 fields that a row covers. */
export function fieldsOf(row: Row): readonly string[] {
  switch (row.kind) {
    case 'move':
    case 'split':
    case 'ref':
    case 'callerNumber':
    case 'fixed':
    case 'choose':
    case 'message':
    case 'v1Only':
      return [row.v1]
    case 'join':
      return row.v1
    case 'lookup':
      return row.sources.map(({ v1 }) => v1)
    case 'fromQuote':
    case 'v2Only':
      return []
    default:
      return row satisfies never
  }
}

/** Returns the version-2 places that a row covers. */
export function placesOf(row: Row): readonly string[] {
  switch (row.kind) {
    case 'move':
    case 'join':
    case 'lookup':
    case 'fromQuote':
    case 'v2Only':
    case 'callerNumber':
    case 'choose':
      return [row.v2]
    case 'split':
      return Object.values(row.v2)
    case 'ref':
    case 'fixed':
    case 'message':
    case 'v1Only':
      return []
    default:
      return row satisfies never
  }
}
