import { expect, test } from 'vitest'
import { pauseAfter, retryAfterMs, slowdownAfter, TRIES, warningAt } from '../../src/delivery/schedule.ts'

const [LEAST, MIDDLE, MOST] = [0, 0.5, 1]
const [FIRST_MS, MINUTE_MS, HOUR_MS, DAY_MS] = [5_000, 60_000, 3_600_000, 24 * 3_600_000]

test('pauses are spread by a tenth to both sides, and there is none after the last try', () => {
  for (let failures = 1; failures < TRIES; failures += 1) {
    const pauseMs = pauseAfter(failures, 0, () => MIDDLE) ?? expect.fail('no pause')
    expect(pauseAfter(failures, 0, () => LEAST)).toBe(Math.round(pauseMs * 0.9))
    expect(pauseAfter(failures, 0, () => MOST)).toBe(Math.round(pauseMs * 1.1))
  }
  const pauses = Array.from({ length: TRIES - 1 }, (_, n) => pauseAfter(n + 1, 0, () => MIDDLE) ?? 0)
  expect(pauses.reduce((all, one) => all + one, 0)).toBe(75 * HOUR_MS + 35 * MINUTE_MS + FIRST_MS)
  expect(pauseAfter(TRIES)).toBeUndefined()
})

test('the first pauses are seconds and minutes, the later ones hours', () => {
  const pauses = Array.from({ length: TRIES - 1 }, (_, n) => pauseAfter(n + 1, 0, () => MIDDLE))
  const hours = [2, 5, 10, 14, 20, 24].map((count) => count * HOUR_MS)
  expect(pauses).toEqual([FIRST_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, ...hours])
})

test('an endpoint may ask for a longer pause, of a day at most', () => {
  expect(pauseAfter(1, 1, () => MIDDLE)).toBe(FIRST_MS)
  expect(pauseAfter(1, 9 * HOUR_MS)).toBe(9 * HOUR_MS)
  expect(pauseAfter(1, 2 * DAY_MS)).toBe(DAY_MS)
})

test('operators are warned after half of the tries, and twice near the end', () => {
  const warnings = Array.from({ length: TRIES }, (_, n) => warningAt(n + 1))
  expect(warnings.flatMap((percent, n) => (percent === undefined ? [] : [[n + 1, percent]]))).toEqual([
    [5, 50],
    [7, 70],
    [9, 90],
  ])
})

test('an endpoint that asks for fewer deliveries pauses twice as long each time, up to five minutes or what it asks for', () => {
  const slowdowns = [1, 2, 3, 7, 50].map((replies) => slowdownAfter(replies))
  expect(slowdowns).toEqual([FIRST_MS, 2 * FIRST_MS, 4 * FIRST_MS, 5 * MINUTE_MS, 5 * MINUTE_MS])
  expect([slowdownAfter(1, HOUR_MS), slowdownAfter(1, 2 * DAY_MS), slowdownAfter(2, 1)]).toEqual([
    HOUR_MS,
    DAY_MS,
    2 * FIRST_MS,
  ])
})

test.each([
  ['0', 0],
  ['120', 120_000],
  ['999999999', 999_999_999_000],
  ['1999999999', 0],
  ['-5', 0],
  ['1.5', 0],
  ['soon', 0],
  ['5 s', 0],
  [undefined, 0],
  [['5'], 0],
  ['Sun, 22 Nov 2026 00:01:00 GMT', MINUTE_MS],
  ['Sat, 21 Nov 2026 00:00:00 GMT', 0],
])('Retry-After: %s is %i ms', (header, ms) => {
  expect(retryAfterMs(header, Date.UTC(2026, 10, 22))).toBe(ms)
})
