import { type Keeps, keepsText, lossy, oneWay } from './keeps.ts'
import type { Row } from './row.ts'

/**
 * Returns what a row's round trip keeps: as its codec or joiner declares, else by the kind of the row. Undefined for a
 * codec of an operator that declares nothing.
 */
export function keepsOf(row: Row): Keeps | undefined {
  switch (row.kind) {
    case 'move':
    case 'split':
      return row.codec.keeps
    case 'join':
      return row.joiner.keeps
    case 'lookup':
      return oneWay('several words of the table mean one value')
    case 'fromQuote':
      return FROM_ELSEWHERE
    case 'ref':
      return oneWay('the name of the thing stands in no body')
    case 'v1Only':
    case 'v2Only':
      return lossy('all of it')
    case 'callerNumber':
      return oneWay("the caller's own number is not the service's")
    case 'fixed':
      return oneWay('the same for every reply')
    case 'choose':
      return oneWay('several values have one answer')
    case 'message':
      return oneWay('a sentence for people')
    default:
      return row satisfies never
  }
}

const FROM_ELSEWHERE = oneWay('the caller did not send it')

/** The line of a value that a fallback fills. */
export const FALLBACK_KEEPS = keepsText(FROM_ELSEWHERE)

/** Returns the same as one line for a dry run and the mapping reference. */
export function keepsTextOf(row: Row): string | undefined {
  const keeps = keepsOf(row)
  return keeps && keepsText(keeps)
}
