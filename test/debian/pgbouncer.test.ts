/** Promise: the store works behind PgBouncer (contract, section 11). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { cleanEnv } from '../command.ts'
import { freePort } from '../free-port.ts'
import { named, newClaim, quote } from '../store/samples.ts'
import { addressOf, asUser, type DebianServer, folderOfUser, openStoreAt, startServer } from './postgres-servers.ts'

/* Debian's PgBouncer in front of a PostgreSQL. */

const LONG_MS = 120_000
const TURNS = 12
vi.setConfig({ testTimeout: LONG_MS })

let server: DebianServer
beforeAll(async () => {
  server = await startServer()
}, LONG_MS)
afterAll(() => server.remove())

/** Starts a PgBouncer in front of a server, and returns the database's address through it. */
async function startBouncer(poolMode: string): Promise<string> {
  const folder = await folderOfUser('pgbouncer')
  const port = await freePort()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
postgres = host=127.0.0.1 port=${server.port} user=postgres
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

test.each(['session', 'transaction'])(
  'gateways behind a PgBouncer in %s mode read what the other one has written',
  async (mode) => {
    const url = await startBouncer(mode)
    const [{ store: one }, { store: other }] = [await openStoreAt(url), await openStoreAt(url)]
    for (let turn = 0; turn < TURNS; turn += 1) {
      // Many at once use many sessions, each with different prepared statements.
      await Promise.all(
        Array.from({ length: TURNS }, async (_, i) => {
          const id = `${mode}-${turn}-${i}`
          await one.put({ names: [named({ name: id })], quote: quote({ id, own: id }) })
          expect((await other.quote('acme', id))?.own).toBe(id)
          expect(await other.named('acme', id)).toHaveLength(1)
          const key = { key: id, handle: id }
          const claims = await Promise.all([one.claim(newClaim(key)), other.claim(newClaim(key))])
          expect(claims.filter(({ won }) => won)).toHaveLength(1)
          const change = { state: 'booked', instance: 'me', why: 'made', shipment: id } as const
          expect(await other.change({ tenant: 'acme', key: id, version: 1 }, change)).toMatchObject({ version: 2 })
          expect(await one.claimsOfShipment('acme', id)).toMatchObject([{ key: id, state: 'booked' }])
        }),
      )
    }
  },
)
