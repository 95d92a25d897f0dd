import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { newFolder } from '../command.ts'
import { link } from './samples.ts'

afterEach(() => vi.useRealTimers())

/** Returns how many commits store five writes, one in each turn of the event loop. */
async function commitsOfFive(betweenWrites: () => void): Promise<number> {
  const folder = newFolder('commits')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'store.db')
  const store = await openSqliteStore({ path })
  const reader = new DatabaseSync(path, { readOnly: true })
  const commits = () => Number(reader.prepare('SELECT commits FROM change_counter').get()?.['commits'])
  const before = commits()
  vi.useFakeTimers({ toFake: ['performance'] })
  const writes: Promise<void>[] = []
  for (let no = 0; no < 5; no += 1) {
    writes.push(store.put({ links: [link({ name: `N-${no}` })] }))
    betweenWrites()
    await nextTurn()
  }
  await Promise.all(writes)
  const made = commits() - before
  reader.close()
  await store.close()
  return made
}

test('writes of consecutive turns of the event loop share a commit', async () => {
  expect(await commitsOfFive(() => {})).toBe(1)
})

test('a write waits for others no longer than a few milliseconds', async () => {
  expect(await commitsOfFive(() => vi.advanceTimersByTime(6))).toBeGreaterThan(1)
})
