import pg from 'pg'
import { expect, onTestFinished, vi } from 'vitest'
import { openPostgresStore } from '../../src/outside/store/postgres/postgres.ts'
import type { PostgresServer } from './postgres-server.ts'

const SOON = { timeout: 20_000 }
/** The statements that wait for rows. */
export const WAITERS = `FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`

/** Opens two gateways on a separate database, and a connection that observes it. */
export async function openGateways(server: PostgresServer) {
  const url = await server.createDatabase()
  const stores = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })])
  const client = new pg.Client({ connectionString: url, application_name: 'looker' })
  await client.connect()
  const query = async (sql: string) => (await client.query(sql)).rows
  const close = () => Promise.all(stores.map((store) => store.close()))
  onTestFinished(async () => {
    await close()
    await client.end()
  })

  /** Waits until this many statements wait for rows. */
  const waiting = (statements: number) =>
    vi.waitFor(async () => expect(await query(`SELECT ${WAITERS}`)).toHaveLength(statements), SOON)

  return {
    url,
    one: stores[0],
    other: stores[1],
    query,
    waiting,
    /** Holds rows in a transaction until the statements of some work wait for them and something else has been done. */
    async meeting<T>(
      { hold, statements }: { readonly hold: string; readonly statements: number },
      work: () => Promise<T>,
      meanwhile: (blocker: pg.Client, done: Promise<T>) => Promise<unknown> = async () => {},
    ): Promise<T> {
      const blocker = new pg.Client({ connectionString: url, application_name: 'blocker' })
      await blocker.connect()
      try {
        await blocker.query(`BEGIN; ${hold}`)
        const done = work()
        await waiting(statements)
        await meanwhile(blocker, done)
        await blocker.query('ROLLBACK')
        return await done
      } finally {
        await blocker.end()
      }
    },
    /** Returns how many deadlocks the server had to break, after counting all statements of the gateways. */
    async deadlocks(): Promise<number> {
      await close()
      const open =
        "SELECT FROM pg_stat_activity WHERE application_name LIKE 'transload%' AND datname = current_database()"
      await vi.waitFor(async () => expect(await query(open)).toEqual([]), SOON)
      const [row] = await query('SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()')
      return row.deadlocks
    },
  }
}
