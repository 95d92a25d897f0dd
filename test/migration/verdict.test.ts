/** Promise: the verdict says when version 1 can be switched off, and why not yet (contract, section 1). */

import { describe, expect, test } from 'vitest'
import { loadMappings } from '../../src/config/mappings.ts'
import { fieldsOf } from '../../src/mapping/row-parts.ts'
import { slotKinds } from '../../src/migration/counts.ts'
import {
  createEquivalents,
  type DayUse,
  type Evidence,
  readReport,
  verdictOf,
  weeklyShares,
} from '../../src/migration/report.ts'
import { DAY_MS, type NameCount } from '../../src/store/scoreboard.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'

const catalog = await loadMappings()

describe('verdicts', () => {
  /** The first day of the tests; every test ends at most 60 days later. */
  const START = 20_000

  type Use = Omit<DayUse, 'day'>
  const NOTHING: Use = { version1: 0, version2: 0, failed: 0 }

  interface Watching {
    readonly quietDays?: number
    readonly watches?: (day: number) => boolean
  }

  /** Describes what a gateway has seen by the end of a day, if it watched on the days that `watches` says. */
  function seenBy(
    today: number,
    use: (day: number) => Partial<Use>,
    { quietDays = 30, watches = () => true }: Watching = {},
  ): Evidence {
    const days = Array.from({ length: today + 1 }, (_, day) => day).filter(watches)
    const used = days.map((day) => ({ ...NOTHING, ...use(day), day: START + day }))
    const lastOf = (what: 'version1' | 'version2') => used.findLast((day) => day[what] > 0)?.day
    return {
      today: START + today,
      watched: days.map((day) => START + day),
      quietDays,
      lastVersion1: lastOf('version1'),
      lastVersion2: lastOf('version2'),
      days: used.filter(({ version1, version2 }) => version1 + version2 > 0),
    }
  }

  /** Returns the states of 60 days, each with its first day. */
  function statesOf(use: (day: number) => Partial<Use>, options: Watching = {}) {
    const states = Array.from({ length: 60 }, (_, day) => verdictOf(seenBy(day, use, options)).state)
    return states.flatMap((state, day) => (day > 0 && states[day - 1] === state ? [] : [[day, state]]))
  }

  describe('over 60 days', () => {
    test('a tenant that calls every day is calling', () => {
      expect(statesOf(() => ({ version1: 5 }))).toEqual([[0, 'calling']])
    })

    test('one that calls on weekdays only is never quiet', () => {
      expect(statesOf((day) => ({ version1: day % 7 < 5 ? 5 : 0 }))).toEqual([[0, 'calling']])
    })

    test('one that stops is quiet after a week, and safe after 30 watched days', () => {
      expect(statesOf((day) => ({ version1: day < 10 ? 5 : 0 }))).toEqual([
        [0, 'calling'],
        [16, 'quiet'],
        [39, 'safe'],
      ])
    })

    test('a call in the quiet time starts it anew', () => {
      expect(statesOf((day) => ({ version1: day < 10 || day === 38 ? 5 : 0 }))).toEqual([
        [0, 'calling'],
        [16, 'quiet'],
        [38, 'calling'],
        [45, 'quiet'],
      ])
    })

    test('days on which no gateway watched prove nothing', () => {
      const stops = (day: number) => ({ version1: day < 10 ? 5 : 0 })
      expect(statesOf(stops, { watches: (day) => day < 20 || day >= 30 })).toEqual([
        [0, 'calling'],
        [16, 'quiet'],
        [49, 'safe'],
      ])
    })

    test('one that moves is moving, then quiet, then safe', () => {
      const moves = (day: number) => ({ version1: day < 25 ? 5 : 0, version2: day >= 10 ? 5 : 0 })
      expect(statesOf(moves)).toEqual([
        [0, 'calling'],
        [10, 'moving'],
        [31, 'quiet'],
        [54, 'safe'],
      ])
    })

    test('one that only ever used version 2 is safe once the gateway has watched for long enough', () => {
      expect(statesOf(() => ({ version2: 5 }))).toEqual([
        [0, 'quiet'],
        [29, 'safe'],
      ])
    })

    test('one that never calls is never safe', () => {
      expect(statesOf(() => ({}))).toEqual([[0, 'never-seen']])
    })

    test('one with more than 5 % errors is failing, for the week after', () => {
      const fails = (day: number) => ({ version1: 100, failed: day === 20 ? 36 : day > 40 ? 5 : 0 })
      expect(statesOf(fails)).toEqual([
        [0, 'calling'],
        [20, 'failing'],
        [27, 'calling'],
      ])
    })

    test('QUIET_DAYS of one day trusts one day', () => {
      expect(statesOf((day) => ({ version1: day < 10 ? 5 : 0 }), { quietDays: 1 })).toEqual([
        [0, 'calling'],
        [10, 'safe'],
      ])
    })
  })

  describe('the reasons', () => {
    test('name the last call, and how much is left to wait', () => {
      const verdict = verdictOf(seenBy(30, (day) => ({ version1: day < 10 ? 5 : 0 })))
      expect(verdict).toEqual({
        state: 'quiet',
        since: '2024-10-13',
        reasons: [
          'Its last version-1 call was on 2024-10-13. It is safe to switch off after 30 watched days without one; so far there are 21.',
        ],
      })
    })

    test('say since when a gateway has watched a tenant that never called', () => {
      expect(verdictOf(seenBy(5, () => ({}))).reasons).toEqual([
        'It has never called since 2024-10-04, when the gateway began to watch. It may still have callers elsewhere.',
      ])
      expect(verdictOf({ ...seenBy(5, () => ({})), watched: [] }).reasons).toEqual([
        'It has never called, but no gateway has watched yet: that proves nothing.',
      ])
    })

    test('give the share of version 2 and its trend over four weeks', () => {
      const rising = verdictOf(seenBy(27, (day) => ({ version1: 10, version2: day < 14 ? 0 : 10 })))
      expect(rising.reasons).toEqual([
        '33.3 % of its 420 calls in the last four weeks use version 2; the share is rising, from 0 % in the first of these weeks to 50 % in the last.',
      ])
      const falling = verdictOf(seenBy(27, (day) => ({ version1: 10, version2: day < 14 ? 10 : 0 })))
      expect(falling.reasons[0]).toContain('the share is falling, from 50 %')
      const steady = verdictOf(seenBy(27, () => ({ version1: 10, version2: 10 })))
      expect(steady.reasons[0]).toContain('the share is steady')
    })

    test('give the errors of one that fails', () => {
      const [reason] = verdictOf(seenBy(6, () => ({ version1: 10, failed: 1 }))).reasons
      expect(reason).toBe(
        '7 of 70 calls in the last seven days failed (10 %; the limit is 5 %). Mistakes of the caller do not count.',
      )
    })
  })

  test('a week without calls has no share', () => {
    const { today, days } = seenBy(27, (day) =>
      day < 7 ? { version1: 1 } : day >= 21 ? { version1: 3, version2: 1 } : {},
    )
    expect(weeklyShares(today, days)).toEqual([0, undefined, undefined, 0.25])
  })
})

describe('reports', () => {
  const TODAY = 20_100

  /** Returns a store whose tenants last called so many days ago, watched for 100 days. */
  async function storeWith(lastCalls: Readonly<Record<string, number>>) {
    const store = createMemoryStore({ now: () => (TODAY + 0.5) * DAY_MS })
    const days = Array.from({ length: 100 }, (_, i) => TODAY - i)
    const calls = Object.entries(lastCalls).map(([tenant, ago]) => ({
      tenant,
      day: TODAY - ago,
      use: 'version-1' as const,
      action: 'quote.get',
      outcome: 'done',
      calls: 5,
    }))
    const names = Object.entries(lastCalls).map(([tenant, ago]): NameCount => {
      const at = (TODAY - ago) * DAY_MS
      return { tenant, kind: 'use', action: '', name: 'version-1', count: 5, firstAt: at, lastAt: at, example: '' }
    })
    await store.addCounts({ instance: 'test', no: 1, days, calls, names })
    return store
  }

  const reportOn = async (
    lastCalls: Readonly<Record<string, number>>,
    tenants: readonly string[] = [],
    only?: string,
  ) => readReport({ store: await storeWith(lastCalls), catalog, quietDays: 30, tenants }, only)

  describe('the verdict on all tenants', () => {
    test('is safe once every tenant is safe', async () => {
      expect((await reportOn({ one: 40, other: 60 })).verdict.state).toBe('safe')
      expect((await reportOn({ one: 40, other: 10 })).verdict.state).toBe('quiet')
      expect((await reportOn({ one: 40, other: 1 })).verdict.state).toBe('calling')
    })

    test('is not safe while a declared tenant has never called', async () => {
      const { verdict, tenants } = await reportOn({ one: 40 }, ['one', 'silent'])
      expect(tenants.map(({ verdict: { state } }) => state)).toEqual(['safe', 'never-seen'])
      expect(verdict.state).toBe('quiet')
      expect(verdict.reasons).toContain('1 tenant never called, which proves nothing: silent.')
    })

    test('counts a tenant with dry runs alone as one that never called', async () => {
      const store = await storeWith({ one: 40 })
      const at = TODAY * DAY_MS
      const dryRun = {
        tenant: 'dry',
        kind: 'use',
        action: '',
        name: 'dry-run',
        count: 1,
        firstAt: at,
        lastAt: at,
      } as const
      await store.addCounts({ instance: 'test', no: 2, days: [], calls: [], names: [{ ...dryRun, example: '' }] })
      const { verdict } = await readReport({ store, catalog, quietDays: 30, tenants: [] })
      expect(verdict.state).toBe('quiet')
    })
  })

  test.each([...catalog.actions.values()])('every field of $action.name has an equivalent, or a reason', (compiled) => {
    const { action, fields } = compiled
    const equivalent = createEquivalents(catalog)
    const kinds = slotKinds(compiled)
    expect(new Set([...action.request, ...(action.remember ?? [])].flatMap(fieldsOf))).toEqual(new Set(fields.names))
    for (const [slot, field] of fields.names.entries()) {
      const found = equivalent(action.name, field)
      expect(found?.note, field).not.toBe('')
      // A field without effect has no place in version 2, and every other one has.
      expect((found?.places.length ?? 0) > 0, field).toBe(kinds[slot] === 'used')
    }
  })

  test('an action or a field that is not declared any more has no equivalent', () => {
    const equivalent = createEquivalents(catalog)
    expect(equivalent('gone', 'ActionName')).toBeUndefined()
    expect(equivalent('quote.get', 'Gone')).toBeUndefined()
  })
})

describe('equivalents', () => {
  test('the version-2 equivalent of every field of every action is the reviewed one', async () => {
    const catalog = await loadMappings()
    const equivalent = createEquivalents(catalog)
    const lines = [...catalog.actions.values()].flatMap((compiled) => {
      const kinds = slotKinds(compiled)
      const { name } = compiled.action
      return compiled.fields.names.map((field, slot) => {
        const { places = [], note = '' } = equivalent(name, field) ?? {}
        return `${name} ${field} (${kinds[slot]}): ${places.join(', ') || '-'}: ${note}`
      })
    })
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('equivalents.txt')
  })
})
