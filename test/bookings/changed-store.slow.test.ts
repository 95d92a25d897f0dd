/** Promise: the program refuses a store that lacks bookings, at its start and while it runs (contract, section 7). */

import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { cleanEnv, PROGRAM, run, start } from '../command.ts'
import { get } from '../gateway.ts'
import { WHOLE } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { book, creations, expectBooked, openSandbox, testFolder } from './desk.ts'

/*
 * An operator may confirm that it is the right one. If the store's files are lost while it runs, no booking is sent that a restart would
 * forget; test/store/file-loss.slow.test.ts has the other ways to lose them.
 */

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

const TIME = { timeout: 40_000 }

async function setUp() {
  const folder = testFolder()
  const data = join(folder, 'data')
  mkdirSync(data)
  const path = join(data, 'store.db')
  const sandbox = await openSandbox()
  const log = join(folder, 'emergency.ndjson')
  const options = (STORE_URL: string, EMERGENCY_LOG_FILE: string) => {
    const listeners = { V2_BASE_URL: sandbox.url, HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0' }
    return { cwd: folder, env: cleanEnv({ ...listeners, STORE_URL, EMERGENCY_LOG_FILE }) }
  }
  /** Runs a gateway that listens; its store is `data/store.db` unless another is named. */
  async function serve(
    work: (gateway: { url: string; signal: (signal: NodeJS.Signals) => void }) => Promise<unknown> = async () => {},
    { words = [] as string[], store = path, emergency = log, signal = 'SIGTERM' as NodeJS.Signals } = {},
  ) {
    const running = start(process.execPath, [PROGRAM, 'serve', ...words], options(store, emergency))
    const out = await running.says(/"listening"/)
    await work({ url: /"url":"([^"]+)"/.exec(out)?.[1] ?? '', signal: running.signal })
    running.signal(signal)
    await running.ended
  }
  const command = (words: readonly string[], store = path, emergency = log) =>
    run(process.execPath, [PROGRAM, ...words], options(store, emergency))
  const transload = async (...words: readonly string[]) => expect(await command(words)).toMatchObject({ code: 0 })
  const made = (ReferenceNumber: string) => async (gateway: { url: string }) =>
    expectBooked(await book(gateway, { ReferenceNumber }))
  const unknown = (ReferenceNumber: string) => async (gateway: { url: string }) => {
    const sent = creations({ sandbox })
    expect((await book(gateway, { ReferenceNumber })).json.TransportationBooked).toBe('Unknown')
    expect(creations({ sandbox })).toBe(sent)
  }
  const refused = async (says: RegExp, store?: string, emergency?: string, words: readonly string[] = []) => {
    const ended = await command(['serve', ...words], store, emergency)
    expect(ended).toMatchObject({ code: 78, err: expect.stringMatching(says) })
    expect(ended.err).toContain('--new-store')
  }
  const remove = () => ['', '-wal', '-shm'].map((end) => rmSync(path + end, { force: true }))
  return { sandbox, folder, data, path, serve, command, transload, made, unknown, refused, remove }
}

type Place = Awaited<ReturnType<typeof setUp>>

/** Ways to lose a store between a stop and a start; `early` was copied before the last booking. */
const LOSSES: readonly (readonly [string, (place: Place) => void, RegExp])[] = [
  ['is deleted', ({ remove }) => void remove(), /replaced or deleted/],
  [
    'is deleted with its folder',
    ({ data }) => {
      rmSync(data, { recursive: true })
      mkdirSync(data)
    },
    /lacks bookings that it had|not the one that this installation used last/,
  ],
  [
    'is an old copy',
    ({ folder, remove, path }) => {
      remove()
      copyFileSync(join(folder, 'early/store.db'), path)
    },
    /old copy/,
  ],
  [
    'is an old copy with its folder',
    ({ folder, data }) => {
      rmSync(data, { recursive: true })
      renameSync(join(folder, 'early'), data)
    },
    /not the one that this installation used last/,
  ],
]
// The first and the last lose the file, and the folder.
const TRIED = LOSSES.filter((_, nth) => WHOLE || nth % 3 === 0)

test.each(TRIED)('a store that %s is refused at the start', TIME, async (_, lose, says) => {
  const place = await setUp()
  const { folder, data, serve, transload, command, made, unknown, refused } = place
  await serve(made('EARLY'))
  cpSync(data, join(folder, 'early'), { recursive: true })
  await serve(made('LATE'))
  expect((await command(['check'])).err).toBe('')
  lose(place)
  expect((await command(['check'])).err).toMatch(/^warning: "transload serve" refuses this store: /)
  await refused(says)
  // With a doubt, bookings that the store does not know are not sent again.
  await transload('store', 'doubt', '--since', '1h')
  await serve(unknown('LATE'))
  await transload('store', 'trust')
  await serve(made('NEW'), { words: ['--new-store'] })
  // Once confirmed, it is the store of the installation.
  await serve()
})

test('another store without bookings is refused if the previous one has some', TIME, async () => {
  const { folder, serve, made, refused } = await setUp()
  const [other, third] = [join(folder, 'other.db'), join(folder, 'third.db')]
  // Without bookings, nothing is lost.
  await serve()
  await serve(made('ONE'), { store: other })
  await refused(new RegExp(`${other}[^]*transload store copy|transload store copy[^]*${other}`), third)
  await serve(undefined, { store: third, words: ['--new-store'] })
})

test('only a declared store is accepted', TIME, async () => {
  const { folder, path, serve, transload, made, refused } = await setUp()
  const [other, third] = [join(folder, 'other.db'), join(folder, 'third.db')]
  await serve(made('ONE'))
  // The option stays in the systemd unit.
  const words = ['--new-store']
  await serve(made('TWO'), { store: other, words })
  await serve(made('THREE'), { store: other, words })
  await refused(/applies to one store/, third, undefined, words)
  await refused(/applies to one store/, path, undefined, words)
  await refused(/lacks bookings/, third)
  await serve(made('FOUR'), { store: third, words })
  await transload('store', 'doubt', '--since', '1h')
})

test('a moved folder is missed if the memory is elsewhere', TIME, async () => {
  const { folder, data, serve, made, refused } = await setUp()
  await serve(made('ONE'))
  renameSync(data, join(folder, 'away'))
  await refused(/lacks bookings that it had/)
})

test('an unreadable memory is missed if the store has no bookings', TIME, async () => {
  const { folder, data, serve, made, refused } = await setUp()
  await serve(made('ONE'))
  const memory = join(folder, 'emergency.ndjson.store')
  writeFileSync(memory, '{"store":')
  await serve()
  writeFileSync(memory, '')
  renameSync(data, join(folder, 'away'))
  await refused(/emergency.ndjson.store, [^\n]+ cannot be read/)
  // Root reads every file, but no folder.
  rmSync(memory)
  mkdirSync(memory)
  await refused(/emergency.ndjson.store, [^\n]+ cannot be read/)
})

test('an older dump of PostgreSQL and another database are refused', TIME, async () => {
  const { serve, made, unknown, refused, command } = await setUp()
  const store = await server.createDatabase()
  await serve(made('EARLY'), { store })
  const older = await server.createDatabase(store)
  await serve(made('LATE'), { store })
  await refused(/lacks bookings of/, older)
  await refused(/lacks bookings of/, await server.createDatabase())
  await serve(made('LAST'), { store })
  await server.replace(store, older)
  await refused(/lacks bookings that it had/, store)
  expect(await command(['store', 'doubt', '--since', '1h'], store)).toMatchObject({ code: 0 })
  await serve(unknown('LATE'), { store })
})

test.each(WHOLE ? ['sqlite', 'postgres'] : ['sqlite'])(
  'a gateway on %s that is suspended through a copy books nothing when it wakes',
  { timeout: 60_000 },
  async (engine) => {
    const { sandbox, folder, path, serve, made, command } = await setUp()
    const store = engine === 'sqlite' ? path : await server.createDatabase()
    const other = join(folder, 'other.db')
    const suspended = async (gateway: { url: string; signal: (signal: NodeJS.Signals) => void }) => {
      await made('BEFORE')(gateway)
      gateway.signal('SIGSTOP')
      const copied = async () => (await command(['store', 'copy', '--to', other], store)).code
      // Its lease lapses.
      await expect.poll(copied, { timeout: 20_000, interval: 500 }).toBe(0)
      gateway.signal('SIGCONT')
      const { status, json } = await book(gateway, { ReferenceNumber: 'AFTER' })
      expect({ status, ...json }).toMatchObject({ status: 503, TransportationBooked: 'No' })
      expect(creations({ sandbox })).toBe(1)
    }
    await serve(suspended, { store })
    await serve(made('AFTER'), { store: other })
  },
)

test('a store is recognized after a SIGKILL, and missed in the default place', TIME, async () => {
  const { folder, data, serve, made, refused } = await setUp()
  const byDefault = { store: '', emergency: '', signal: 'SIGKILL' } as const
  await serve(made('ONE'), byDefault)
  await serve(undefined, byDefault)
  rmSync(join(data, 'emergency.ndjson.store'))
  await refused(/data\/transload\.db/, join(folder, 'other.db'), '')
})

test('a store that was copied away is no longer the store, and a doubt outlives the switch', TIME, async () => {
  const { folder, serve, transload, made, unknown, refused } = await setUp()
  const other = join(folder, 'other.db')
  await serve(made('BEFORE'))
  await transload('store', 'copy', '--to', other)
  await serve(async (gateway) => expectBooked(await book(gateway, { ReferenceNumber: 'BEFORE' }), true), {
    store: other,
  })
  await refused(/was copied to/)
  await transload('store', 'doubt', '--since', '1h')
  await serve(unknown('NEW'), { words: ['--new-store'] })
})

test('while it runs without its log, it books nothing, and a restart knows every booking', TIME, async () => {
  const { sandbox, path, serve, made } = await setUp()
  let id = ''
  const lose = async (gateway: { url: string }) => {
    id = await made('ONE')(gateway)
    rmSync(`${path}-wal`)
    for (const ReferenceNumber of ['AFTER', 'ONE']) {
      const { status, json } = await book(gateway, { ReferenceNumber })
      expect(status).toBe(503)
      expect(json).toEqual({ Message: expect.stringContaining('database is unavailable'), TransportationBooked: 'No' })
    }
    await vi.waitFor(async () => expect((await get(gateway, '/readyz')).status).toBe(503), { timeout: 20_000 })
    expect((await get(gateway, '/healthz')).status).toBe(200)
    expect(creations({ sandbox })).toBe(1)
  }
  await serve(lose, { signal: 'SIGKILL' })
  const again = { ReferenceNumber: 'ONE' }
  await serve(async (gateway) => expect(expectBooked(await book(gateway, again), true)).toBe(id))
})
