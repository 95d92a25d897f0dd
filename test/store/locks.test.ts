/** Promise: work with a lock knows when another process may have taken it (contract, section 7). */

import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createLocks } from '../../src/outside/store/locks.ts'
import { StoreDown } from '../../src/outside/store/store.ts'

const LEASE_MS = 10_000
const PATIENT_MS = 60_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
})

/** Locks whose rows a test controls. */
function open() {
  const rows = { takeLock: vi.fn(async () => true), dropLock: vi.fn(async () => {}) }
  return { ...rows, locks: createLocks(rows, 'me') }
}

test('a lock is renewed as long as its work runs, and counts as held for half of its time after the last renewal', async () => {
  const { takeLock, dropLock, locks } = open()
  const held = Promise.withResolvers<() => boolean>()
  const letGo = Promise.withResolvers<void>()
  const done = locks.exclusive('key', PATIENT_MS, (isHeld) => {
    held.resolve(isHeld)
    return letGo.promise
  })
  const isHeld = await held.promise
  await vi.advanceTimersByTimeAsync(4 * LEASE_MS)
  expect(isHeld()).toBe(true)
  takeLock.mockRejectedValue(new StoreDown('down'))
  await vi.advanceTimersByTimeAsync(LEASE_MS / 2)
  expect(isHeld()).toBe(true)
  await vi.advanceTimersByTimeAsync(1)
  expect(isHeld()).toBe(false)
  // The store answers again, and no other process has taken the lock.
  takeLock.mockResolvedValue(true)
  await vi.advanceTimersByTimeAsync(LEASE_MS / 4)
  expect(isHeld()).toBe(true)
  // The machine's clock also counts if it is further ahead.
  vi.setSystemTime(Date.now() + LEASE_MS)
  expect(isHeld()).toBe(false)
  letGo.resolve()
  await done
  await vi.advanceTimersByTimeAsync(0)
  expect(dropLock).toHaveBeenCalledTimes(1)
  expect(vi.getTimerCount()).toBe(0)
})
