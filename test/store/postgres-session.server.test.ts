import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { readAddress, type Server } from '../../src/store/postgres/address.ts'
import { SessionsShared } from '../../src/store/postgres/errors.ts'
import { requireSession } from '../../src/store/postgres/pooler.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { link, thing } from './samples.ts'

const CHANNEL = 'test'

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

/** Connects as through a pooler, which invents the process ids of its connections. */
async function connectPooled(url: string): Promise<pg.Client> {
  return Object.assign(await connect(url), { processID: 1 })
}

const serverAt = (url: string): Server => readAddress(url).servers[0]

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

test('what was read is not asked for again while notifications of changes arrive', async () => {
  const store = await openPostgresStore({ url: await server.createDatabase() })
  await store.put({ links: [], thing: thing() })
  await vi.waitFor(async () => {
    const before = store.lookups?.().hits ?? 0
    await store.thing('acme', 'id-1')
    await store.thing('acme', 'id-1')
    expect(store.lookups?.().hits).toBeGreaterThan(before)
  })
  await store.close()
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
  await vi.waitFor(async () => expect((await watcher.query(END)).rows[0]?.ended).toBe(1))
  expect(await loading).toMatchObject([{ status: 'rejected', reason: { name: 'StoreDown' } }])
  await other.query('ROLLBACK')
  await vi.waitFor(() => expect(store.ready()).toBe(true))
  expect(await store.load([link()], { replace: false })).toMatchObject({ written: 1 })
  await store.close()
})

test('PostgreSQL itself keeps a session for each connection, which needs no second connection to be known', async () => {
  const client = await connect(await server.createDatabase())
  const nowhere = serverAt('postgres://127.0.0.1:1/none')
  await expect(requireSession(client, nowhere, CHANNEL)).resolves.toBeUndefined()
})

test('a pooler is good if notifications arrive through it', async () => {
  const url = await server.createDatabase()
  const client = await connectPooled(url)
  await client.query(`LISTEN ${CHANNEL}`)
  await expect(requireSession(client, serverAt(url), CHANNEL)).resolves.toBeUndefined()
  expect(client.listenerCount('notification')).toBe(0)
})

test('a pooler through which no notification arrives is refused, by its place', async () => {
  const url = await server.createDatabase()
  // The session that would listen is another one.
  const client = await connectPooled(url)
  const refused = requireSession(client, serverAt(url), CHANNEL)
  await expect(refused).rejects.toThrow(SessionsShared)
  await expect(refused).rejects.toThrow(`the pooler at ${new URL(url).host} gives each transaction another session`)
})
