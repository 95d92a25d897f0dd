/** Promise: a process is told from an earlier one with its number (contract, section 7). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isAlive, newInstance } from '../../src/store/instance.ts'

test('an instance is alive until its process ends, and no other with its number is', async () => {
  const instance = newInstance()
  const [host, pid, start, own] = instance.split('/')
  expect([host, pid]).toEqual([hostname(), String(process.pid)])
  expect(newInstance()).not.toBe(instance)
  expect(isAlive(instance)).toBe(true)
  expect(isAlive([host, pid, Number(start) - 1, own].join('/'))).toBe(false)
  expect(isAlive(['elsewhere', pid, 1, own].join('/'))).toBe(true)

  // The name of a process may have blanks and parentheses; its state, S, is not when it started.
  const program = "process.title = ') S 1 (x'; setInterval(() => {}, 1e6); console.log(1)"
  const child = spawn(process.execPath, ['--eval', program])
  onTestFinished(() => void child.kill())
  await once(child.stdout, 'data')
  expect(isAlive([host, child.pid, 'S', own].join('/'))).toBe(false)
  child.kill()
  await once(child, 'exit')
  expect(isAlive([host, child.pid, 1, own].join('/'))).toBe(false)
})

test('a process of another user, which takes no signal of this one, is alive', () => {
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('no'), { code: 'EPERM' })
  })
  onTestFinished(() => kill.mockRestore())
  expect(isAlive(newInstance())).toBe(true)
})
