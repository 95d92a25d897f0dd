/** Promise: a killed backup leaves either no file or a whole one (contract, section 7). */

import { existsSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { backupStore, inspectSqlite } from '../../src/outside/store/sqlite/backup.ts'
import { restoreStore } from '../../src/outside/store/sqlite/restore.ts'
import { openSqliteStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { newFolder, output, run } from '../command.ts'
import { named, quote, scanned } from './samples.ts'

const LONG_MS = 120_000
const SCRIPT = join(import.meta.dirname, 'backup-child.ts')

/** Runs the child to its end; returns its steps. */
async function stepsOf(verb: 'backup' | 'restore', path: string, file: string): Promise<readonly string[]> {
  return JSON.parse(await output(process.execPath, [SCRIPT, verb, path, file]))
}

/** Runs the child until it dies right before a step, counted from one. */
async function killBefore(step: number, verb: 'backup' | 'restore', path: string, file: string): Promise<void> {
  expect((await run(process.execPath, [SCRIPT, verb, path, file, `${step}`])).code).toBe('SIGKILL')
}

function newPlace() {
  const folder = newFolder('backup-kill')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return { path: join(folder, 'store.db'), file: join(folder, 'backup.db') }
}

const NAMES = Array.from({ length: 250 }, (_, index) => `N-${index}`)

async function put(path: string, names: readonly string[]): Promise<void> {
  const store = await openSqliteStore({ path })
  const facts = { text: 'x'.repeat(2_000) }
  await Promise.all(names.map((name) => store.put({ names: [named({ name })], quote: quote({ id: name, facts }) })))
  await store.close()
}

async function rowsIn(path: string) {
  const store = await openSqliteStore({ path })
  const names = (await scanned(store)).map(({ name }) => name)
  const quotes = await Promise.all(names.map(async (name) => (await store.quote('acme', name))?.id))
  await store.close()
  expect(quotes).toEqual(names)
  return names.toSorted()
}

test('a backup that is killed at any step leaves the previous file or a whole new one', {
  timeout: LONG_MS,
}, async () => {
  const { path, file } = newPlace()
  await put(path, NAMES.slice(1))
  const steps = await stepsOf('backup', path, file)
  const rename = steps.indexOf('renameSync') + 1
  expect([steps[0], rename > 2]).toEqual(['copy', true])
  await put(path, NAMES)
  for (const step of steps.keys().map((at) => at + 1)) {
    await killBefore(step, 'backup', path, file)
    const names = step > rename ? NAMES.length : NAMES.length - 1
    expect(inspectSqlite(file)).toMatchObject({ faults: [], rows: { names, quotes: names } })
  }
  rmSync(file)
  await killBefore(rename, 'backup', path, file)
  expect(existsSync(file)).toBe(false)
  await stepsOf('backup', path, file)
  expect(readdirSync(dirname(path)).sort()).toEqual(['backup.db', 'store.db', 'store.db-stamp'])
})

test('a restore that is killed at any step leaves the old store or the restored one, and works again', {
  timeout: LONG_MS,
}, async () => {
  const { path, file } = newPlace()
  await put(path, NAMES.slice(1))
  await backupStore(path, file)
  await put(path, NAMES)
  const [old, restored] = [NAMES.toSorted(), NAMES.slice(1).toSorted()]
  const steps = await stepsOf('restore', path, file)
  // Without a doubt again.
  await restoreStore(path, file, { doubt: undefined })
  expect(steps.length).toBeGreaterThan(8)
  const found: string[] = []
  for (const step of steps.keys().map((at) => at + 1)) {
    // The old store again.
    await put(path, NAMES)
    await killBefore(step, 'restore', path, file)
    const names = await rowsIn(path)
    expect([old, restored]).toContainEqual(names)
    const { doubt, origin } = inspectSqlite(path)
    const isRestored = names.length === restored.length
    expect({ origin, isInDoubt: doubt !== undefined }).toEqual({ origin: { kind: 'own' }, isInDoubt: isRestored })
    found.push(`${isRestored}`)
    const kept = await restoreStore(path, file, { doubt: undefined })
    expect(await rowsIn(kept ?? '')).toEqual(names)
    expect(await rowsIn(path)).toEqual(restored)
    const left = readdirSync(dirname(path)).filter((name) => /partial|copying/.test(name))
    expect(left).toEqual([])
  }
  // The name changes in one step.
  expect(found).toEqual(steps.map((_, at) => `${at > steps.indexOf('renameSync')}`))
})
