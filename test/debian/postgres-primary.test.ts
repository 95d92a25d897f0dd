/** Promise: of several servers of PostgreSQL, the one that takes writes is used (contract, section 11). */

import { expect, onTestFinished, test, vi } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import type { Store } from '../../src/store/store.ts'
import { named, newClaim } from '../store/samples.ts'
import { listen } from '../store/states.ts'
import { addressOf, type DebianServer, openServer, startStandby } from './postgres-servers.ts'

/* A gateway finds the server that takes writes, and leaves one that does not or should not. */

const LONG_MS = 180_000
vi.setConfig({ testTimeout: LONG_MS })

async function open(url: string) {
  const states = listen()
  const notices: string[] = []
  const store = await openPostgresStore({ url, onState: states.onState, onNotice: (notice) => notices.push(notice) })
  onTestFinished(() => store.close())
  return { store, states, notices }
}

async function primaryAndStandby(): Promise<readonly [DebianServer, DebianServer]> {
  const one = await openServer()
  const other = await startStandby(one)
  onTestFinished(() => other.remove())
  return [one, other]
}

/** Makes an old primary that came back, beside the one that was promoted meanwhile. */
async function oldAndNew(): Promise<readonly [DebianServer, DebianServer]> {
  const [old, fresh] = await primaryAndStandby()
  await old.kill()
  await fresh.promote()
  await old.start()
  return [old, fresh]
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

test('the primary is used, wherever it stands in the list', async () => {
  const [primary, standby] = await primaryAndStandby()
  for (const url of [addressOf(primary, standby), addressOf(standby, primary)]) {
    const { store, states } = await open(`${url}?target_session_attrs=read-write`)
    expect(states.seen).toEqual([{ ready: true, server: `127.0.0.1:${primary.port}` }])
    expect(await writesOn(store, primary)).toEqual([primary.port])
  }
})

test('a primary that is killed is left for the standby that is promoted', async () => {
  const [primary, standby] = await primaryAndStandby()
  const { store, states } = await open(addressOf(primary, standby))
  const down = states.next(false)
  await primary.kill()
  await down
  await expect(store.claim(newClaim())).rejects.toThrow('PostgreSQL does not answer')
  const up = states.next(true)
  await standby.promote()
  expect(await up).toEqual({ ready: true, server: `127.0.0.1:${standby.port}` })
  expect(await writesOn(store, standby)).toEqual([standby.port])
  expect(states.seen.map(({ error }) => error?.message).join('\n')).toMatch(
    /No server of STORE_URL takes writes: .*; .* is a standby\./,
  )
})

test('a primary that hangs with its connections open is left for the standby that is promoted', async () => {
  const [primary, standby] = await primaryAndStandby()
  const { store, states } = await open(addressOf(primary, standby))
  await store.put({ names: [named()] })
  const down = states.next(false)
  primary.hang()
  expect((await down).error?.message).toMatch(/Query read timeout/)
  const up = states.next(true)
  await standby.promote()
  expect(await up).toEqual({ ready: true, server: `127.0.0.1:${standby.port}` })
  expect(await writesOn(store, standby)).toEqual([standby.port])
})

test('a standby alone is told from a server that is down, and used once it is promoted', async () => {
  const [, standby] = await primaryAndStandby()
  const { store, states } = await open(addressOf(standby))
  expect(states.seen).toMatchObject([
    {
      ready: false,
      error: { message: `No server of STORE_URL takes writes: 127.0.0.1:${standby.port} is a standby.` },
    },
  ])
  const up = states.next(true)
  await standby.promote()
  await up
  expect(await writesOn(store, standby)).toEqual([standby.port])
})

test('a server that becomes read-only is left, and used again when it takes writes', async () => {
  const server = await openServer()
  const { store, states } = await open(addressOf(server))
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
  const { store, states } = await open(addressOf(server))
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
  const { store, states } = await open(addressOf(primary))
  expect(await writesOn(store, primary)).toEqual([primary.port])
  const down = states.next(false)
  await standby.kill()
  await expect(store.put({ names: [named()] })).rejects.toThrow('PostgreSQL does not answer')
  // Said by the session, not by a connection of the pool that was opened by chance.
  expect((await down).error?.message).toMatch(
    /^127\.0\.0\.1:\d+ commits nothing while it waits for a synchronous standby/,
  )
  // No more writes wait at the server than before.
  const waiting = "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
  const before = await primary.query(waiting)
  await expect(store.put({ names: [named()] })).rejects.toThrow('PostgreSQL does not answer')
  expect(await primary.query(waiting)).toEqual(before)
  const up = states.next(true)
  await primary.set('synchronous_standby_names', '')
  await up
  expect(await writesOn(store, primary)).toEqual([primary.port])
})

test('of two servers that take writes, the one that was promoted later is used, and the operator is told', async () => {
  const [old, fresh] = await oldAndNew()
  for (const url of [addressOf(old, fresh), addressOf(fresh, old)]) {
    const { store, notices } = await open(url)
    expect(await writesOn(store, old, fresh)).toEqual([fresh.port])
    expect(notices).toEqual([
      expect.stringMatching(
        new RegExp(
          `^127\\.0\\.0\\.1:${old.port} \\(cluster \\d+, timeline 1\\) takes writes, .* 127\\.0\\.0\\.1:${old.port} is an old primary and is not used; stop it$`,
        ),
      ),
    ])
  }
})

test('a primary that goes on beside the standby that was promoted is left', async () => {
  const [old, fresh] = await primaryAndStandby()
  const { store, states } = await open(addressOf(old, fresh))
  expect(await writesOn(store, old)).toEqual([old.port])
  const moved = states.next(false).then(() => states.next(true))
  await fresh.promote()
  expect(await moved).toEqual({ ready: true, server: `127.0.0.1:${fresh.port}` })
  expect(await writesOn(store, old, fresh)).toEqual([fresh.port])
})

test('two servers that take writes and cannot be told apart are not used', async () => {
  const one = await openServer()
  const stranger = await openServer()
  const { states } = await open(addressOf(one, stranger))
  expect(states.seen).toMatchObject([
    {
      ready: false,
      error: { message: expect.stringMatching(/^Two servers of STORE_URL take writes, and the gateway cannot tell/) },
    },
  ])
  const up = states.next(true)
  await stranger.kill()
  expect(await up).toEqual({ ready: true, server: `127.0.0.1:${one.port}` })
})

test('a user without special rights can tell servers apart', async () => {
  const server = await openServer()
  await server.query('CREATE ROLE gateway LOGIN', 'GRANT CREATE ON DATABASE postgres TO gateway')
  // Two addresses of one server would be refused if it did not tell which it is.
  const { store, states } = await open(`postgres://gateway@127.0.0.1:${server.port},localhost:${server.port}/postgres`)
  expect(states.seen).toEqual([{ ready: true, server: `127.0.0.1:${server.port}` }])
  await store.put({ names: [named()] })
})
