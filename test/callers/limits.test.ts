/** Promise: a tenant has the calls that its limits give it (contract, section 5). */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createLimits } from '../../src/callers/limits.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** Returns the function that enters limits, and returns the one that leaves them. */
function entering(options: Parameters<typeof createLimits>[0]) {
  const { enter } = createLimits(options)
  return () => {
    const held: (() => void)[] = []
    enter({ hold: (giveBack) => held.push(giveBack) })
    return () => {
      for (const giveBack of held) giveBack()
    }
  }
}

const refused = (seconds: number) =>
  expect.objectContaining({
    code: 'too-many-calls',
    headers: { 'Retry-After': String(seconds) },
    message: expect.stringContaining(`in ${seconds} s`),
  })

describe('calls per second', () => {
  test('are those of a second at once, and then what time brings', () => {
    const enter = entering({ perSecond: 2 })
    for (let i = 0; i < 2; i += 1) enter()
    expect(enter).toThrow(refused(1))
    vi.advanceTimersByTime(499)
    expect(enter).toThrow(refused(1))
    vi.advanceTimersByTime(1)
    enter()
    expect(enter).toThrow(refused(1))
    // Not more than a second's worth is kept.
    vi.advanceTimersByTime(60_000)
    for (let i = 0; i < 2; i += 1) enter()
    expect(enter).toThrow(refused(1))
  })

  test('may be less than one', () => {
    const enter = entering({ perSecond: 0.1 })
    enter()
    expect(enter).toThrow(refused(10))
    vi.advanceTimersByTime(4_000)
    expect(enter).toThrow(refused(6))
    vi.advanceTimersByTime(6_000)
    enter()
  })
})

test('concurrent calls are those that have not left', () => {
  const enter = entering({ concurrent: 2 })
  const [leave] = [enter(), enter()]
  expect(enter).toThrow(refused(1))
  leave()
  enter()
  expect(enter).toThrow(refused(1))
})

test('without limits, every call is admitted', () => {
  const enter = entering({})
  for (let i = 0; i < 1_000; i += 1) expect(enter).not.toThrow()
})
