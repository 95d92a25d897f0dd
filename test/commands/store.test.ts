/** Promise: the store is verified, backed up, restored and pruned, and what cannot be used is told in one line (contract, section 7). */

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { openEmergencyLog } from '../../src/state/bookings/record.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { named, quote } from '../store/samples.ts'
import { addBooking, fillStore, handleOf, transcript } from './transcript.ts'

const NO_DATABASE = 'no database, but more than enough text to be one. '.repeat(20)

test('the commands about the store print what they did', async () => {
  const place = folder()
  const file = (name: string) => join(place, name)
  await fillStore(place, async (store) => {
    await addBooking(store, 1, 'booked', 'made')
    await addBooking(store, 2, 'unknown', 'timeout')
    await store.put({ names: [named({ name: 'Q-1' })], quote: quote() })
    await store.put({ names: [named({ name: 'imported', id: 'elsewhere' })] })
  })
  openEmergencyLog(file('emergency.ndjson')).write({
    booking: handleOf(3),
    tenant: 'acme',
    answer: { status: 200, headers: {}, body: '{}' },
    shipment: 'id-1',
    record: { names: [] },
  })
  writeFileSync(file('text.db'), NO_DATABASE)
  cpSync(file('store.db'), file('untimed.db'))
  const env = { EMERGENCY_LOG_FILE: 'emergency.ndjson' }
  const backedUp = [
    'store verify',
    'store verify --json',
    'store verify none.db',
    'store verify text.db',
    'store backup backup.db',
    'store backup backup.db',
    'store backup backup.db --force',
    'store backup store.db',
    'store verify backup.db',
    'store prune --dry-run --json',
    'store doubt',
    'store doubt --since tomorrow',
    'store doubt --since 2091-01-01',
    'store doubt --since 2h --until 1h --until 2020-01-01',
    'store doubt --since 2h',
    'store verify',
    'store doubt --since 2h --until 24h',
    'store verify',
    'store trust',
    'store trust',
  ]
  let text = await transcript(place, backedUp, env)

  const spoiled = readFileSync(file('backup.db'))
  spoiled.fill(7, Math.trunc(spoiled.length / 3), Math.trunc(spoiled.length / 3) + 20_000)
  writeFileSync(file('spoiled.db'), spoiled)
  new DatabaseSync(file('foreign.db')).exec('CREATE TABLE a (b)')
  cpSync(file('backup.db'), file('newer.db'))
  new DatabaseSync(file('newer.db')).exec('UPDATE version SET version = 1000000')
  const backups = ['none', 'store', 'text', 'spoiled', 'foreign', 'newer', 'untimed']
  const restored = [
    'store verify spoiled.db',
    ...backups.map((name) => `store restore ${name}.db`),
    'store restore backup.db --complete --since 1h',
    'store restore backup.db',
    'store verify',
    'store trust',
    'store restore untimed.db --complete',
    'store restore backup.db --since 2024-01-31T14:00Z --until 24h',
    'store verify --json',
  ]
  text += await transcript(place, restored, env)

  // A backup that is put in place by hand.
  cpSync(file('backup.db'), file('store.db'))
  text += await transcript(place, ['store verify', 'store trust', 'store verify'])
  await expect(text).toMatchFileSnapshot('output/store.txt')
})

const DAY_MS = 86_400_000

test('what nobody needs any more is shown and deleted', async () => {
  const place = folder()
  let daysAgo = 500
  const store = await openStore(join(place, 'store.db'), { now: () => Date.now() - daysAgo * DAY_MS })
  const { at: _, ...given } = named()
  await store.put({ names: [given, { ...given, name: 'Q-2' }], quote: quote() })
  await addBooking(store, 1, 'booked', 'made')
  await addBooking(store, 2, 'unknown', 'timeout')
  for (; daysAgo > 0; daysAgo -= 1) await store.turnDay(DAY_MS)
  await store.close()
  const kept = await transcript(place, ['store prune --dry-run'], { BOOKING_DAYS: '501' })
  const lines = ['store prune --dry-run', 'store prune --json', 'store prune', 'bookings list', 'xref export']
  await expect(kept + (await transcript(place, lines))).toMatchFileSnapshot('output/store-prune.txt')
})

test.each([
  ['missing', 'none.db'],
  ['in memory', 'memory:'],
  ['a folder', 'folder'],
  ['not a store', 'text.db'],
  ['on a server that does not answer', 'postgres://user:hush@127.0.0.1:1/x'],
])('the commands say why they cannot use a store that is %s', async (name, STORE_URL) => {
  const place = folder()
  writeFileSync(join(place, 'text.db'), NO_DATABASE)
  mkdirSync(join(place, 'folder'))
  const lines = [
    'bookings list',
    'webhooks list',
    'xref get x --tenant acme',
    'xref export',
    'migration report',
    'store verify',
    'store backup backup.db',
    'store restore text.db',
    'store prune',
    'store trust',
  ]
  const text = await transcript(place, lines, { STORE_URL })
  expect(text).not.toContain('hush')
  await expect(text).toMatchFileSnapshot(`output/store-${name.replaceAll(' ', '-')}.txt`)
})

test.each(['text.db', 'text.db/new/store.db'])('%s is no place for a copy', async (other) => {
  const place = folder()
  await fillStore(place, async () => {})
  writeFileSync(join(place, 'text.db'), NO_DATABASE)
  const text = await transcript(place, [`store copy --to ${other}`], { EMERGENCY_LOG_FILE: 'off' })
  expect(text).toMatch(/^transload: --to names a store that cannot be used: [^\n]+\n\(exit code 1\)$/m)
})
