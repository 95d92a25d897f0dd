import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { thingKey } from '../../../language/text/service-text.ts'
import { WRITES as SHARED } from '../all-verbs.ts'
import { dropDoubt } from '../doubt.ts'
import { type AnyWork, CLOCK, type Work, type WorkOf } from '../work.ts'
import { acceptAs, identity, originOf, type Stamp } from './stamp.ts'

const trusting: WorkOf<{ trust(stamp: Stamp | null): Promise<boolean> }> = {
  *trust(given) {
    const stamp = given ?? undefined
    const isCopy = originOf(yield* identity(), stamp).kind !== 'own'
    if (isCopy) yield* acceptAs(stamp)
    return (yield* dropDoubt()) || isCopy
  },
}

/** Every write of the contract. */
export const WRITES = { ...SHARED, ...trusting }
export type WriteName = keyof typeof WRITES
export const workOf = (name: WriteName, args: readonly unknown[]): Work<unknown> => (WRITES[name] as AnyWork)(...args)

/** Runs the work of verbs on a connection. */
export interface Session {
  /** Runs work at this time of the store; the caller begins and ends the transaction. */
  run<T>(work: Work<T>, at?: number): T
}

/**
 * Returns the machine's time since boot, for leases: all processes share it, and a correction of the wall clock does not
 * expire the lease of a live gateway. A renewal in the future was made before the last boot.
 */
const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n)

/** Defines the functions of the schema on a connection, at a time of the store, and keeps its prepared statements. */
export function createSession(db: DatabaseSync, now: number, leaseMs: () => number = monotonicMs): Session {
  const prepared = new Map<string, StatementSync>()
  let time = now
  // Integers, which SQL divides as PostgreSQL does.
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
        let statement = prepared.get(text)
        if (!statement) {
          statement = db.prepare(inSqlite(text))
          prepared.set(text, statement)
        }
        step = work.next(statement.all(...values))
      }
      return step.value
    },
  }
}

/** Translates a statement: one file is one schema, values have types of their own, and a writer has all rows for itself. */
export function inSqlite(text: string): string {
  return text
    .replaceAll('transload.each(', 'json_each(')
    .replaceAll('transload.', '')
    .replaceAll(/([a-z.]*facts)::text/g, 'json($1)')
    .replaceAll(/CAST\((.*?) AS json\)/g, 'json($1)')
    .replaceAll('json_build_object(', 'json_object(')
    .replaceAll(/::[a-z]+/g, '')
    .replaceAll(/ FOR UPDATE( SKIP LOCKED)?/g, '')
    .replaceAll(/\$(\d+)/g, '?$1')
}
