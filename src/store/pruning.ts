/** The tables that are pruned, in this order: links and things stay as long as the claims of their shipments. */
export const PRUNED_TABLES = ['claims', 'audit', 'links', 'things', 'uses', 'instances'] as const
export type PrunedTable = (typeof PRUNED_TABLES)[number]

/** One step of pruning: it looks at a few rows, and deletes those that are old enough. */
export interface PruneStep {
  readonly table: PrunedTable
  /** Rows that were neither written nor used for this long may go. */
  readonly olderThanMs: number
  /**
   * The end of the step before.
   * @default the first row
   */
  readonly after?: string | undefined
  /** Counts, and deletes nothing. @default false */
  readonly dryRun?: boolean | undefined
}

export interface PruneStepEnd {
  readonly looked: number
  readonly pruned: number
  /** The time of the oldest row that stays, of those looked at. */
  readonly oldest: number | undefined
  /** Where the next step begins; undefined if there are no more rows to look at. */
  readonly next: string | undefined
}

/** The last complete round of steps over one table. */
export interface PruneRound {
  readonly table: PrunedTable
  readonly endedAt: number
  /** The rows that were looked at and stay. Rounds look at every link, thing and use; at others only if they are old. */
  readonly rows: number
  readonly oldest: number | undefined
}

/** The size of a table. Both figures may be estimates: counting would read all of it. */
export interface TableSize {
  readonly table: 'claims' | 'links' | 'things' | 'events'
  readonly rows: number
  readonly oldest: number | undefined
}

export interface StoreSize {
  readonly bytes: number
  /** The part of `bytes` that later rows will use again. */
  readonly freeBytes: number
  readonly tables: readonly TableSize[]
}

/**
 * Deletes rows that are not needed any more. Some rows stay however old they are:
 *
 * - claims that are `sending` or `unknown`, with their audit entries;
 * - links to the shipment of a claim that stays, and links of the reference of a claim that is `sending` or `unknown`;
 * - things of such shipments, records of claims that stay, and approvals of quotes that stay (`kept-things.ts`);
 * - names and ids that were noted as used.
 */
export interface Pruning {
  /** Notes that names and ids are used now. */
  noteUses(tenant: string, names: readonly string[]): Promise<void>
  /** Looks at a few rows, in a durable step of its own that no call waits for longer than a moment. */
  prune(step: PruneStep): Promise<PruneStepEnd>
  /** Records the end of a round over a table. */
  endRound(round: Omit<PruneRound, 'endedAt'>): Promise<void>
  rounds(): Promise<readonly PruneRound[]>
  /** Costs the same however many rows there are. */
  size(): Promise<StoreSize>
}

/** How many rows a step looks at. */
export const PRUNE_ROWS = 200
/** How many claims a step looks at: with their audit entries and indexes, one is the work of ten other rows. */
export const PRUNE_CLAIMS = 50
/** A gateway that has not renewed its lease for this long is gone for good. */
export const INSTANCE_KEPT_MS = 86_400_000

/** Returns how many rows a step over a table looks at. */
export const rowsOf = (table: PrunedTable): number => (table === 'claims' ? PRUNE_CLAIMS : PRUNE_ROWS)

/** Writes the place of a row as the end of a step. */
export const placeOf = (...key: readonly (string | number)[]): string => JSON.stringify(key)

/** Reads the end of a step; without one, returns a place before all rows. */
export function keyOfPlace<Key extends readonly (string | number)[]>(after: string | undefined, first: Key): Key {
  // `placeOf` wrote it, for the same table.
  return after === undefined ? first : (JSON.parse(after) as Key)
}

/** A row that a step has looked at. */
export interface LookedAt {
  readonly at: number
  readonly place: string
}

/** Sums up a step. Fewer rows than a step looks at are the last ones. */
export function endOfStep(rows: readonly LookedAt[], stay: readonly LookedAt[], limit: number): PruneStepEnd {
  return {
    looked: rows.length,
    pruned: rows.length - stay.length,
    oldest:
      stay.length === 0 ? undefined : stay.reduce((oldest, { at }) => Math.min(oldest, at), Number.POSITIVE_INFINITY),
    next: rows.length < limit ? undefined : rows.at(-1)?.place,
  }
}

/** Returns the time of the oldest row. */
export function oldestOf(rows: readonly { readonly at: number }[]): number | undefined {
  const oldest = rows.reduce((before, { at }) => Math.min(before, at), Number.POSITIVE_INFINITY)
  return rows.length === 0 ? undefined : oldest
}
