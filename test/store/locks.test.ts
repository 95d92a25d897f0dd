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

test('one renewal runs at a time, and a lock is dropped after it', async () => {
  const opened = open()
  const { letGo, done } = await hold(opened)
  const renewal = Promise.withResolvers<boolean>()
  opened.answer.take = () => renewal.promise
  opened.calls.length = 0
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(opened.calls).toEqual([TAKE])
  letGo()
  await vi.advanceTimersByTimeAsync(0)
  expect(opened.calls).toHaveLength(1)
  renewal.resolve(true)
  await done
  await vi.advanceTimersByTimeAsync(0)
  expect(opened.calls).toEqual([TAKE, 'drop key me'])
})

test('a lock that cannot be dropped does not spoil its work', async () => {
  const opened = open()
  opened.answer.drop = () => Promise.reject(new StoreDown('down'))
  expect(await opened.locks.exclusive('key', PATIENT_MS, async () => 'done')).toBe('done')
  expect(await opened.locks.exclusive('key', PATIENT_MS, async () => 'again')).toBe('again')
})

test('a lock of another process is tried again after 20 to 60 ms, until the time is over', async () => {
  vi.useRealTimers()
  const random = vi.spyOn(Math, 'random')
  onTestFinished(() => random.mockRestore())
  for (const [chosen, leastMs] of [
    [0, 20],
    [1, 60],
  ] as const) {
    random.mockReturnValue(chosen)
    const opened = open()
    const times: number[] = []
    opened.answer.take = async () => {
      times.push(performance.now())
      return times.length > 2
    }
    expect(await opened.locks.exclusive('key', PATIENT_MS, async () => 'done')).toBe('done')
    // Node's timers may be a millisecond early.
    for (const [i, time] of times.slice(1).entries()) expect(time - (times[i] ?? 0)).toBeGreaterThan(leastMs - 2)
  }
  const opened = open()
  opened.answer.take = async () => false
  await expect(opened.locks.exclusive('key', 29.6, () => expect.fail('it has no lock'))).rejects.toThrow(
    new LockTimeout('Other work of key did not end within 30 ms.'),
  )
  // It does not try any more: the next one alone takes the lock.
  opened.answer.take = async () => true
  expect(await opened.locks.exclusive('key', PATIENT_MS, async () => 'done')).toBe('done')
  await opened.locks.exclusive('other key', PATIENT_MS, async () => 'done')
  expect(opened.calls.filter((call) => call === 'drop key me')).toHaveLength(1)
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

test('a store that fails, and work that fails, are told at once', async () => {
  const opened = open()
  opened.answer.take = () => Promise.reject(new StoreDown('down'))
  await expect(opened.locks.exclusive('key', PATIENT_MS, async () => 'done')).rejects.toThrow(StoreDown)
  expect(opened.calls).toEqual([TAKE])
  opened.answer.take = async () => true
  const failing = opened.locks.exclusive('key', PATIENT_MS, () => Promise.reject(new Error('no')))
  await expect(failing).rejects.toThrow('no')
  expect(opened.calls.slice(1)).toEqual([TAKE, 'drop key me'])
  expect(vi.getTimerCount()).toBe(0)
})
