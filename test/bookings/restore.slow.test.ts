/** Promise: what a restored store has forgotten is not booked twice (contract, section 7). */

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { inspectSqlite } from '../../src/store/sqlite/backup.ts'
import { backupTime } from '../../src/store/sqlite/restore.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts'
import { cleanEnv, newFolder, output, ROOT, start } from '../command.ts'
import { size } from '../size.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { end, startGatewayProcess } from './gateway-process.ts'
import { book, duplicates, startCallers } from './kill-harness.ts'

/*
 * Backups under load, some of them killed, then the gateway is killed, and the last whole backup is restored: what was acknowledged
 * before it is in it, row by row, and what came after it is not booked again.
 */

const ROUNDS = size(2, 5)
const CALLERS = 8
/** Backups of one round; about half of them are killed. */
const BACKUPS = 4
const LONGEST_LIFE_MS = 900
const LONG_MS = 300_000

interface Told {
  readonly id: string
  /** When the answer came. */
  readonly at: number
}

test('nothing that a restored store has forgotten is booked twice', { timeout: LONG_MS }, async () => {
  const folder = newFolder('restore-kill')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [path, file] = [join(folder, 'store.db'), join(folder, 'backup.db')]
  const service = await startSandbox()
  onTestFinished(() => service.close())
  const env = { EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson') }
  const transload = [join(ROOT, 'src/main.ts'), 'store']
  const commandEnv = cleanEnv({ ...env, STORE_URL: path })
  const counts = { acknowledged: 0, replayed: 0, unknown: 0, killedBackups: 0 }

  for (let round = 0; round < ROUNDS; round += 1) {
    const { url, child } = await startGatewayProcess({ storeUrl: path, serviceUrl: service.url, env })
    const acknowledged = new Map<string, Told>()
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
      if (index < BACKUPS - 1) void pause(Math.random() * LONGEST_LIFE_MS).then(() => backup.signal('SIGKILL'))
      if ((await backup.ended).code !== 0) counts.killedBackups += 1
      if (existsSync(file)) expect(inspectSqlite(file).faults).toEqual([])
    }
    await pause(Math.random() * LONGEST_LIFE_MS)
    await Promise.all([end(child), stop()])
    await service.idle()
    await expectAcknowledged(file, acknowledged)

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
  // The rounds have shown something.
  expect(counts.replayed).toBeGreaterThan(0)
  expect(counts.unknown).toBeGreaterThan(0)
  expect(counts.killedBackups).toBeGreaterThan(0)
  process.stderr.write(`${JSON.stringify(counts)}\n`)
})

/** Compares a backup with the answers that came before it. */
async function expectAcknowledged(file: string, acknowledged: ReadonlyMap<string, Told>): Promise<void> {
  const at = backupTime(file) ?? expect.fail('the backup has no time')
  const store = await openSqliteStore({ path: file })
  const claims = new Map(
    (await store.listClaims({ limit: Number.MAX_SAFE_INTEGER })).map((one) => [one.reference, one]),
  )
  for (const [reference, told] of acknowledged) {
    if (told.at >= at) continue
    const claim = claims.get(reference)
    expect(claim).toMatchObject({ state: 'booked', shipment: told.id })
    expect((await store.links('demo', reference)).map(({ id }) => id)).toEqual([told.id])
    expect((await store.audit(claim?.handle ?? '')).map(({ to }) => to)).toEqual(['sending', 'booked'])
  }
  await store.close()
}
