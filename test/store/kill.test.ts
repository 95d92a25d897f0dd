import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import { newClaim } from './samples.ts'

const ROUNDS = 100
/** Rounds that go on at once, each on its own database. */
const LANES = 2
/** The kill comes after so many acknowledged writes at most. */
const MOST_WRITES = 400
const LONG_MS = 120_000

/** Lets a process write, kills it in the middle, and returns what it had been told was durable. */
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

async function checked(path: string, acknowledged: readonly string[]): Promise<void> {
  const store = await openStore(path)
  for (const line of acknowledged) {
    const [what, name = ''] = line.split(' ')
    if (what === 'link') {
      expect((await store.links('acme', name)).map(({ id }) => id)).toEqual([name])
      expect((await store.thing('acme', name))?.own).toBe(name)
    } else {
      expect(await store.findClaim('acme', name)).toMatchObject({ state: 'sending', version: 1 })
      expect((await store.audit(`bk_acme_${name}`)).length).toBe(1)
    }
  }
  const claimed = acknowledged.find((line) => line.startsWith('claim '))?.slice('claim '.length)
  if (claimed) expect((await store.claim(newClaim({ key: claimed, handle: 'bk_again' }))).won).toBe(false)
  await store.close()
}

test('what was acknowledged is there after SIGKILL, every time', { timeout: LONG_MS }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'transload-kill-'))
  let next = 0
  let lines = 0
  const lanes = Array.from({ length: LANES }, async (_, lane) => {
    const path = join(folder, `${lane}.db`)
    const all: string[] = []
    while (next < ROUNDS) {
      next += 1
      const acknowledged = await killedWriter(path, next)
      await checked(path, acknowledged)
      all.push(...acknowledged)
      lines += acknowledged.length
    }
    await checked(path, all)
  })
  await Promise.all(lanes)
  rmSync(folder, { recursive: true, force: true })
  expect(lines).toBeGreaterThan(ROUNDS)
})
