/** Promise: acknowledged writes survive every SIGKILL (contract, section 7). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { newFolder } from '../command.ts'
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

/** The next process finds it all, and gives no claim twice. */
async function check(path: string, acknowledged: readonly string[]): Promise<void> {
  const store = await openStore(path)
  for (const line of acknowledged) {
    const [what, name = ''] = line.split(' ')
    if (what === 'link') {
      expect(await store.named('acme', name)).toMatchObject([{ id: name, quote: { own: name } }])
    } else {
      const again = await store.claim(newClaim({ key: name, handle: 'bk_again' }))
      expect(again).toMatchObject({ won: false, claim: { state: 'sending', version: 1 } })
      expect(await store.audit(`bk_acme_${name}`)).toHaveLength(1)
    }
  }
  await store.close()
}

test('acknowledged writes survive every SIGKILL', { timeout: LONG_MS }, async () => {
  const folder = newFolder('kill')
  let next = 0
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const path = join(folder, `${lane}.db`)
    const all: string[] = []
    while (next < ROUNDS) {
      next += 1
      const acknowledged = await killedWriter(path, next)
      await check(path, acknowledged)
      all.push(...acknowledged)
    }
    await check(path, all)
    return all
  })
  const lines = (await Promise.all(lanes)).flat()
  rmSync(folder, { recursive: true, force: true })
  expect(lines.length).toBeGreaterThan(ROUNDS)
})
