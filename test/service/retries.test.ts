import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { gatewayError } from '../../src/errors.ts'
import { NoReply } from '../../src/service/exchange.ts'
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

const UNSENT = [new NoReply('unsent'), new NoReply('busy'), gatewayError('circuit-open', {})]

test.each(UNSENT)('an attempt that did not leave does not hide one that did: %s', async (unsent) => {
  const lost = new NoReply('lost')
  const outcomes: readonly Error[] = [lost, unsent, unsent]
  let attempts = 0
  const told = retry(async () => {
    throw outcomes[attempts++]
  }, Number.POSITIVE_INFINITY).catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  expect(await told).toBe(lost)
})

test.each(UNSENT)('where none left, the last attempt says so: %s', async (unsent) => {
  const told = retry(() => Promise.reject(unsent), Number.POSITIVE_INFINITY).catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  expect(await told).toBe(unsent)
})
