/** Promise: the gateway leaves a PostgreSQL server that accepts no writes (contract, section 11). */

import { expect, onTestFinished, test, vi } from 'vitest'
import type { Store } from '../../src/outside/store/store.ts'
import { named, newClaim } from '../store/samples.ts'
import { startMovingAddress } from './moving-address.ts'
import { addressOf, type DebianServer, openServer, openStoreAt, startStandby } from './postgres-servers.ts'

/* A gateway leaves a server that accepts no writes and reconnects, because its address may then lead to another one. */

const LONG_MS = 180_000
vi.setConfig({ testTimeout: LONG_MS })

/** Opens a store at an address that moves. */
async function openMoving({ port }: DebianServer) {
  const address = await startMovingAddress(port)
  onTestFinished(address.close)
  return { address, ...(await openStoreAt(addressOf(address))) }
}

async function primaryAndStandby(): Promise<readonly [DebianServer, DebianServer]> {
  const one = await openServer()
  const other = await startStandby(one)
  onTestFinished(() => other.remove())
  return [one, other]
}

/** Returns the port of the server on which a store writes. */
async function writesOn(store: Store, ...servers: readonly DebianServer[]): Promise<readonly number[]> {
  const name = `N-${Math.random()}`
  await store.put({ names: [named({ name })] })
  const found = await Promise.all(
    servers.map(async (server) => {
      const rows = await server.query(`SELECT FROM transload.names WHERE name = '${name}'`).catch(() => [])
      return rows.length > 0 ? [server.port] : []
    }),
  )
  return found.flat()
}

/* test/debian/failover.test.ts kills primaries, and lets them keep running beside the standby. */
test('a primary that hangs with its connections open is left for the standby that is promoted', async () => {
  const [primary, standby] = await primaryAndStandby()
  const { store, states, address } = await openMoving(primary)
  await store.put({ names: [named()] })
  const down = states.next(false)
  primary.hang()
  expect((await down).error?.message).toMatch(/Query read timeout/)
  await expect(store.claim(newClaim())).rejects.toThrow('PostgreSQL does not answer')
  address.moveTo(standby.port)
  await vi.waitFor(() => expect(states.seen.at(-1)?.error?.message).toMatch(/is a standby/), { timeout: 20_000 })
  const up = states.next(true)
  await standby.promote()
  await up
  expect(await writesOn(store, standby)).toEqual([standby.port])
})

test('a server that becomes read-only is left, and used again when it accepts writes', async () => {
  const server = await openServer()
  const { store, states } = await openStoreAt(addressOf(server))
  // The connection of the pool is open, so the session alone can notice.
  await store.put({ names: [named()] })
  const down = states.next(false)
  await server.set('default_transaction_read_only', 'on')
  await down
  await expect(store.put({ names: [named()] })).rejects.toThrow('PostgreSQL does not answer')
  await vi.waitFor(() => expect(states.seen.at(-1)?.error?.message).toMatch(/is read-only/), { timeout: 20_000 })
  const up = states.next(true)
  await server.set('default_transaction_read_only', 'off')
  await up
  expect(await writesOn(store, server)).toEqual([server.port])
})

test('a write that a read-only server refuses makes the gateway leave at once', async () => {
  const server = await openServer()
  const { store, states } = await openStoreAt(addressOf(server))
  await store.put({ names: [named()] })
  const down = states.next(false)
  await server.query("ALTER SYSTEM SET default_transaction_read_only = 'on'", 'SELECT pg_reload_conf()')
  await vi.waitFor(() => expect(store.put({ names: [named()] })).rejects.toThrow(), { interval: 1, timeout: 20_000 })
  expect((await down).error?.message).toMatch(/read-only transaction/)
})

test('a primary that has lost its synchronous standby acknowledges nothing and is not ready', async () => {
  const [primary, standby] = await primaryAndStandby()
  await primary.set('synchronous_standby_names', '*')
  await primary.until("SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'")
  const { store, states } = await openStoreAt(addressOf(primary))
  expect(await writesOn(store, primary)).toEqual([primary.port])
  const down = states.next(false)
  await standby.kill()
  await expect(store.put({ names: [named()] })).rejects.toThrow('PostgreSQL does not answer')
  // This must come from the session, not from a pool connection that was opened by chance.
  expect((await down).error?.message).toMatch(
    /^127\.0\.0\.1:\d+ commits nothing while it waits for a synchronous standby/,
  )
  // No additional writes wait at the server.
  const waiting = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
  const before = await primary.query(waiting)
  await expect(store.put({ names: [named()] })).rejects.toThrow('PostgreSQL does not answer')
  expect(await primary.query(waiting)).toEqual(before)
  const up = states.next(true)
  await primary.set('synchronous_standby_names', '')
  await up
  expect(await writesOn(store, primary)).toEqual([primary.port])
})

test('a user without special rights can see that a server accepts writes', async () => {
  const server = await openServer()
  await server.query('CREATE ROLE gateway LOGIN', 'GRANT CREATE ON DATABASE postgres TO gateway')
  const { store, states } = await openStoreAt(`postgres://gateway@127.0.0.1:${server.port}/postgres`)
  expect(states.seen).toEqual([{ ready: true }])
  await store.put({ names: [named()] })
})
