/** Promise: only what may be repeated is tried again, and not too often (contract, section 9). */

import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { gatewayError } from '../../src/errors.ts'
import { NoReply, type Silence, type UpstreamReply } from '../../src/service/exchange.ts'
import { createRetry, type Retry, timeAsked } from '../../src/service/retries.ts'

const SECOND_MS = 1_000
const WINDOW_SECONDS = 10
const ALWAYS_ALLOWED = 10
const TRIES = 3

let retry: Retry
/** How often a repetition was told. */
let told: number

beforeEach(() => {
  // Seconds, and the pauses between tries, pass when the test says so; nothing here does I/O.
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  told = 0
  retry = createRetry(() => {
    told += 1
  })
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

/** Makes a call whose attempts all end alike, and returns when they were made, in milliseconds, with its end. */
async function timesOf(end: Error | Partial<UpstreamReply>, deadline = Number.POSITIVE_INFINITY) {
  const times: number[] = []
  const start = performance.now()
  const attempt = async () => {
    times.push(performance.now() - start)
    if (end instanceof Error) throw end
    return { status: 200, headers: {}, body: Buffer.alloc(0), ...end }
  }
  const [outcome] = await Promise.all([
    retry(attempt, start + deadline).catch((error: unknown) => error),
    vi.runAllTimersAsync(),
  ])
  return { times, outcome }
}

describe('an attempt', () => {
  test.each([
    [502, 3],
    [503, 3],
    [504, 3],
    [500, 1],
    [501, 1],
    [505, 1],
    [429, 1],
    [200, 1],
  ])('that is answered %i is made %i times', async (status, attempts) => {
    const { times, outcome } = await timesOf({ status })
    expect(times).toHaveLength(attempts)
    expect(outcome).toMatchObject({ status })
    expect(told).toBe(attempts - 1)
  })

  const silences: readonly (readonly [Silence, number])[] = [
    ['unsent', 3],
    ['lost', 3],
    ['busy', 1],
    ['withdrawn', 1],
    ['late', 1],
    ['too-large', 1],
  ]
  test.each(silences)('whose request is %s is made %i times', async (silence, attempts) => {
    const error = new NoReply(silence)
    const { times, outcome } = await timesOf(error)
    expect(times).toHaveLength(attempts)
    expect(outcome).toBe(error)
  })

  test('that fails otherwise is made once', async () => {
    const error = Object.assign(new Error('a bug'), { status: 503 })
    expect(await timesOf(error)).toEqual({ times: [0], outcome: error })
  })

  test('that goes well is the last', async () => {
    const answers = [503, 200]
    const reply = retry(async () => ({ status: answers.shift() ?? 0, headers: {}, body: Buffer.alloc(0) }), 1e9)
    await vi.runAllTimersAsync()
    expect([(await reply).status, answers, told]).toEqual([200, [], 1])
  })
})

describe('the pause', () => {
  /** The random numbers at both ends. */
  const [LEAST, MOST] = [0, 1]
  const by = (random: number) => {
    const chosen = vi.spyOn(Math, 'random').mockReturnValue(random)
    onTestFinished(() => chosen.mockRestore())
  }

  test.each([
    [LEAST, [0, 50, 150]],
    [MOST, [0, 150, 450]],
  ])('is a tenth of a second, then twice that, give or take half: %d', async (random, times) => {
    by(random)
    expect((await timesOf({ status: 503 })).times).toEqual(times)
  })

  test.each([
    ['2', [0, 2_000, 4_000]],
    ['0', [0, 50, 150]],
    ['-5', [0, 50, 150]],
    ['Fri, 31 Dec 1999 23:59:59 GMT', [0, 50, 150]],
    [undefined, [0, 50, 150]],
  ])('after Retry-After: %s', async (asked, times) => {
    by(LEAST)
    expect((await timesOf({ status: 503, headers: { 'retry-after': asked } })).times).toEqual(times)
  })

  test('leaves the call fifty milliseconds, or there is no retry', async () => {
    by(LEAST)
    expect((await timesOf({ status: 503 }, 99)).times).toEqual([0])
    expect((await timesOf({ status: 503 }, 100)).times).toEqual([0, 50])
    expect((await timesOf({ status: 503 }, 199)).times).toEqual([0, 50])
    expect((await timesOf({ status: 503 }, 200)).times).toEqual([0, 50, 150])
    expect((await timesOf({ status: 503, headers: { 'retry-after': '2' } }, 2_049)).times).toEqual([0])
  })
})

test.each([
  ['30', '30'],
  ['Fri, 31 Dec 1999 23:59:59 GMT', 'Fri, 31 Dec 1999 23:59:59 GMT'],
  ['Friday, 31-Dec-99 23:59:59 GMT', 'Friday, 31-Dec-99 23:59:59 GMT'],
  ['Fri Dec 31 23:59:59 1999', 'Fri Dec 31 23:59:59 1999'],
  ['0', '0'],
  [' 30 ', '30'],
  ['999999999', '999999999'],
  ['9999999999', undefined],
  ['-3', undefined],
  ['60s', undefined],
  ['1h', undefined],
  ['5, 7', undefined],
  ['0x10', undefined],
  ['soon', undefined],
  ['Fri, when we are back, noon', undefined],
  ['Fri, 31 Dec 1999 99:59:59 GMT', undefined],
  [`Fri, 31 Dec 1999 23:59:59 GMT ${'x'.repeat(40)}`, undefined],
  ['', undefined],
  ['5\r\nx: y', undefined],
  ['<5>', undefined],
  [undefined, undefined],
])('a service that says Retry-After: %j asks to wait %j', (header, asked) => {
  expect(timeAsked(header === undefined ? {} : { 'retry-after': header })).toBe(asked)
})

test('a service that asks for two times asks for none', () => {
  expect(timeAsked(JSON.parse('{"retry-after":["5","7"]}'))).toBe(undefined)
})

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
