/** How much there is of one thing, and how much of it one source may hold. */
export interface Supply {
  readonly limit: number
  /** Equal to `limit` where one source may hold all of it. */
  readonly perSource: number
  /** A source that holds no more than this is refused only when nothing is left. */
  readonly little: number
}

/** Who has too much: the source itself, or all sources together. */
export type Shortage = 'source' | 'all'

/** The part of a supply, one in so many, that goes to sources that hold little. */
const RESERVE = 4
/** Out of the reserve, a source may hold one in so many parts of what is left. */
const PART_OF_REST = 3

/**
 * Tells what keeps a source that holds so much from taking more; undefined if nothing does. Many sources that each take
 * their share would leave nothing for the others. The last quarter is therefore given out more sparingly the less of it
 * is left: a thousand sources that take all they can get still leave room for a small call of another one.
 */
export function shortage(
  { limit, perSource, little }: Supply,
  heldByAll: number,
  held: number,
  more: number,
): Shortage | undefined {
  const wanted = held + more
  const left = limit - heldByAll - more
  if (wanted > perSource) return perSource < limit ? 'source' : 'all'
  if (left < 0) return 'all'
  const reserve = Math.min(limit / RESERVE, limit - perSource)
  return left < reserve && wanted > Math.max(little, left / PART_OF_REST) ? 'all' : undefined
}
