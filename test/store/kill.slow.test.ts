/** Promise: acknowledged writes survive every SIGKILL (contract, section 7). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { openReader } from '../../src/store/sqlite/connection.ts'
import { READS } from '../../src/store/verbs.ts'
import { size } from '../size.ts'
import { newClaim } from './samples.ts'

const ROUNDS = size(10, 100)
/** Rounds that go on at once, each on its own database. */
const LANES = 2
/** The kill comes after so many acknowledged writes at most. */
const MOST_WRITES = 200
const LONG_MS = 120_000

/** Lets a process write, kills it in the middle, and returns the writes that it reported as durable. */
async function killedWriter(path: string, round: number): Promise<readonly string[]> {
  const script = join(import.meta.dirname, 'kill-child.ts')
  const child = spawn(process.execPath, [script, path, `${round}`], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const acknowledged: string[] = []
  const last = 1 + Math.floor(Math.random() * MOST_WRITES)
  for await (const line of createInterface(child.stdout)) {
    acknowledged.push(line)
    if (acknowledged.length === last) child.kill('SIGKILL')
  }
  const [, signal] = await exited
  expect(signal).toBe('SIGKILL')
  return acknowledged
}

/** The next process finds it all; here a reader, which opens sooner than a store. */
function checkNext(path: string, acknowledged: readonly string[]): void {
  const { db, session } = openReader(path)
  for (const line of acknowledged) {
    const [what, name = ''] = line.split(' ')
    if (what === 'link') {
      expect(session.run(READS.links('acme', name)).map(({ id }) => id)).toEqual([name])
      expect(session.run(READS.thing('acme', name))?.own).toBe(name)
    } else {
      expect(session.run(READS.findClaim('acme', name))).toMatchObject({ state: 'sending', version: 1 })
      expect(session.run(READS.audit(`bk_acme_${name}`)).length).toBe(1)
    }
  }
  db.close()
}

/** After all rounds a store finds the same, and gives no claim twice. */
async function checkLast(path: string, acknowledged: readonly string[]): Promise<void> {
  const store = await openStore(path)
  const claims: string[] = []
  for (const line of acknowledged) {
    const [what, name = ''] = line.split(' ')
    if (what === 'link') expect((await store.links('acme', name)).map(({ id }) => id)).toEqual([name])
    else claims.push(name)
  }
  const again = await Promise.all(claims.map((key) => store.claim(newClaim({ key, handle: `bk_again_${key}` }))))
  expect(again.some(({ won }) => won)).toBe(false)
  await store.close()
}

test('acknowledged writes survive every SIGKILL', { timeout: LONG_MS }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'transload-kill-'))
  let next = 0
  let lines = 0
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const path = join(folder, `${lane}.db`)
    const all: string[] = []
    while (next < ROUNDS) {
      next += 1
      const acknowledged = await killedWriter(path, next)
      checkNext(path, acknowledged)
      all.push(...acknowledged)
      lines += acknowledged.length
    }
    await checkLast(path, all)
  })
  await Promise.all(lanes)
  rmSync(folder, { recursive: true, force: true })
  expect(lines).toBeGreaterThan(ROUNDS)
})
