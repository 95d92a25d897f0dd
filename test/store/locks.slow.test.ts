/** Promise: the lock of a process that dies or hangs becomes free again (contract, section 7). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { LockTimeout } from '../../src/outside/store/store.ts'
import { newFolder } from '../command.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

const PATIENT_MS = 60_000
const IMPATIENT_MS = 300
/** A lease lasts ten seconds. */
const SHORT_PAUSE_MS = 1_000
const LONG_MS = 60_000

let folder: string
let server: PostgresServer
beforeAll(async () => {
  folder = newFolder('locks')
  server = await startPostgres()
})
afterAll(async () => {
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
})

const addresses = {
  sqlite: async () => join(folder, `${crypto.randomUUID()}.db`),
  postgres: () => server.createDatabase(),
}

/** Starts a process that holds a lock. */
async function startHolder(address: string, key: string) {
  const script = join(import.meta.dirname, 'lock-child.ts')
  const child = spawn(process.execPath, [script, address, key], { stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => (await lines.next()).value
  expect(await next()).toBe('held')
  return {
    child,
    /** Asks whether it holds the lock. */
    ask: () => {
      child.stdin.write('?\n')
      return next()
    },
  }
}

describe.each(['sqlite', 'postgres'] as const)('a lock on %s', (engine) => {
  test('of a process that is killed is free again', { timeout: LONG_MS }, async () => {
    const address = await addresses[engine]()
    const store = await openStore(address)
    const { child } = await startHolder(address, 'key')
    await expect(store.exclusive('key', IMPATIENT_MS, async () => {})).rejects.toThrow(LockTimeout)
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    // On one machine, the end of the process is known; on several, the lease must end first.
    const patience = engine === 'sqlite' ? IMPATIENT_MS * 10 : PATIENT_MS
    expect(await store.exclusive('key', patience, async () => 'done')).toBe('done')
    await store.close()
  })

  test('of a process that hangs for long is lost, and the process knows', { timeout: LONG_MS }, async () => {
    const address = await addresses[engine]()
    const store = await openStore(address)
    const { child, ask } = await startHolder(address, 'key')
    child.kill('SIGSTOP')
    await pause(SHORT_PAUSE_MS)
    child.kill('SIGCONT')
    expect(await ask()).toBe('held')
    await expect(store.exclusive('key', IMPATIENT_MS, async () => {})).rejects.toThrow(LockTimeout)

    child.kill('SIGSTOP')
    const taken = await store.exclusive('key', PATIENT_MS, async (isHeld) => {
      child.kill('SIGCONT')
      return [await ask(), isHeld()]
    })
    expect(taken).toEqual(['lost', true])
    expect(await ask()).toBe('lost')
    await store.close()
  })
})
