/** Promise: a process is told from an earlier one with its number (contract, section 7). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { expect, onTestFinished, test, vi } from 'vitest'
import { isAlive, newInstance } from '../../src/store/instance.ts'

test('an instance has the host, the process, its start and a part of its own', () => {
  const [host, pid, start, own] = newInstance().split('/')
  expect([host, pid]).toEqual([hostname(), String(process.pid)])
  expect(start).toMatch(/^[1-9]\d*$/)
  expect(own).toMatch(/^[0-9a-f]{8}$/)
  expect(newInstance()).not.toBe(newInstance())
})

test.each([
  ['EPERM', true],
  ['ESRCH', false],
  [undefined, false],
])('a process whose signal fails with %s lives: %s', (code, lives) => {
  const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('no'), code && { code })
  })
  onTestFinished(() => kill.mockRestore())
  expect(isAlive(newInstance())).toBe(lives)
})

test('an earlier process with the same number does not', () => {
  const [host, pid, start, own] = newInstance().split('/')
  expect(isAlive([host, pid, start, own].join('/'))).toBe(true)
  expect(isAlive([host, pid, Number(start) - 1, own].join('/'))).toBe(false)
})

test('a process that has ended does not', async () => {
  const child = spawn(process.execPath, ['--eval', ''])
  await once(child, 'exit')
  expect(isAlive(`${hostname()}/${child.pid}/1/abcdefgh`)).toBe(false)
})

test('the name of a process may have blanks and parentheses', async () => {
  const child = spawn(process.execPath, [
    '--eval',
    "process.title = ') S 1 (x'; setInterval(() => {}, 1e6); console.log(1)",
  ])
  await once(child.stdout, 'data')
  try {
    // The start time is not known here; a wrong one is that of another process.
    expect(isAlive(`${hostname()}/${child.pid}/S/abcdefgh`)).toBe(false)
  } finally {
    child.kill()
  }
})
