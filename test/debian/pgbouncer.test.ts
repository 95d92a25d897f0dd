import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { freePort } from '../free-port.ts'
import { link, thing } from '../store/samples.ts'
import { listen } from '../store/states.ts'
import { addressOf, asUser, type DebianServer, folderOfUser, startServer } from './postgres-servers.ts'

/* Debian's PgBouncer before a PostgreSQL. */

const LONG_MS = 120_000
vi.setConfig({ testTimeout: LONG_MS })

let server: DebianServer
beforeAll(async () => {
  server = await startServer()
}, LONG_MS)
afterAll(() => server.remove())

/** Starts a PgBouncer before a server, and returns the address of the database through it. */
async function startBouncer(poolMode: string, behind: { readonly port: number } = server): Promise<string> {
  const folder = await folderOfUser('pgbouncer')
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
postgres = host=127.0.0.1 port=${behind.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = ${poolMode}
default_pool_size = 40
server_login_retry = 1
logfile = ${join(folder, 'pgbouncer.log')}
`,
  )
  const [program, args] = asUser('pgbouncer', ['--quiet', file])
  const child = spawn(program, [...args], {
    stdio: 'inherit',
    env: cleanEnv({ PATH: `${process.env['PATH']}:/usr/sbin` }),
  })
  onTestFinished(async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
    await rm(folder, { recursive: true, force: true })
  })
  const url = addressOf({ port })
  await vi.waitFor(
    async () => {
      const client = new pg.Client(url)
      await client.connect()
      await client.end()
    },
    { timeout: 20_000 },
  )
  return url
}

test('gateways behind a PgBouncer in session mode see the writes of each other', async () => {
  const url = await startBouncer('session')
  const [one, other] = await Promise.all([openPostgresStore({ url }), openPostgresStore({ url })])
  onTestFinished(async () => void (await Promise.all([one.close(), other.close()])))
  await one.put({ links: [], thing: thing({ own: 'old' }) })
  expect((await other.thing('acme', 'id-1'))?.own).toBe('old')
  await one.put({ links: [], thing: thing({ own: 'new' }) })
  await vi.waitFor(async () => expect((await other.thing('acme', 'id-1'))?.own).toBe('new'), { interval: 1 })
})

test.each(['transaction', 'statement'])('a PgBouncer in %s mode is refused in one line at the start', async (mode) => {
  const url = await startBouncer(mode)
  const before = await server.query("SELECT count(*)::int AS count FROM pg_tables WHERE schemaname = 'transload'")
  const folder = newFolder('pgbouncer')
  const env = cleanEnv({ V2_BASE_URL: 'http://127.0.0.1:1', STORE_URL: url, PORT: '0', ADMIN_PORT: '0' })
  const { code, out, err } = await run(process.execPath, [join(ROOT, 'src/main.ts'), 'serve'], { cwd: folder, env })
  expect(code).toBe(78)
  const lines = (out + err).split('\n').filter((line) => line.trim() !== '')
  expect(lines.slice(1)).toEqual([
    expect.stringMatching(
      /STORE_URL names a store that cannot be used: the pooler at 127\.0\.0\.1:\d+ gives each transaction another session, .*; set pool_mode = session for this database, or name PostgreSQL itself$/,
    ),
  ])
  // Nothing was changed before.
  expect(await server.query("SELECT count(*)::int AS count FROM pg_tables WHERE schemaname = 'transload'")).toEqual(
    before,
  )
})

test('two PgBouncers before one server are one server', async () => {
  const [one, other] = await Promise.all([startBouncer('session'), startBouncer('session')])
  const port = (url: string) => ({ port: Number(new URL(url).port) })
  const states = listen()
  const store = await openPostgresStore({ url: addressOf(port(one), port(other)), onState: states.onState })
  onTestFinished(() => store.close())
  expect(states.seen).toEqual([{ ready: true, server: `127.0.0.1:${port(one).port}` }])
  await store.put({ links: [link()] })
})

test('a gateway behind a PgBouncer is ready again once the server is back', async () => {
  const own = await startServer()
  onTestFinished(() => own.remove())
  const states = listen()
  const store = await openPostgresStore({ url: await startBouncer('session', own), onState: states.onState })
  onTestFinished(() => store.close())
  await store.put({ links: [link()] })
  const down = states.next(false)
  await own.kill()
  await down
  const up = states.next(true)
  await own.start()
  await up
  expect((await store.links('acme', 'Q-1')).length).toBe(1)
})
