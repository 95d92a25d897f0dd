import { describe, expect, test } from 'vitest'
import type { Reply } from '../../src/delivery/post.ts'
import { TRIES } from '../../src/delivery/schedule.ts'
import { asksToSlowDown, verdictOf } from '../../src/delivery/verdict.ts'

const NOW = Date.UTC(2026, 10, 22)
const answered = (status: number, retryAfter?: unknown): Reply => ({ kind: 'answered', status, retryAfter })
const verdict = (reply: Reply, failures = 0, slowReplies = 0) =>
  verdictOf({ event: { failures }, reply, slowReplies, now: NOW })

describe('after a reply', () => {
  test.each([200, 201, 299])('%i, the event is delivered', (status) => {
    expect(verdict(answered(status))).toEqual({ state: 'delivered', outcome: `answered ${status}` })
  })

  test.each([199, 300, 302, 400, 409, 411, 500, 503])('%i, there is another try', (status) => {
    expect(verdict(answered(status))).toEqual({
      state: 'due',
      outcome: `answered ${status}`,
      retryInMs: expect.any(Number),
    })
  })

  test('410, the endpoint gets nothing more', () => {
    expect(verdict(answered(410))).toEqual({ state: 'due', outcome: 'answered 410', endpoint: { stop: true } })
  })

  test.each([429, 502, 504])('%i, the endpoint pauses, too', (status) => {
    expect(verdict(answered(status), 0, 2)).toMatchObject({ state: 'due', endpoint: { pauseMs: 10_000 } })
    expect(verdict(answered(status, '3600'), 0, 1)).toMatchObject({
      retryInMs: 3_600_000,
      endpoint: { pauseMs: 3_600_000 },
    })
    expect(verdict(answered(status), TRIES - 1, 1)).toMatchObject({ state: 'parked', endpoint: { pauseMs: 5_000 } })
  })

  test('with a date of Retry-After, the next try is then', () => {
    expect(verdict(answered(503, 'Sun, 22 Nov 2026 01:00:00 GMT'))).toMatchObject({ retryInMs: 3_600_000 })
  })
})

test('an address that is not allowed parks the event', () => {
  expect(verdict({ kind: 'refused', reason: 'not allowed' })).toEqual({ state: 'parked', outcome: 'not allowed' })
})

test.each([
  [0, 5_000],
  [1, 300_000],
  [2, 1_800_000],
])('a failure after %i others has the next try in about %i ms', (failures, pauseMs) => {
  const { retryInMs, ...rest } = verdict({ kind: 'failed', reason: 'connection lost' }, failures)
  expect(rest).toEqual({ state: 'due', outcome: 'connection lost' })
  expect(Math.abs((retryInMs ?? 0) - pauseMs)).toBeLessThanOrEqual(pauseMs / 10)
})

test('the last failure parks the event', () => {
  expect(verdict({ kind: 'failed', reason: 'connection lost' }, TRIES - 2).state).toBe('due')
  expect(verdict({ kind: 'failed', reason: 'connection lost' }, TRIES - 1)).toEqual({
    state: 'parked',
    outcome: 'connection lost',
  })
})

test('only replies ask for fewer deliveries', () => {
  expect([429, 502, 504, 500, 503, 200].map((status) => asksToSlowDown(answered(status)))).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ])
  expect(asksToSlowDown({ kind: 'failed', reason: 'late' })).toBe(false)
})
