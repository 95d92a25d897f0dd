/** Promise: the session with PostgreSQL keeps its time and reconnects (contract, section 7). */

import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { link } from './samples.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

/** Connects to the server itself. */
async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

test('the store has the time of the server as soon as it is open', async () => {
  const url = await server.createDatabase()
  await (await openPostgresStore({ url })).close()
  const NOON = 1_000_000
  const client = await connect(url)
  await client.query(
    `CREATE OR REPLACE FUNCTION transload.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ${NOON}::bigint'`,
  )
  const store = await openPostgresStore({ url })
  const now = store.now()
  await store.close()
  expect(Math.abs(now - NOON)).toBeLessThan(10_000)
})

test('a connection that breaks within a transaction fails it, and the next one is another', async () => {
  const url = await server.createDatabase()
  const store = await openPostgresStore({ url })
  const other = await connect(url)
  await other.query('BEGIN; LOCK TABLE transload.links IN ACCESS EXCLUSIVE MODE')
  const loading = Promise.allSettled([store.load([link()], { replace: false })])
  const watcher = await connect(url)
  const END = `SELECT count(pg_terminate_backend(pid))::int AS ended FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'transload' AND wait_event_type = 'Lock'`
  await vi.waitFor(async () => expect((await watcher.query(END)).rows[0]?.ended).toBe(1), { timeout: 20_000 })
  expect(await loading).toMatchObject([{ status: 'rejected', reason: { name: 'StoreDown' } }])
  await other.query('ROLLBACK')
  await vi.waitFor(() => expect(store.ready()).toBe(true), { timeout: 20_000 })
  expect(await store.load([link()], { replace: false })).toMatchObject({ written: 1 })
  await store.close()
})
