/** Promise: writes that come together share a commit (contract, section 7). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { newFolder } from '../command.ts'
import { link } from './samples.ts'

afterEach(() => vi.useRealTimers())

/** Opens a store, with a count of its commits. */
async function open() {
  const folder = newFolder('commits')
  const path = join(folder, 'store.db')
  const store = await openSqliteStore({ path })
  const other = new DatabaseSync(path)
  onTestFinished(async () => {
    other.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })
  const commits = () => Number(other.prepare('PRAGMA user_version').get()?.['user_version'])
  return { store, other, commits }
}

/** Returns how many commits store five writes, one in each turn of the event loop. */
async function commitsOfFive(betweenWrites: () => void): Promise<number> {
  const { store, commits } = await open()
  const before = commits()
  vi.useFakeTimers({ toFake: ['performance'] })
  const writes: Promise<void>[] = []
  for (let no = 0; no < 5; no += 1) {
    writes.push(store.put({ links: [link({ name: `N-${no}` })] }))
    betweenWrites()
    await nextTurn()
  }
  await Promise.all(writes)
  return commits() - before
}

test('writes of consecutive turns of the event loop share a commit', async () => {
  expect(await commitsOfFive(() => {})).toBe(1)
})

test('a write waits for others no longer than a few milliseconds', async () => {
  expect(await commitsOfFive(() => vi.advanceTimersByTime(6))).toBeGreaterThan(1)
})

test('writes that arrive while another process has the lock share the commit of the one that waits for it', async () => {
  const { store, other, commits } = await open()
  const ROUNDS = 50
  let shared = 0
  for (let round = 1; round <= ROUNDS && shared === 0; round += 1) {
    const before = commits()
    other.exec('BEGIN IMMEDIATE')
    const writes: Promise<void>[] = []
    // Longer in each round: nothing tells when the thread has found the lock taken.
    for (let turn = 0; turn < 20 * round; turn += 1) {
      if (turn === 0 || turn === 10 * round) writes.push(store.put({ links: [link({ name: `R-${round}-${turn}` })] }))
      await nextTurn()
    }
    other.exec('ROLLBACK')
    await Promise.all(writes)
    if (commits() - before === 1) shared = writes.length
    expect(await store.links('acme', `R-${round}-0`)).toHaveLength(1)
    expect(await store.links('acme', `R-${round}-${10 * round}`)).toHaveLength(1)
  }
  expect(shared).toBe(2)
})
