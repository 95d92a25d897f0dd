/** Promise: a credential that the service accepted is proven for a while, until it is refused (contract, section 5). */

import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createAcceptedCredentials } from '../../src/callers/client.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

describe('a credential that the service has accepted', () => {
  const MINUTE_MS = 60_000

  test('is proven for a quarter of an hour, and kept until it is refused', () => {
    const { find, open } = createAcceptedCredentials<string>()
    const decided: unknown[] = []
    const entry = open(
      'Basic a',
      () => 'value',
      (...verdict) => decided.push(verdict),
    )
    expect([find('Basic a'), entry.value, entry.acceptance.isProven()]).toEqual([undefined, 'value', false])
    entry.acceptance.accepted()
    expect(find('Basic a')).toBe(entry)
    vi.advanceTimersByTime(15 * MINUTE_MS - 1)
    expect(entry.acceptance.isProven()).toBe(true)
    vi.advanceTimersByTime(1)
    expect(entry.acceptance.isProven()).toBe(false)
    expect(find('Basic a')).toBe(entry)
    entry.acceptance.accepted()
    expect(entry.acceptance.isProven()).toBe(true)
    entry.acceptance.refused()
    expect([find('Basic a'), entry.acceptance.isProven()]).toEqual([undefined, false])
    expect(decided).toEqual([
      ['Basic a', true],
      ['Basic a', true],
      ['Basic a', false],
    ])
  })

  test('is not removed by the refusal of an older one', () => {
    const { find, open } = createAcceptedCredentials<string>()
    const [older, newer] = [open('Basic a', () => 'older'), open('Basic a', () => 'newer')]
    older.acceptance.accepted()
    newer.acceptance.accepted()
    older.acceptance.refused()
    expect(find('Basic a')).toBe(newer)
  })

  test('gives way to ten thousand others, or fewer that are long', () => {
    const { find, open } = createAcceptedCredentials<number>()
    const accept = (header: string) => open(header, () => 0).acceptance.accepted()
    accept('first')
    for (let i = 0; i < 9_000; i += 1) accept(`Basic ${i}`)
    expect(find('first')).toBeDefined()
    for (let i = 9_000; i < 19_000; i += 1) accept(`Basic ${i}`)
    expect(find('first')).toBeUndefined()
    accept('first')
    for (let i = 0; i < 2_000; i += 1) accept(`Basic ${i} ${'x'.repeat(8_000)}`)
    expect(find('first')).toBeUndefined()
  })
})
