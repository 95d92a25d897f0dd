/** Promise: the gateway runs under Node's `--permission` with the documented flags (contract, section 11). */

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get as getOverTls } from 'node:https'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSandbox } from '../bookings/desk.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { cleanEnv, PROGRAM, ROOT, run, start } from '../command.ts'
import { basic } from '../gateway.ts'
import { startPostgres } from '../store/postgres-server.ts'

/** The folder of the built program, like `/app` in the image. */
const APP = join(dirname(PROGRAM), '../..')
const SERVER = join(ROOT, 'test/http/certificates/server')

/** Makes the folders of a container, and runs the program with the flags of the image, adapted to these folders. */
function openContainer() {
  const place = folder()
  for (const name of ['data', 'etc']) mkdirSync(join(place, name))
  const [, words = '[]'] = /^CMD (\[[\s\S]*?\])$/m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')) ?? []
  const all: readonly string[] = JSON.parse(words.replaceAll('\\\n', ''))
  const flags = all
    .filter((word) => word.startsWith('--'))
    .map((flag) =>
      flag
        .replace('=/app/data/', `=${place}/data/`)
        .replace('=/app/', `=${APP}/`)
        .replace('=/etc/transload/', `=${place}/etc/`)
        .replace('fs-read=/run/secrets/', `fs-read=${place}/data/`),
    )
    .concat(`--allow-fs-read=${ROOT}/node_modules/*`)
  expect(flags).toContain('--permission')
  const options = (more: NodeJS.ProcessEnv) => {
    const env = { V2_BASE_URL: 'https://service.example.com', HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', ...more }
    return { cwd: place, env: cleanEnv(env) }
  }
  return {
    place,
    transload: (words: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      run(process.execPath, [...flags, PROGRAM, ...words], options(env)),
    serve: (env: NodeJS.ProcessEnv, more: readonly string[] = []) =>
      start(process.execPath, [...flags, ...more, PROGRAM, 'serve'], options(env)),
  }
}

async function openService() {
  const service = await openSandbox()
  return service.url
}

const urlIn = (out: string) => /"url":"([^"]+)"/.exec(out)?.[1] ?? ''

test('it serves with TLS files and modules of /etc/transload over PostgreSQL', async () => {
  const { place, serve } = openContainer()
  const postgres = await startPostgres()
  onTestFinished(() => postgres.remove())
  for (const end of ['pem', 'key']) copyFileSync(`${SERVER}.${end}`, join(place, `etc/server.${end}`))
  mkdirSync(join(place, 'etc/mappings'))
  writeFileSync(join(place, 'etc/mappings/none.mjs'), 'export default []')
  const gateway = serve({
    V2_BASE_URL: await openService(),
    STORE_URL: await postgres.createDatabase(),
    TLS_CERT_FILE: join(place, 'etc/server.pem'),
    TLS_KEY_FILE: join(place, 'etc/server.key'),
    MAPPINGS_DIR: join(place, 'etc/mappings'),
  })
  const { port } = new URL(urlIn(await gateway.says(/"msg":"listening"/)))
  const status = await new Promise((resolve, reject) => {
    const headers = { authorization: basic() }
    const options = { host: '127.0.0.1', port, path: '/getShipment.php?ReferenceNumber=NONE', headers }
    getOverTls({ ...options, rejectUnauthorized: false, agent: false }, (reply) => {
      reply.resume()
      resolve(reply.statusCode)
    }).once('error', reject)
  })
  expect(status).toBe(404)
  gateway.signal('SIGTERM')
  expect(await gateway.ended).toMatchObject({ code: 0, err: '' })
})

test('it reads and writes no other file, and says which flag would allow it', async () => {
  const { place, transload } = openContainer()
  const outside = join(place, 'outside')
  writeFileSync(outside, '{}')
  const [lookups, tenants, store] = await Promise.all([
    transload(['check'], { LOOKUPS_FILE: outside }),
    transload(['check'], { TENANTS_FILE: outside }),
    transload(['serve'], { STORE_URL: `${outside}.db` }),
  ])
  expect(lookups).toMatchObject({ code: 78, err: expect.stringContaining('cannot be read (ERR_ACCESS_DENIED)') })
  expect(tenants).toMatchObject({ code: 78, err: expect.stringContaining('cannot be read (ERR_ACCESS_DENIED)') })
  expect(store).toMatchObject({
    code: 78,
    err: expect.stringContaining('STORE_URL names a store that cannot be used: Node needs --allow-fs-write'),
  })
  const emergency = await transload(['check'], { EMERGENCY_LOG_FILE: `${outside}.ndjson` })
  expect(emergency).toMatchObject({
    code: 78,
    err: expect.stringContaining('EMERGENCY_LOG_FILE cannot be written: Node needs --allow-fs-write'),
  })
  expect(await transload(['check'])).toMatchObject({ code: 0, err: '' })
  expect(await transload(['check'], { LOOKUPS_FILE: '/proc/self/root/etc/passwd' })).toMatchObject({ code: 78 })
})

test.each([
  ['the embedded store keeps threads', '', 'ERR_ACCESS_DENIED started'],
  ['any other store keeps none', 'memory:', 'ERR_ACCESS_DENIED ERR_ACCESS_DENIED'],
])('once it listens, it can start no process: %s', async (_, STORE_URL, outcome) => {
  const { serve, place } = openContainer()
  const probe = `import { spawnSync } from 'node:child_process'
    import { Worker } from 'node:worker_threads'
    const tried = (attempt) => { try { attempt(); return 'started' } catch ({ code }) { return code } }
    process.once('SIGUSR2', () => console.log('tried:',
      tried(() => spawnSync('true')), tried(() => new Worker('', { eval: true }))))`
  writeFileSync(join(place, 'etc/probe.mjs'), probe)
  const gateway = serve({ STORE_URL }, [`--import=${join(place, 'etc/probe.mjs')}`])
  await gateway.says(/"msg":"listening"/)
  gateway.signal('SIGUSR2')
  expect(await gateway.says(/tried: .*\n/)).toContain(`tried: ${outcome}\n`)
})
