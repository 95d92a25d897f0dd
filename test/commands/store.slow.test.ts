/** Promise: a backup is whole, and a restore doubts what it may lack (contract, section 7). */

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { openEmergencyLog } from '../../src/bookings/record.ts'
import { openStore } from '../../src/store/open.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { book, expectBooked, expectUnknown } from '../bookings/desk.ts'
import { startGatewayProcess } from '../bookings/gateway-process.ts'
import { cleanEnv, newFolder, ROOT, run } from '../command.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { link, newClaim, thing } from '../store/samples.ts'

let folder: string
let path: string
let file: string
beforeEach(() => {
  folder = newFolder('store-command')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  path = join(folder, 'data', 'store.db')
  file = join(folder, 'backup.db')
})

/** For tests that start several processes, on a busy machine. */
const LONG_MS = 120_000

const PROGRAM = join(ROOT, 'src/main.ts')
const envOf = (more: NodeJS.ProcessEnv) =>
  cleanEnv({ STORE_URL: path, EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'), ...more })
const command = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  run(process.execPath, [PROGRAM, 'store', ...args], { env: envOf(env) })

async function fill(names: readonly string[]): Promise<void> {
  const store = await openSqliteStore({ path })
  for (const name of names) {
    await store.put({ links: [link({ name, id: name })], thing: thing({ id: name }) })
    await store.claim(newClaim({ key: name }))
  }
  await store.put({ links: [link({ name: 'imported', id: 'elsewhere' })] })
  await store.close()
}

async function namesIn(at: string): Promise<readonly string[]> {
  const db = new DatabaseSync(at, { readOnly: true })
  const rows = db.prepare("SELECT name FROM links WHERE name <> 'imported' ORDER BY name").all()
  db.close()
  return rows.map(({ name }) => String(name))
}

const TIME = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`

describe('store backup', () => {
  test('writes one file, says what it has, and overwrites nothing unless it is told to', {
    timeout: LONG_MS,
  }, async () => {
    await fill(['N-1'])
    const made = await command(['backup', file])
    expect(made).toMatchObject({ code: 0, err: '' })
    expect(made.out).toMatch(
      new RegExp(`^${file} has the store as it was at ${TIME}: [\\d,]+ bytes, version \\d+ of the schema\\.\n$`),
    )
    const before = readFileSync(file)
    await fill(['N-2'])
    expect(await command(['backup', file])).toEqual({
      code: 1,
      out: '',
      err: `transload: ${file} exists; --force overwrites it\n`,
    })
    expect(readFileSync(file).equals(before)).toBe(true)
    expect((await command(['backup', file, '--force'])).code).toBe(0)
    expect(await namesIn(file)).toEqual(['N-1', 'N-2'])
    expect(readdirSync(folder).sort()).toEqual(['backup.db', 'data'])
  })

  test.each([
    [
      'a missing store',
      () => [file],
      {},
      /^transload: there is no store at .+; set STORE_URL as the gateway has it\n$/,
    ],
    [
      'PostgreSQL',
      () => [file],
      { STORE_URL: 'postgres://db.example.com/x' },
      /^transload: the store is on PostgreSQL: use pg_dump .+\n$/,
    ],
    ['memory', () => [file], { STORE_URL: 'memory:' }, /^transload: STORE_URL is memory:.+\n$/],
  ])('of %s fails with one line', async (_, args, env, message) => {
    const { code, out, err } = await command(['backup', ...args()], env)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(message)
  })
})

describe('store restore', () => {
  test('is refused while a gateway runs; then it restores, keeps the old store, and says what is in doubt', {
    timeout: LONG_MS,
  }, async () => {
    const service = await startSandbox()
    onTestFinished(() => service.close())
    const { url, child } = await startGatewayProcess({ storeUrl: path, serviceUrl: service.url })
    expectBooked(await book({ url }, { ReferenceNumber: 'KNOWN' }))
    expect((await command(['backup', file])).code).toBe(0)
    expectBooked(await book({ url }, { ReferenceNumber: 'LOST' }))
    const refused = await command(['restore', file])
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toMatch(
      new RegExp(`^transload: ${path} is in use by a gateway \\(process ${child.pid} on .+\\)\\. Stop it first.+\n$`),
    )
    expectBooked(await book({ url }, { ReferenceNumber: 'LOST' }), true)
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
    const restored = await command(['restore', file])
    expect(restored).toMatchObject({ code: 0, err: '' })
    expect(restored.out).toMatch(
      new RegExp(
        `^${path} is restored from ${file}\\.\nThe store that was there is ${path}\\.before-restore-\\d{8}T\\d{6}Z\\.\nBookings since ${TIME} may be missing\\. .+\n"transload bookings list --state unknown" .+\n$`,
      ),
    )
    const next = await startGatewayProcess({ storeUrl: path, serviceUrl: service.url })
    expectBooked(await book(next, { ReferenceNumber: 'KNOWN' }), true)
    expectUnknown(await book(next, { ReferenceNumber: 'LOST' }))
    // While it runs, and known within seconds.
    expect(await command(['trust'])).toMatchObject({ code: 0, out: expect.stringContaining('trusted') })
    await expect
      .poll(async () => (await book(next, { ReferenceNumber: `NEW-${Math.random()}` })).json.TransportationBooked, {
        timeout: 20_000,
        interval: 200,
      })
      .toBe('Yes')
    expect(await command(['trust'])).toMatchObject({ code: 0, out: 'Nothing was in doubt.\n' })
  })

  test('needs to know since when bookings may be missing', { timeout: LONG_MS }, async () => {
    await fill(['N-1'])
    const db = new DatabaseSync(path)
    db.exec(`VACUUM INTO '${file}'`)
    db.close()
    expect(await command(['restore', file])).toEqual({
      code: 1,
      out: '',
      err: `transload: ${file} does not say when it was made; add --since TIME, or --complete if nothing was written after it\n`,
    })
    expect((await command(['restore', file, '--complete'])).out).not.toContain('missing')
    const { out } = await command(['restore', file, '--since', '2026-01-31T14:00Z', '--until', '24h'])
    expect(out).toMatch(
      /\nBookings since 2026-01-31T14:00:00\.000Z may be missing\. .+ until 20\d\d-\d\d-\d\dT[\d:.]+Z\.\n/,
    )
    const { doubt } = JSON.parse((await command(['verify', '--json'])).out)
    expect(doubt).toEqual({
      since: '2026-01-31T14:00:00.000Z',
      declared: expect.stringMatching(TIME),
      until: expect.stringMatching(TIME),
    })
  })

  test('of what is no sound backup fails with one line, and changes nothing', { timeout: LONG_MS }, async () => {
    await fill(Array.from({ length: 300 }, (_, index) => `N-${index}`))
    await command(['backup', file])
    const { out: before } = await command(['verify'])
    const spoiled = join(folder, 'spoiled.db')
    const bytes = readFileSync(file)
    bytes.fill(7, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 20_000)
    writeFileSync(spoiled, bytes)
    const foreign = join(folder, 'foreign.db')
    new DatabaseSync(foreign).exec('CREATE TABLE a (b)')
    const text = join(folder, 'text.db')
    writeFileSync(text, 'no database, but more than enough text to be one. '.repeat(20))
    const newer = join(folder, 'newer.db')
    cpSync(file, newer)
    const db = new DatabaseSync(newer)
    db.exec('UPDATE version SET version = 1000000')
    db.close()
    for (const [bad, message] of [
      [spoiled, `${spoiled} is damaged, nothing is changed: `],
      [foreign, `${foreign} is not a store`],
      [text, `${text} is not a store`],
      [newer, `${newer} was made by a newer version of the gateway`],
      [path, `${path} is the store itself`],
      [join(folder, 'none.db'), 'there is no file '],
    ] as const) {
      const { code, out, err } = await command(['restore', bad, '--since', '1h'])
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err.split('\n')).toEqual([expect.stringContaining(`transload: ${message}`), ''])
    }
    // The mode of its log may be another one.
    expect((await command(['verify'])).out).toBe(before)
    expect(readdirSync(join(folder, 'data')).sort()).toEqual(['store.db', 'store.db-stamp'])
  })
})

describe('store verify', () => {
  test('prints what the store has, and ends with 0', async () => {
    await fill(['N-1', 'N-2'])
    const { code, out, err } = await command(['verify'])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^integrity +ok$/m)
    expect(out).toMatch(/^in doubt +no$/m)
    expect(out).toMatch(/^bookings sending +2$/m)
    expect(out).toMatch(/^links without data +1$/m)
    expect(out).toMatch(/^rows of links +3$/m)
    const json = JSON.parse((await command(['verify', '--json'])).out)
    expect(json).toMatchObject({
      store: path,
      faults: [],
      rows: { links: 3, things: 2, claims: 2, claim_audit: 2 },
      claims: { sending: 2 },
      linksWithoutThing: 1,
      origin: { kind: 'own' },
      unrecorded: [],
      problems: [],
    })
    expect(json.version).toBe(json.programVersion)
  })

  test('ends with 1 where something has to be done: damage, a copy, bookings that are not recorded', {
    timeout: LONG_MS,
  }, async () => {
    await fill(Array.from({ length: 300 }, (_, index) => `N-${index}`))
    await command(['backup', file])
    const backup = await command(['verify', file])
    expect(backup).toMatchObject({ code: 0, out: expect.stringMatching(/^backup of +20/m) })
    cpSync(file, path)
    const copy = await command(['verify'])
    expect(copy).toMatchObject({ code: 1, err: expect.stringMatching(/^problem: the store is a backup of 20.+\n$/) })
    expect(await command(['trust'])).toMatchObject({ code: 0 })
    expect((await command(['verify'])).code).toBe(0)

    openEmergencyLog(join(folder, 'emergency.ndjson')).write({
      booking: 'bk_000000000001',
      tenant: 'acme',
      answer: { status: 200, headers: {}, body: '{}' },
      record: { id: 'id-1', kind: 'shipment', names: [] } as never,
    })
    const unrecorded = await command(['verify'])
    expect(unrecorded).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^problem: bk_000000000001 was made .+\n$/),
    })
    rmSync(join(folder, 'emergency.ndjson'))

    const bytes = readFileSync(file)
    bytes.fill(7, Math.floor(bytes.length / 2), Math.floor(bytes.length / 2) + 20_000)
    writeFileSync(file, bytes)
    const damaged = await command(['verify', file])
    expect(damaged.code).toBe(1)
    expect(damaged.err).toMatch(/^(problem: |transload: .+ is )damaged: /)
    writeFileSync(file, 'no database, but more than enough text to be one. '.repeat(20))
    expect(await command(['verify', file])).toEqual({ code: 1, out: '', err: `transload: ${file} is not a store\n` })
  })
})

describe('on PostgreSQL', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server.remove())

  test('the store is verified, doubted and trusted; restore names the tools of the server', {
    timeout: LONG_MS,
  }, async () => {
    const url = await server.createDatabase()
    const env = { STORE_URL: url }
    expect(await command(['verify'], env)).toMatchObject({ code: 1, err: expect.stringContaining('there is no store') })
    const store = await openStore(url)
    onTestFinished(() => store.close())
    await store.put({ links: [link()], thing: thing({ id: 'another' }) })
    await store.claim(newClaim())
    expect(JSON.parse((await command(['verify', '--json'], env)).out)).toMatchObject({
      store: 'PostgreSQL',
      rows: { links: 1, things: 1, claims: 1 },
      claims: { sending: 1 },
      linksWithoutThing: 1,
      problems: [],
    })
    expect((await command(['doubt', '--since', '2h'], env)).out).toMatch(/^Bookings since .+ may be missing\./)
    expect(await store.doubt()).toMatchObject({ until: 0 })
    expect((await command(['verify'], env)).out).toMatch(/^in doubt +since 20/m)
    expect((await command(['trust'], env)).code).toBe(0)
    expect(await store.doubt()).toBeUndefined()
    writeFileSync(file, '')
    const refused = await command(['restore', file], env)
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('use pg_restore') })
    expect(existsSync(path)).toBe(false)
  })
})
