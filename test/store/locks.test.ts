/** Promise: one process at a time works on a thing, and knows when it may not (contract, section 7). */

import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createLocks, type LockRows } from '../../src/store/locks.ts'
import { LockTimeout, StoreDown } from '../../src/store/store.ts'

const LEASE_MS = 10_000
const PATIENT_MS = 60_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** Locks whose rows a test answers for. */
function open() {
  const calls: string[] = []
  const answer = { take: async () => true, drop: async () => {} }
  const rows: LockRows = {
    takeLock: (key, holder, leaseMs) => {
      calls.push(`take ${key} ${holder} ${leaseMs}`)
      return answer.take()
    },
    dropLock: (key, holder) => {
      calls.push(`drop ${key} ${holder}`)
      return answer.drop()
    },
  }
  return { calls, answer, locks: createLocks(rows, 'me') }
}

/** Holds a lock until it is let go. */
async function hold({ locks }: Pick<ReturnType<typeof open>, 'locks'>) {
  const held = Promise.withResolvers<() => boolean>()
  const letGo = Promise.withResolvers<string>()
  const done = locks.exclusive('key', PATIENT_MS, (isHeld) => {
    held.resolve(isHeld)
    return letGo.promise
  })
  return { isHeld: await held.promise, letGo: () => letGo.resolve('done'), done }
}

const TAKE = `take key me ${LEASE_MS}`

test('a lock is taken for ten seconds, renewed every quarter of them, and dropped', async () => {
  const opened = open()
  const { letGo, done } = await hold(opened)
  expect(opened.calls.splice(0)).toEqual([TAKE])
  await vi.advanceTimersByTimeAsync(LEASE_MS / 4 - 1)
  expect(opened.calls).toEqual([])
  await vi.advanceTimersByTimeAsync(1)
  expect(opened.calls.splice(0)).toEqual([TAKE])
  letGo()
  expect(await done).toBe('done')
  await vi.advanceTimersByTimeAsync(0)
  expect(opened.calls).toEqual(['drop key me'])
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(opened.calls).toHaveLength(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('a lock counts as held for half of its time after the last renewal was asked for', async () => {
  const opened = open()
  const { isHeld } = await hold(opened)
  await vi.advanceTimersByTimeAsync(LEASE_MS / 4)
  opened.answer.take = () => Promise.reject(new StoreDown('down'))
  await vi.advanceTimersByTimeAsync(LEASE_MS / 2)
  expect(isHeld()).toBe(true)
  await vi.advanceTimersByTimeAsync(1)
  expect(isHeld()).toBe(false)
  // The store answers again, and no other process has taken the lock.
  opened.answer.take = async () => true
  await vi.advanceTimersByTimeAsync(LEASE_MS / 4)
  expect(isHeld()).toBe(true)
})

test('a lock that another process has taken is lost', async () => {
  const opened = open()
  const { isHeld } = await hold(opened)
  opened.answer.take = async () => false
  await vi.advanceTimersByTimeAsync(LEASE_MS / 4)
  expect(isHeld()).toBe(false)
})

test('the clock of the machine counts, too, if it has gone further', async () => {
  const { isHeld } = await hold(open())
  vi.setSystemTime(Date.now() + LEASE_MS)
  expect(isHeld()).toBe(false)
})

test('a lock that comes too late is dropped, and its work does not run', async () => {
  const opened = open()
  const taken = Promise.withResolvers<boolean>()
  opened.answer.take = () => taken.promise
  let ran = false
  const late = opened.locks.exclusive('key', 100, async () => {
    ran = true
  })
  const refused = expect(late).rejects.toThrow(LockTimeout)
  await vi.advanceTimersByTimeAsync(100)
  await refused
  taken.resolve(true)
  await vi.advanceTimersByTimeAsync(0)
  expect(ran).toBe(false)
  expect(opened.calls).toEqual([TAKE, 'drop key me'])
  expect(vi.getTimerCount()).toBe(0)
})
