import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { thingKey } from '../../../language/text/service-text.ts'
import { WRITES as SHARED } from '../all-verbs.ts'
import { dropDoubt } from '../doubt.ts'
import { type AnyWork, CLOCK, type DatabaseRow, type Work } from '../work.ts'
import { acceptAs, identity, originOf, type Stamp } from './stamp.ts'

const trusting = {
  *trust(given: Stamp | null): Work<boolean> {
    const stamp = given ?? undefined
    const isCopy = originOf(yield* identity(), stamp).kind !== 'own'
    if (isCopy) yield* acceptAs(stamp)
    return (yield* dropDoubt()) || isCopy
  },
}

/** All writes. */
export const WRITES = { ...SHARED, ...trusting }
export type WriteName = keyof typeof WRITES
export const workOf = (name: WriteName, args: readonly unknown[]): Work<unknown> => (WRITES[name] as AnyWork)(...args)

/** Runs the work of verbs on a connection. */
export interface Session {
  /** Runs work at this store time; the caller begins and ends the transaction. */
  run<T>(work: Work<T>, at?: number): T
}

/**
 * Returns the machine's time since boot, for leases. All processes share it, and a correction of the wall clock does not expire a live
 * gateway's lease. A renewal in the future was made before the last boot.
 */
const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)

/** Defines the schema's functions on a connection, at a store time, and keeps its prepared statements. */
export function createSession(db: DatabaseSync, now = Date.now(), leaseMs: () => number = monotonicMs): Session {
  const prepared = new Map<string, readonly [statement: StatementSync, columns: readonly string[]]>()
  let time = now
  // Integers, so that SQL divides them as PostgreSQL does.
  db.function('now_ms', { deterministic: false }, () => BigInt(Math.floor(time)))
  db.function('lease_ms', { deterministic: false }, () => BigInt(Math.round(leaseMs())))
  db.function('thing_key', { deterministic: true }, (id) => thingKey(String(id)))

  return {
    run(work, at = time) {
      time = at
      let step = work.next()
      while (step.done !== true) {
        const { text, values } = step.value
        if (step.value === CLOCK) {
          step = work.next([{ now: at }])
          continue
        }
        let known = prepared.get(text)
        if (!known) {
          const statement = db.prepare(inSqlite(text))
          // Rows as arrays take two thirds of the time that rows as objects of `node:sqlite` take.
          statement.setReturnArrays(true)
          known = [statement, statement.columns().map(({ name }) => name)]
          prepared.set(text, known)
        }
        const [statement, columns] = known
        // With `setReturnArrays`, each row is an array, which the types do not know.
        const rows = statement.all(...values) as unknown as readonly SQLOutputValue[][]
        step = work.next(rows.map((row) => rowOf(columns, row)))
      }
      return step.value
    },
  }
}

function rowOf(columns: readonly string[], values: readonly SQLOutputValue[]): DatabaseRow {
  const row: Record<string, SQLOutputValue | undefined> = {}
  for (let index = 0; index < columns.length; index += 1) row[columns[index] ?? ''] = values[index]
  return row
}

/** Translates a statement: a file is one schema, values have their own types, and a writer has all rows to itself. */
export function inSqlite(text: string): string {
  return text
    .replaceAll('transload.each(', 'json_each(')
    .replaceAll('transload.', '')
    .replaceAll(/([a-z.]*facts)::text/g, 'json($1)')
    .replaceAll(/CAST\((.*?) AS json\)/g, 'json($1)')
    .replaceAll('json_build_object(', 'json_object(')
    .replaceAll('json_agg(', 'json_group_array(')
    .replaceAll(/::[a-z]+/g, '')
    .replaceAll(/ FOR UPDATE( SKIP LOCKED)?/g, '')
    .replaceAll(/\$(\d+)/g, '?$1')
}
