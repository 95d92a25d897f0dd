/** Promise: connections to PostgreSQL are encrypted as the address says (contract, section 11). */

import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { inspectPostgres } from '../../src/outside/store/postgres/postgres.ts'
import { VERSION } from '../../src/outside/store/schema.ts'
import { output, ROOT } from '../command.ts'
import {
  addressOf,
  asUser,
  type DebianServer,
  folderOfUser,
  openServer,
  openStoreAt,
  startServer,
} from './postgres-servers.ts'

/* A PostgreSQL with TLS, and a certificate from our own authority for `localhost` and `127.0.0.1`. */

const LONG_MS = 120_000
const certificate = (name: string) => join(ROOT, 'test/http/certificates', name)
const AUTHORITY = certificate('authority.pem')
const STRANGER = certificate('stranger.pem')
const OF_GATEWAYS = "application_name = 'transload session'"

let server: DebianServer
let folder: string
beforeAll(async () => {
  folder = await folderOfUser('certificates')
  // The server insists on a key that its user owns and no other user can read.
  for (const name of ['server.pem', 'server.key']) copyFileSync(certificate(name), join(folder, name))
  if (process.getuid?.() === 0) await output('chown', ['-R', 'postgres:', folder])
  await output(...asUser('chmod', ['600', join(folder, 'server.key')]))
  server = await startServer({
    ssl: 'on',
    ssl_cert_file: join(folder, 'server.pem'),
    ssl_key_file: join(folder, 'server.key'),
    // Two addresses of the machine; the certificate is for one of them.
    listen_addresses: '127.0.0.1,127.0.0.2',
  })
}, LONG_MS)
afterAll(async () => {
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
})
// The server ends a session some time after its client has closed the connection.
beforeEach(() => server.until(`SELECT count(*) = 0 FROM pg_stat_activity WHERE ${OF_GATEWAYS}`))

async function open(parameters: string, host = '127.0.0.1') {
  const { states, notices } = await openStoreAt(`postgres://postgres@${host}:${server.port}/postgres${parameters}`)
  return { state: states.seen[0], notices }
}

/** Returns how many gateway sessions are encrypted, and how many are not. */
async function sessions(): Promise<unknown> {
  const [row] = await server.query(
    `SELECT count(*) FILTER (WHERE ssl)::int AS encrypted, count(*) FILTER (WHERE NOT ssl)::int AS plain
      FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ${OF_GATEWAYS}`,
  )
  return row
}

test('without sslmode, and with disable, nothing is encrypted', async () => {
  for (const parameters of ['', '?sslmode=disable']) {
    expect((await open(parameters)).state).toMatchObject({ ready: true })
  }
  expect(await sessions()).toEqual({ encrypted: 0, plain: 2 })
})

test.each([
  ['require', 'any certificate', '?sslmode=require', '127.0.0.1'],
  ['require with an authority', 'any name', `?sslmode=require&sslrootcert=${AUTHORITY}`, '127.0.0.2'],
  ['verify-ca', 'any name', `?sslmode=verify-ca&sslrootcert=${AUTHORITY}`, '127.0.0.2'],
  ['verify-full', 'the right name', `?sslmode=verify-full&sslrootcert=${AUTHORITY}`, '127.0.0.1'],
])('%s accepts %s, and encrypts', async (mode, _what, parameters, host) => {
  const { state, notices } = await open(parameters, host)
  expect(state).toMatchObject({ ready: true })
  expect(await sessions()).toEqual({ encrypted: 1, plain: 0 })
  // The gateway says if it does not verify the server.
  expect(notices).toEqual(mode === 'require' ? [expect.stringMatching(/the server is not verified/)] : [])
})

test('an inspection connects as a gateway does', async () => {
  await open('')
  const url = `postgres://postgres@127.0.0.2:${server.port}/postgres`
  expect(await inspectPostgres(`${url}?sslmode=require`)).toMatchObject({ version: VERSION })
  await expect(inspectPostgres(`${url}?sslrootcert=${AUTHORITY}`)).rejects.toThrow(/IP: 127\.0\.0\.2/)
})

test.each([
  ['require with an authority', 'a stranger', `sslmode=require&sslrootcert=${STRANGER}`, '127.0.0.1', 'certificate'],
  ['verify-ca', 'a stranger', `sslmode=verify-ca&sslrootcert=${STRANGER}`, '127.0.0.1', 'certificate'],
  ['verify-full', 'a stranger', `sslmode=verify-full&sslrootcert=${STRANGER}`, '127.0.0.1', 'certificate'],
  ['verify-full', 'another name', `sslmode=verify-full&sslrootcert=${AUTHORITY}`, '127.0.0.2', 'IP: 127.0.0.2'],
  ['verify-full', 'an authority that Node does not know', 'sslmode=verify-full', '127.0.0.1', 'certificate'],
])('%s refuses %s', async (_mode, _what, parameters, host, why) => {
  const { state } = await open(`?${parameters}`, host)
  expect(state).toMatchObject({ ready: false, error: { message: expect.stringContaining(why) } })
})

test('a server without TLS is refused where the address requires it', { timeout: LONG_MS }, async () => {
  const { states } = await openStoreAt(`${addressOf(await openServer())}?sslmode=require`)
  const message = 'PostgreSQL does not answer: The server does not support SSL connections'
  expect(states.seen).toMatchObject([{ ready: false, error: { message } }])
})
