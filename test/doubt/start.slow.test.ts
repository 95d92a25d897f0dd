import { copyFileSync, cpSync, mkdirSync, renameSync, rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { book, creations, expectBooked } from '../bookings/desk.ts'
import { cleanEnv, newFolder, ROOT, run, start } from '../command.ts'
import { startSandbox } from '../stand-in/stand-in.ts'

/** Promise: a gateway does not start on a store that may lack bookings, unless its operator says so (contract, section 8). */

const LONG_MS = 40_000
const MAIN = join(ROOT, 'src/main.ts')

async function setUp() {
  const folder = newFolder('start')
  mkdirSync(join(folder, 'data'))
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const env = (more: Readonly<Record<string, string>>) =>
    cleanEnv({
      V2_BASE_URL: sandbox.url,
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      STORE_URL: join(folder, 'data/store.db'),
      EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
      ...more,
    })
  const options = (more: Readonly<Record<string, string>>) => ({ cwd: folder, env: env(more) })
  return {
    folder,
    path: join(folder, 'data/store.db'),
    sandbox,
    /** Starts a gateway that listens. */
    async listen(words: readonly string[] = [], more: Readonly<Record<string, string>> = {}) {
      const running = start(process.execPath, [MAIN, 'serve', ...words], options(more))
      const out = await running.says(/"listening"/)
      const end = async (signal: NodeJS.Signals = 'SIGTERM') => {
        running.signal(signal)
        await running.ended
      }
      return { url: /"url":"([^"]+)"/.exec(out)?.[1] ?? '', end }
    },
    run: (words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
      run(process.execPath, [MAIN, ...words], options(more)),
  }
}

type Place = Awaited<ReturnType<typeof setUp>>

const removeStore = ({ path }: Place) => {
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
}

/** What happens to a store between a stop and a start; `early` was copied before the booking. */
const losses: Readonly<Record<string, { readonly lose: (place: Place) => void; readonly says: RegExp }>> = {
  'is deleted': { lose: removeStore, says: /copy of another one/ },
  'is emptied': {
    lose: (place) => {
      removeStore(place)
      copyFileSync('/dev/null', place.path)
      truncateSync(place.path)
    },
    says: /copy of another one/,
  },
  'is deleted with its folder': {
    lose: ({ folder }) => {
      rmSync(join(folder, 'data'), { recursive: true })
      mkdirSync(join(folder, 'data'))
    },
    says: /is empty, and had bookings|not the one that this installation used last/,
  },
  'is an old copy': {
    lose: (place) => {
      removeStore(place)
      copyFileSync(join(place.folder, 'early/store.db'), place.path)
    },
    says: /old copy/,
  },
  'is an old copy with its folder': {
    lose: ({ folder }) => {
      rmSync(join(folder, 'data'), { recursive: true })
      renameSync(join(folder, 'early'), join(folder, 'data'))
    },
    says: /not the one that this installation used last/,
  },
}

describe('a store that', () => {
  test.each(Object.entries(losses))('%s is refused at the start', { timeout: LONG_MS }, async (_, { lose, says }) => {
    const place = await setUp()
    const { folder, sandbox } = place
    const early = await place.listen()
    expectBooked(await book(early, { ReferenceNumber: 'EARLY' }))
    await early.end()
    cpSync(join(folder, 'data'), join(folder, 'early'), { recursive: true })
    const late = await place.listen()
    expectBooked(await book(late, { ReferenceNumber: 'LATE' }))
    await late.end()
    lose(place)

    for (let starts = 0; starts < 2; starts += 1) {
      const refused = await place.run(['serve'])
      expect(refused).toMatchObject({ code: 78, err: expect.stringMatching(says) })
      expect(refused.err).toContain('--new-store')
    }
    // With a doubt, what the store does not know is not sent again.
    expect(await place.run(['store', 'doubt', '--since', '1h'])).toMatchObject({ code: 0 })
    const doubting = await place.listen()
    const sent = creations({ sandbox })
    expect(await book(doubting, { ReferenceNumber: 'LATE' })).toMatchObject({
      json: { TransportationBooked: 'Unknown' },
    })
    expect(creations({ sandbox })).toBe(sent)
    await doubting.end()
    expect(await place.run(['store', 'trust'])).toMatchObject({ code: 0 })
    const meant = await place.listen(['--new-store'])
    expectBooked(await book(meant, { ReferenceNumber: 'NEW' }))
    await meant.end()
    // Once it is meant, it is the store of the installation.
    await (await place.listen()).end()
  })
})

test('another store without bookings is refused where the one before has some', { timeout: LONG_MS }, async () => {
  const place = await setUp()
  const first = await place.listen()
  await first.end()
  // Without bookings nothing is lost.
  const other = { STORE_URL: join(place.folder, 'other.db') }
  const second = await place.listen([], other)
  expectBooked(await book(second))
  await second.end()
  const refused = await place.run(['serve'], { STORE_URL: join(place.folder, 'third.db') })
  expect(refused).toMatchObject({ code: 78, err: expect.stringContaining(`${place.folder}/other.db`) })
  expect(refused.err).toContain('transload store copy')
  await (await place.listen(['--new-store'], { STORE_URL: join(place.folder, 'third.db') })).end()
})

test('a store is the same after a SIGKILL, and in the default place is missed', { timeout: LONG_MS }, async () => {
  const place = await setUp()
  const byDefault = { STORE_URL: '', EMERGENCY_LOG_FILE: '' }
  const first = await place.listen([], byDefault)
  expectBooked(await book(first))
  await first.end('SIGKILL')
  const again = await place.listen([], byDefault)
  await again.end('SIGKILL')
  rmSync(join(place.folder, 'data/emergency.ndjson.store'))
  const refused = await place.run(['serve'], { EMERGENCY_LOG_FILE: '', STORE_URL: join(place.folder, 'other.db') })
  expect(refused).toMatchObject({ code: 78, err: expect.stringContaining('data/transload.db') })
})

test('a store that was copied away is not the store any more', { timeout: LONG_MS }, async () => {
  const place = await setUp()
  const first = await place.listen()
  expectBooked(await book(first, { ReferenceNumber: 'BEFORE' }))
  await first.end()
  const other = { STORE_URL: join(place.folder, 'other.db') }
  expect(await place.run(['store', 'copy', '--to', other.STORE_URL])).toMatchObject({ code: 0 })
  const second = await place.listen([], other)
  const sent = creations(place)
  expectBooked(await book(second, { ReferenceNumber: 'BEFORE' }), true)
  expect(creations(place)).toBe(sent)
  await second.end()
  expect(await place.run(['serve'])).toMatchObject({ code: 78, err: expect.stringContaining('was copied to') })
  // A doubt that was declared outlives the switch.
  expect(await place.run(['store', 'doubt', '--since', '1h'])).toMatchObject({ code: 0 })
  const meant = await place.listen(['--new-store'])
  expect(await book(meant, { ReferenceNumber: 'NEW' })).toMatchObject({ json: { TransportationBooked: 'Unknown' } })
  await meant.end()
})
