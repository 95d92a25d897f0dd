/** How often a field of an action had each verdict on a day, when shadowed calls were compared. */
export interface FieldCount {
  /** In days since 1970, UTC. */
  readonly day: number
  readonly action: string
  readonly field: string
  readonly equal: number
  readonly differs: number
  readonly noise: number
}

/** A difference, of which only the shapes of the values are known. */
export interface Difference {
  readonly action: string
  readonly field: string
  readonly native: string
  readonly translated: string
  /** The request id of the compared call. */
  readonly requestId: string
  /** In milliseconds since 1970. */
  readonly at: number
}

/** Comparisons to add in one step. Each day, action and field occurs once. */
export interface ComparisonBatch {
  /** The comparing process. */
  readonly instance: string
  /** Grows with every batch of the process; a batch that is sent again has the same number. */
  readonly no: number
  readonly fields: readonly FieldCount[]
  readonly differences: readonly Difference[]
}

/** The durable results of shadowed calls. Processes and gateways that share a store add to the same results. */
export interface Comparisons {
  /** Adds a batch in one durable step; a batch that was added before changes nothing. */
  addComparisons(batch: ComparisonBatch): Promise<void>
  /** Returns the counts from a day on, by day, action and field. */
  comparedFields(fromDay: number): Promise<readonly FieldCount[]>
  /** Returns the kept differences, the newest first. */
  differences(): Promise<readonly Difference[]>
  /** Drops the counts and differences of earlier days. */
  dropComparisons(beforeDay: number): Promise<void>
}

/** How many differences of one field are kept: the newest. */
export const DIFFERENCES_PER_FIELD = 20

/** The name of a process among those that add batches; its batches of counts have numbers of their own. */
export const comparer = (instance: string): string => `${instance} shadow`
