import pg from 'pg'
import { expect, onTestFinished, vi } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import type { Store } from '../../src/store/store.ts'
import type { PostgresServer } from './postgres-server.ts'

const SOON = { timeout: 20_000 }

/** Opens gateways on a database of their own, and a connection that looks at it. */
export async function openGateways(server: PostgresServer) {
  const url = await server.createDatabase()
  const stores = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })])
  const client = new pg.Client({ connectionString: url, application_name: 'looker' })
  await client.connect()
  const query = async (sql: string) => (await client.query(sql)).rows
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()))
    await client.end()
  })
  return { url, one: stores[0], other: stores[1], query }
}

/** Holds rows in a transaction until statements of some work wait for them, and something has been done meanwhile. */
export async function meeting<T>(
  { url, query }: Pick<Awaited<ReturnType<typeof openGateways>>, 'url' | 'query'>,
  { hold, statements }: { readonly hold: string; readonly statements: number },
  work: () => Promise<T>,
  meanwhile: (blocker: pg.Client, done: Promise<T>) => Promise<unknown> = async () => {},
): Promise<T> {
  const blocker = new pg.Client({ connectionString: url, application_name: 'blocker' })
  await blocker.connect()
  try {
    await blocker.query(`BEGIN; ${hold}`)
    const done = work()
    await waiting(query, statements)
    await meanwhile(blocker, done)
    await blocker.query('ROLLBACK')
    return await done
  } finally {
    await blocker.end()
  }
}

/** The statements that wait for rows. */
export const WAITERS = `FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`

/** Waits until so many statements wait for rows. */
export async function waiting(query: (sql: string) => Promise<readonly unknown[]>, statements: number) {
  await vi.waitFor(async () => expect(await query(`SELECT ${WAITERS}`)).toHaveLength(statements), SOON)
}

/** Returns how many deadlocks the server had to break, once all statements of these stores are counted. */
export async function deadlocks(stores: readonly Store[], query: (sql: string) => Promise<readonly { n?: number }[]>) {
  await Promise.all(stores.map((store) => store.close()))
  const open = "SELECT FROM pg_stat_activity WHERE application_name LIKE 'transload%' AND datname = current_database()"
  await vi.waitFor(async () => expect(await query(open)).toEqual([]), SOON)
  return (await query('SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()'))[0]?.n
}
