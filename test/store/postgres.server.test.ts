/** Promise: a gateway and its PostgreSQL agree on the time, and wait for each other in no circle (contract, section 7). */

import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgresStore } from '../../src/outside/store/postgres/postgres.ts'
import { StoreDown } from '../../src/outside/store/store.ts'
import { openGateways } from './meetings.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { named, newClaim, quote } from './samples.ts'
import { listen } from './states.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

test.each([
  ['password', (url: string) => url.replace(':password@', ':wrong@')],
  ['database', (url: string) => url.replace(/[^/]*$/, 'nowhere')],
])('a wrong %s is an error at the start', async (_what, wrong) => {
  const url = await server.createDatabase()
  await expect(openPostgresStore({ url: wrong(url) })).rejects.toThrow(/password|nowhere/)
})

test('the store has the time of the server as soon as it is open', async () => {
  const { url, query } = await openGateways(server)
  const NOON = 1_000_000
  await query(
    `CREATE OR REPLACE FUNCTION transload.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT ${NOON}::bigint'`,
  )
  const store = await openPostgresStore({ url })
  const now = store.now()
  await store.close()
  expect(Math.abs(now - NOON)).toBeLessThan(10_000)
})

test('writes that meet on the same rows wait for each other, in no circle', async () => {
  const { one, other } = await openGateways(server)
  const names = Array.from({ length: 20 }, (_, index) => `N-${index}`)
  const writes = Array.from({ length: 300 }, (_, index) => {
    const ordered = index % 2 === 0 ? names : names.toReversed()
    const given = ordered.map((name) => named({ name, id: `${index}`, at: index }))
    const store = index % 4 < 2 ? one : other
    if (index % 10 === 0)
      return store.load(
        given.map((one) => ({ ...one, vin: '' })),
        { replace: true },
      )
    return store.put({ names: given, quote: quote({ id: `id-${index % 3}`, at: index }) })
  })
  await Promise.all(writes)
  // Every write gives all names one meaning, so the last one is seen under each of them.
  const found = await Promise.all([one, other].flatMap((store) => names.map((name) => store.named('acme', name))))
  expect(new Set(found.map(([newest]) => newest?.id)).size).toBe(1)
})

test('a store opens no more connections than it may', async () => {
  const { url, query } = await openGateways(server)
  const counted = async () =>
    (
      await query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'transload' AND datname = current_database()",
      )
    ).length
  const before = await counted()
  const store = await openPostgresStore({ url, connections: 3 })
  const keys = Array.from({ length: 100 }, (_, index) => `K-${index}`)
  await Promise.all(keys.flatMap((key) => [store.claim(newClaim({ key })), store.findClaim('acme', key)]))
  expect((await counted()) - before).toBe(3)
  await store.close()
})

test('a gateway closes while the server is down', async () => {
  const url = await server.createDatabase()
  const states = listen()
  const store = await openPostgresStore({ url, onState: states.onState })
  const down = states.next(false)
  await server.crash()
  await down
  await store.close()
  await expect(store.put({ names: [named()] })).rejects.toThrow(StoreDown)
  await server.start()
})
