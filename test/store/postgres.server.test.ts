/** Promise: connections that die lose no acknowledged write (contract, section 7). */

import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { StoreTooNew } from '../../src/store/store.ts'
import { size } from '../size.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { link, newClaim, scanned, thing } from './samples.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

/** Asks the database itself. */
async function query(url: string, sql: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows ?? []
  } finally {
    await client.end()
  }
}

test('connections that die with writes under way and others queued reject each write, and the next ones go on', async () => {
  const url = await server.createDatabase()
  const store = await openPostgresStore({ url })
  await store.put({ links: [link()], thing: thing({ own: 'before' }) })
  const blocker = new pg.Client({ connectionString: url, application_name: 'blocker' })
  await blocker.connect()
  await blocker.query('BEGIN; LOCK TABLE transload.claims, transload.things IN ACCESS EXCLUSIVE MODE')
  // More than there are connections: some wait in PostgreSQL, the others for a connection.
  const WRITES = 60
  const writes = Array.from({ length: WRITES }, (_, i) =>
    i % 2 === 0
      ? store.claim(newClaim({ key: `K-${i}` }))
      : store.put({ links: [link({ name: `N-${i}` })], thing: thing({ id: `I-${i}` }) }),
  )
  const outcomes = Promise.allSettled(writes)
  const waiting = "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
  await vi.waitFor(async () => expect((await query(url, waiting))[0]?.['n']).toBeGreaterThan(0), { timeout: 20_000 })
  let done = false
  void outcomes.then(() => {
    done = true
  })
  // A connection of the pool that is made anew takes the next queued write: it dies as well.
  while (!done) {
    await query(
      url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name <> 'blocker'",
    )
  }
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'StoreDown' } })
  }
  await blocker.query('ROLLBACK')
  await blocker.end()
  await vi.waitFor(async () => expect((await store.claim(newClaim({ key: 'after' }))).won).toBe(true), {
    timeout: 20_000,
  })
  await store.put({ links: [], thing: thing({ own: 'after' }) })
  expect((await store.thing('acme', 'id-1'))?.own).toBe('after')
  expect(await store.listClaims({})).toHaveLength(1)
  await store.close()
})

test('many gateways that start at once make one schema', async () => {
  const url = await server.createDatabase()
  const stores = await Promise.all(Array.from({ length: 12 }, () => openPostgresStore({ url })))
  expect(stores.every((store) => store.ready())).toBe(true)
  await Promise.all(stores.map((store, index) => store.put({ links: [link({ name: `N-${index}` })] })))
  expect((await scanned(stores[0] ?? expect.fail('no store'))).length).toBe(12)
  await Promise.all(stores.map((store) => store.close()))
  expect(await query(url, 'SELECT version FROM transload.version')).toEqual([{ version: '1' }])
})

test('a store of a newer version is refused and left as it is', async () => {
  const url = await server.createDatabase()
  const store = await openPostgresStore({ url })
  await store.put({ links: [link()] })
  await store.close()
  await query(url, 'UPDATE transload.version SET version = 1000000')
  await expect(openPostgresStore({ url })).rejects.toThrow(StoreTooNew)
  expect(await query(url, 'SELECT version FROM transload.version')).toEqual([{ version: '1000000' }])
  expect(await query(url, 'SELECT name FROM transload.links')).toEqual([{ name: 'Q-1' }])
})

test.each([
  ['password', (url: string) => url.replace(':password@', ':wrong@')],
  ['database', (url: string) => url.replace(/[^/]*$/, 'nowhere')],
])('a wrong %s is an error at the start', async (_what, wrong) => {
  const url = await server.createDatabase()
  await expect(openPostgresStore({ url: wrong(url) })).rejects.toThrow(/password|nowhere/)
})

test('writes that meet on the same rows wait for each other, in no circle', async () => {
  const url = await server.createDatabase()
  const [one, other] = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })])
  const names = Array.from({ length: 20 }, (_, index) => `N-${index}`)
  const writes = Array.from({ length: 300 }, (_, index) => {
    const ordered = index % 2 === 0 ? names : names.toReversed()
    const links = ordered.map((name) => link({ name, id: `${index}`, at: index }))
    const store = index % 4 < 2 ? one : other
    if (index % 10 === 0) return store.load(links, { replace: true })
    return store.put({ links, thing: thing({ id: `id-${index % 3}`, at: index }) })
  })
  await Promise.all(writes)
  // Every write gives all names one meaning, so the last one is seen under each of them.
  const found = await Promise.all([one, other].flatMap((store) => names.map((name) => store.links('acme', name))))
  const [last] = found[0] ?? []
  expect(last).toBeDefined()
  expect(found.map(([newest]) => newest?.id)).toEqual(found.map(() => last?.id))
  await Promise.all([one.close(), other.close()])
})

test('claims of 6 callers at two gateways have one winner each', async () => {
  const url = await server.createDatabase()
  const [one, other] = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })])
  const KEYS = size(300, 2_000)
  const wins = new Map<string, number>()
  // The callers of a key come together; as many keys at once as a busy gateway has calls under way.
  const WAVE = 100
  for (let from = 0; from < KEYS; from += WAVE) {
    const keys = Array.from({ length: WAVE * 6 }, (_, index) => `K-${from + (index % WAVE)}`)
    const claims = keys.map(async (key, index) => {
      const { won } = await (Math.floor(index / WAVE) % 2 === 0 ? one : other).claim(
        newClaim({ key, instance: `caller-${index}` }),
      )
      if (won) wins.set(key, (wins.get(key) ?? 0) + 1)
    })
    await Promise.all(claims)
  }
  expect(wins.size).toBe(KEYS)
  expect([...wins.values()].every((count) => count === 1)).toBe(true)
  expect(await query(url, 'SELECT count(*)::int AS count FROM transload.claim_audit')).toEqual([{ count: KEYS }])
  await Promise.all([one.close(), other.close()])
})

test('a store opens no more connections than it may', async () => {
  const url = await server.createDatabase()
  const store = await openPostgresStore({ url, connections: 3 })
  const keys = Array.from({ length: 100 }, (_, index) => `K-${index}`)
  await Promise.all(keys.flatMap((key) => [store.claim(newClaim({ key })), store.findClaim('acme', key)]))
  const counted = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE application_name = 'transload'"
  expect(await query(url, `${counted} AND datname = current_database()`)).toEqual([{ count: 3 }])
  await store.close()
})
