/** A way in which replies of the service differ from what the gateway knows. */
export interface Drift {
  /** `new-field`, `missing-field`, `other-type`, `new-value` or `other-date-form`. */
  readonly kind: string
  /** The place in the replies: `shipment.vehicles[].color`. */
  readonly path: string
  readonly count: number
  /** In milliseconds since 1970. */
  readonly firstAt: number
  readonly lastAt: number
}

/** Differences to add in one step. Each pair of kind and path occurs once. */
export interface DriftBatch {
  /** The process that saw them. */
  readonly instance: string
  readonly seen: readonly Drift[]
  /** Differences that were not seen since are dropped, in milliseconds since 1970. */
  readonly keptSince: number
}

/** The durable list of differences. Processes and gateways that share a store add to the same list. */
export interface DriftList {
  /**
   * Adds to the list. Returns those of the batch that this process was the first of all to add, now or in an earlier batch
   * whose answer it did not get.
   */
  addDrift(batch: DriftBatch): Promise<readonly Pick<Drift, 'kind' | 'path'>[]>
  /** Returns the list, the latest first seen first. */
  listDrift(): Promise<readonly Drift[]>
}

/** How many differences are listed. A service can invent any number of names. */
export const MOST_DRIFT = 200

/** The path under which further differences of a kind are counted. */
export const OTHER_DRIFT = '(further places)'

/** Returns the key of a difference. */
export const driftKey = ({ kind, path }: Pick<Drift, 'kind' | 'path'>): string => `${kind} ${path}`

/** Returns the differences that may be listed beside the known ones; those beyond the limit become one for each kind. */
export function boundDrift(seen: readonly Drift[], known: Iterable<Pick<Drift, 'kind' | 'path'>>): readonly Drift[] {
  const listed = new Set([...known].map(driftKey))
  const bounded = new Map<string, Drift>()
  for (const drift of seen) {
    const key = driftKey(drift)
    const fits = listed.has(key) || listed.size < MOST_DRIFT
    if (fits) listed.add(key)
    const one = fits ? drift : { ...drift, path: OTHER_DRIFT }
    bounded.set(driftKey(one), addedDrift(bounded.get(driftKey(one)), one))
  }
  return [...bounded.values()]
}

/** Adds to a difference of the same key. */
export function addedDrift(before: Drift | undefined, more: Drift): Drift {
  if (!before) return more
  return {
    ...before,
    count: before.count + more.count,
    firstAt: Math.min(before.firstAt, more.firstAt),
    lastAt: Math.max(before.lastAt, more.lastAt),
  }
}
