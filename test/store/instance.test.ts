/** Promise: a process is told from an earlier one with its number (contract, section 7). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { isAlive, newInstance } from '../../src/outside/store/instance.ts'

const MODULE = join(import.meta.dirname, '../../src/outside/store/instance.ts')
/** Tells its instance, under a name with blanks and parentheses. */
const PROGRAM = `const { newInstance } = await import('${MODULE}')
  console.log(newInstance())
  process.title = ') S 1 (x'
  console.log('renamed')
  setInterval(() => {}, 1e6)`

test('an instance is alive until its process ends, and no other with its number is', async () => {
  expect(newInstance()).not.toBe(newInstance())
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM])
  onTestFinished(() => void child.kill())
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const [instance, renamed] = [(await lines.next()).value ?? '', (await lines.next()).value]
  const [host, pid, start, own] = instance.split('/')
  expect([host, pid, renamed]).toEqual([hostname(), String(child.pid), 'renamed'])
  expect(isAlive(instance)).toBe(true)
  expect(isAlive([host, pid, Number(start) - 1, own].join('/'))).toBe(false)
  child.kill()
  await once(child, 'exit')
  expect(isAlive(instance)).toBe(false)
  expect(isAlive(['elsewhere', pid, start, own].join('/'))).toBe(true)
})
