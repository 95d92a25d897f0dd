/** Promise: no source takes what others need (contract, section 5). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Quota, shortage } from '../../src/callers/limits.ts'
import { runs } from '../size.ts'

/** For long runs with TRANSLOAD_RUNS=1000000. */
const RUNS = runs(400, 2_000)
const NIGHT_MS = 3_600_000

const anyQuota = fc
  .tuple(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 0, max: 8 }))
  .map(([limit, perSource, little]): Quota => ({ limit, perSource: Math.min(limit, perSource), little }))

/** Takes one for each source in turn, until none gets more. */
function filled(quota: Quota, sources: number): number[] {
  const held = Array<number>(sources).fill(0)
  let total = 0
  for (let taken = true; taken; ) {
    taken = false
    held.forEach((own, i) => {
      if (shortage(quota, total, own, 1)) return
      held[i] = own + 1
      total += 1
      taken = true
    })
  }
  return held
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0)

describe('a share', { timeout: NIGHT_MS }, () => {
  test('is the most that one source alone gets', () => {
    fc.assert(
      fc.property(anyQuota, (quota) => {
        expect(filled(quota, 1)).toEqual([quota.perSource])
        expect(shortage(quota, quota.perSource, quota.perSource, 1)).toBe(
          quota.perSource < quota.limit ? 'source' : 'all',
        )
      }),
      { numRuns: RUNS },
    )
  })

  test('never adds up to more than there is, and all sources get the same', () => {
    fc.assert(
      fc.property(anyQuota, fc.integer({ min: 1, max: 100 }), (quota, sources) => {
        const held = filled(quota, sources)
        expect(sum(held)).toBeLessThanOrEqual(quota.limit)
        expect(Math.max(...held)).toBeLessThanOrEqual(quota.perSource)
        expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(1)
      }),
      { numRuns: RUNS },
    )
  })

  test.each([1, 2, 3, 4, 5, 10, 50, 100, 200])(
    'of a quarter leaves room beside %i sources that take all they get',
    (sources) => {
      const quota = { limit: 1024, perSource: 256, little: 0 }
      const held = filled(quota, sources)
      expect(shortage(quota, sum(held), 0, 1)).toBeUndefined()
      // Up to three sources do not limit each other.
      if (sources <= 3) expect(held).toEqual(held.map(() => 256))
    },
  )

  test('leaves every source a little, until nothing is left', () => {
    const quota = { limit: 8, perSource: 4, little: 4 }
    expect(filled(quota, 2)).toEqual([4, 4])
    expect(filled(quota, 8)).toEqual(Array(8).fill(1))
    expect(shortage(quota, 8, 0, 1)).toBe('all')
  })
})
