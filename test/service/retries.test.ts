import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createRetry, type Retry } from '../../src/service/retries.ts'

const SECOND_MS = 1_000
const WINDOW_SECONDS = 10
const ALWAYS_ALLOWED = 10
const TRIES = 3

let retry: Retry

beforeEach(() => {
  // Seconds, and the pauses between tries, pass when the test says so; nothing here does I/O.
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  retry = createRetry()
})

/** Makes so many calls at once, all of which the service answers with a status; returns the number of retries. */
async function retriesOf(status: number, calls: number): Promise<number> {
  let attempts = 0
  const attempt = async () => {
    attempts += 1
    return { status, headers: {}, body: Buffer.alloc(0) }
  }
  const settled = Promise.all(Array.from({ length: calls }, () => retry(attempt, Number.POSITIVE_INFINITY)))
  await vi.runAllTimersAsync()
  await settled
  return attempts - calls
}

test('retries count for ten seconds', async () => {
  expect(await retriesOf(503, ALWAYS_ALLOWED)).toBe(ALWAYS_ALLOWED)
  vi.advanceTimersByTime((WINDOW_SECONDS - 1) * SECOND_MS)
  expect(await retriesOf(503, 1)).toBe(0)
  vi.advanceTimersByTime(SECOND_MS)
  expect(await retriesOf(503, ALWAYS_ALLOWED)).toBe(ALWAYS_ALLOWED)
})

test('calls that went well allow retries for ten seconds', async () => {
  const CALLS = 1_000
  const FAILING = 50
  expect(await retriesOf(200, CALLS)).toBe(0)
  vi.advanceTimersByTime((WINDOW_SECONDS - 1) * SECOND_MS)
  expect(await retriesOf(503, FAILING)).toBe(FAILING * (TRIES - 1))
  vi.advanceTimersByTime(WINDOW_SECONDS * SECOND_MS)
  expect(await retriesOf(503, FAILING)).toBe(ALWAYS_ALLOWED)
})
