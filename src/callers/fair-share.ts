/** The total of a resource, and the most of it that one source may hold. */
export interface Quota {
  readonly limit: number
  /** Equal to `limit` if one source may hold all of it. */
  readonly perSource: number
  /** A source that holds at most this is refused only if nothing is left. */
  readonly little: number
}

/** The reason of a refusal: the source itself, or all sources together, hold too much. */
export type Shortage = 'source' | 'all'

/** The reserve for sources that hold little, as a divisor of the total. */
const RESERVE = 4
/** The most that a source may take of what is left of the reserve, as a divisor. */
const PART_OF_REST = 3

/**
 * Returns why a source that holds this much may not take more; undefined if it may. Many sources that each take their
 * full share would leave nothing for the others. Therefore the less of the last quarter is left, the less of it a
 * source may take: a thousand greedy sources still leave room for a small call of another one.
 */
export function shortage(
  { limit, perSource, little }: Quota,
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
