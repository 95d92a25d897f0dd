import { dropMark } from './copy.ts'
import { DOUBTS } from './schema.ts'
import { type DatabaseRow, now, sql, type Work } from './work.ts'

/**
 * The doubt about a restored store: it lacks everything written after its backup, and a booking that it does not know may have been made.
 */
export interface Doubt extends NewDoubt {
  /** When the doubt was declared. Everything that the store has learned since then is certain. */
  readonly declaredAt: number
}

/** A doubt to be declared. */
export interface NewDoubt {
  /** Bookings may be missing since then, in milliseconds since 1970. */
  readonly since: number
  /** When the doubt ends by itself; 0 means never. */
  readonly until: number
}

/**
 * How a store came to its place: `own` if it was written there. Otherwise it is a copy, and bookings made after the copy may be missing.
 */
export type StoreOrigin =
  | { readonly kind: 'own' }
  /** A file of `transload store backup`. */
  | { readonly kind: 'backup'; readonly at: number }
  /** No stamp beside it says that it belongs there. */
  | { readonly kind: 'moved' }
  /** There was another store in its place. */
  | { readonly kind: 'other' }
  /** The store in its place had more commits. */
  | { readonly kind: 'older' }

/** The counts of a store's content. */
interface StoreContent {
  /** The number of rows, by table. */
  readonly rows: Readonly<Record<string, number>>
  /** The number of bookings, by state. */
  readonly claims: Readonly<Record<string, number>>
}

/** A store's content as an operator inspects it. */
export interface Inspection extends StoreContent {
  readonly version: number
  /** The version that this program creates and reads. */
  readonly programVersion: number
  /** The faults in the file's content; empty if it has none, or if the engine cannot tell. */
  readonly faults: readonly string[]
  /** The store's id; undefined if it has none. */
  readonly id?: string | undefined
  readonly origin: StoreOrigin
  readonly doubt: Doubt | undefined
}

/** Counts a store's content; `tables` is a statement that returns the names of its tables. */
export function* contentOf(tables: string): Work<StoreContent> {
  const countsOf = (rows: readonly DatabaseRow[]) =>
    Object.fromEntries(rows.map(({ name, count }) => [String(name), Number(count)]))
  const rows: DatabaseRow[] = []
  for (const { name } of yield sql(tables)) {
    // The names come from the schema, which only this program writes.
    rows.push(...(yield sql(`SELECT '${name}' AS name, count(*) AS count FROM transload.${name}`)))
  }
  const claims = yield sql(
    'SELECT state AS name, count(*) AS count FROM transload.claims GROUP BY state ORDER BY state',
  )
  return { rows: countsOf(rows), claims: countsOf(claims) }
}

/** Returns the current doubt; undefined if there is none. */
function* currentDoubt(): Work<Doubt | undefined> {
  const text = `SELECT ${DOUBTS.names} FROM transload.doubts WHERE until = 0 OR until > transload.now_ms()`
  return (yield* DOUBTS.read(text))[0]
}

export const doubtReads = { doubt: currentDoubt }

export const doubtWrites = {
  /** Declares a doubt from now on. If a doubt began earlier and still holds, its beginning is kept. */
  *declareDoubt({ since, until }: NewDoubt): Work<Doubt> {
    // One declaration at a time.
    yield sql('SELECT day FROM transload.calendar FOR UPDATE')
    const before = yield* currentDoubt()
    const doubt = { since: Math.min(since, before?.since ?? since), declaredAt: yield* now(), until }
    yield sql(
      `INSERT INTO transload.doubts (one, ${DOUBTS.names}) VALUES (1, $1, $2, $3) ON CONFLICT (one) DO UPDATE
        SET since = excluded.since, declared_at = excluded.declared_at, until = excluded.until`,
      doubt.since,
      doubt.declaredAt,
      doubt.until,
    )
    // An operator who declares a doubt uses the store, even if it was copied to another one.
    yield* dropMark()
    return doubt
  },
}

export function* dropDoubt(): Work<boolean> {
  return (yield sql('DELETE FROM transload.doubts RETURNING 1')).length > 0
}
