import type pg from 'pg'
import { type AnswerOf, createBatcher } from '../batch.ts'
import type { DatabaseRow } from '../rows.ts'
import { isNotPrepared, isRolledBack } from './errors.ts'

/** One batch is at the server while the next one is prepared. */
const CONCURRENT_BATCHES = 2
/** The most calls that share a statement. */
const MAX_BATCH = 256

/** A statement that does the same for many calls. */
export interface BatchStatement<T, R> {
  /**
   * The name of a prepared statement, which is planned once for a connection. A pooler may give each transaction another session,
   * which does not know it: then the statement is planned each time.
   * @default planned each time, for the tables as they are
   */
  readonly name?: string
  readonly text: string
  /** Returns the parameters, one array for each column. */
  readonly valuesOf: (items: readonly T[]) => readonly unknown[]
  /** Returns the answers, from rows whose column `nth` counts the items from one. */
  readonly answersOf: (rows: readonly DatabaseRow[], items: readonly T[]) => AnswerOf<R>
  /** Returns the key of an item: those of one key never share a statement. @default any may */
  readonly keyOf?: (item: T) => string
}

/** Returns a function whose concurrent calls share statements: one transaction and round trip for many. */
export function inBatches<T, R>(pool: pg.Pool, statement: BatchStatement<T, R>): (item: T) => Promise<R> {
  const { text, valuesOf, answersOf, keyOf } = statement
  let { name } = statement
  return createBatcher<T, R>({
    concurrency: CONCURRENT_BATCHES,
    maxItems: MAX_BATCH,
    isInvalidItem: isRolledBack,
    ...(keyOf && { keyOf }),
    async run(items) {
      const query = { text, values: [...valuesOf(items)] }
      const { rows } = await pool.query<DatabaseRow>(name ? { name, ...query } : query).catch((error: unknown) => {
        if (!isNotPrepared(error)) throw error
        name = undefined
        return pool.query<DatabaseRow>(query)
      })
      return answersOf(rows, items)
    },
  })
}

/** Returns the row of each item, for statements with at most one. */
export function rowByItem(rows: readonly DatabaseRow[], items: readonly unknown[]): AnswerOf<DatabaseRow | undefined> {
  const found = new Array<DatabaseRow | undefined>(items.length)
  for (const row of rows) found[Number(row['nth']) - 1] = row
  return (index) => found[index]
}

/** Returns the rows of each item, in their order. */
export function rowsByItem(rows: readonly DatabaseRow[], items: readonly unknown[]): AnswerOf<readonly DatabaseRow[]> {
  const found = items.map((): DatabaseRow[] => [])
  for (const row of rows) found[Number(row['nth']) - 1]?.push(row)
  return (index) => found[index] ?? []
}
