/** Promise: bookings that a restored store has forgotten are not made twice (contract, section 7). */

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { book, duplicates, end } from '../../src/operator/commands/harness.ts'
import { inspectSqlite } from '../../src/outside/store/sqlite/backup.ts'
import { backupTime } from '../../src/outside/store/sqlite/restore.ts'
import { cleanEnv, output, PROGRAM, start } from '../command.ts'
import { size } from '../size.ts'
import { startCallers } from './callers.ts'
import { openSandbox, testFolder } from './desk.ts'
import { startGatewayProcess } from './gateway-process.ts'

/*
 * Makes backups under load, some of which are killed, then kills the gateway and restores the last whole backup. It contains what was
 * acknowledged before it, and what came after it is not booked again (test/store/backup.test.ts checks the rows).
 */

const ROUNDS = size(2, 5)
const CALLERS = 8
/** The backups of one round; the first is killed at once, and perhaps others later. */
const BACKUPS = 4
const LONGEST_LIFE_MS = 900
const LONG_MS = 300_000

test('bookings that a restored store has forgotten are not made twice', { timeout: LONG_MS }, async () => {
  const folder = testFolder()
  const [path, file] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  const service = await openSandbox()
  const env = { EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson') }
  const transload = [PROGRAM, 'store']
  const commandEnv = cleanEnv({ ...env, STORE_URL: path })
  const counts = { acknowledged: 0, replayed: 0, unknown: 0, killedBackups: 0 }

  for (let round = 0; round < ROUNDS; round += 1) {
    const { url, child } = await startGatewayProcess({ storeUrl: path, serviceUrl: service.url, env })
    /** Each with the shipment and the time of the answer. */
    const acknowledged = new Map<string, { readonly id: string; readonly at: number }>()
    const stop = startCallers(CALLERS, async (name) => {
      const reference = `${name} of ${round}`
      const answer = await book(url, reference)
      if (answer?.word === 'Yes') acknowledged.set(reference, { id: answer.id, at: Date.now() })
      return true
    })
    rmSync(file, { force: true })
    // The last one is whole: the test restores it.
    for (let index = 0; index < BACKUPS; index += 1) {
      const backup = start(process.execPath, [...transload, 'backup', file, '--force'], { env: commandEnv })
      const lifeMs = (Math.random() * LONGEST_LIFE_MS * index) / BACKUPS
      if (index < BACKUPS - 1) void pause(lifeMs).then(() => backup.signal('SIGKILL'))
      if ((await backup.ended).code !== 0) counts.killedBackups += 1
      if (existsSync(file)) expect(inspectSqlite(file).faults).toEqual([])
    }
    await pause(Math.random() * LONGEST_LIFE_MS)
    await Promise.all([end(child), stop()])
    await service.idle()

    await output(process.execPath, [...transload, 'restore', file], { env: commandEnv })
    const next = await startGatewayProcess({ storeUrl: path, serviceUrl: service.url, env })
    const at = backupTime(file) ?? expect.fail('the backup has no time')
    for (const [reference, told] of acknowledged) {
      const answer = (await book(next.url, reference)) ?? expect.fail('no answer')
      if (told.at < at) expect(answer).toEqual({ word: 'Yes', id: told.id })
      else expect(['Yes', 'Unknown']).toContain(answer.word)
      counts[answer.word === 'Yes' ? 'replayed' : 'unknown'] += 1
    }
    counts.acknowledged += acknowledged.size
    await end(next.child, 'SIGTERM')
    // The next round begins with a store that is trusted.
    await output(process.execPath, [...transload, 'trust'], { env: commandEnv })
  }
  expect(duplicates(service)).toBe(0)
  // Otherwise the rounds would show nothing.
  expect(counts.replayed).toBeGreaterThan(0)
  expect(counts.unknown).toBeGreaterThan(0)
  expect(counts.killedBackups).toBeGreaterThan(0)
  process.stderr.write(`${JSON.stringify(counts)}\n`)
})
