/** Promise: the verdict says when version 1 can be switched off, or why it cannot (contract, section 1). */

import { describe, expect, test } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { equivalentOf } from '../../src/operator/reports/equivalents.ts'
import { readReport } from '../../src/operator/reports/report.ts'
import { type DayUse, type Evidence, verdictOf } from '../../src/operator/reports/verdict.ts'
import { DAY_MS } from '../../src/outside/store/scoreboard.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { Use } from '../../src/runtime/call.ts'

const catalog = await loadMappings()

describe('verdicts', () => {
  /** The first day of the tests; every test ends at most 60 days later. */
  const START = 20_000

  type UseOfDay = Omit<DayUse, 'day'>
  const NOTHING: UseOfDay = { version1: 0, version2: 0, failed: 0, afterEnd: 0 }

  type Watching = (day: number) => boolean

  /** Describes what a gateway has seen by the end of a day, if it watched on the days that `watches` says. */
  function seenBy(today: number, use: (day: number) => Partial<UseOfDay>, watches: Watching = () => true): Evidence {
    const days = Array.from({ length: today + 1 }, (_, day) => day).filter(watches)
    const used = days.map((day) => ({ ...NOTHING, ...use(day), day: START + day }))
    const lastOf = (what: 'version1' | 'version2') => used.findLast((day) => day[what] > 0)?.day
    return {
      today: START + today,
      watched: days.map((day) => START + day),
      lastVersion1: lastOf('version1'),
      lastVersion2: lastOf('version2'),
      days: used.filter(({ version1, version2 }) => version1 + version2 > 0),
    }
  }

  const untilDay10 = (day: number) => ({ version1: day < 10 ? 5 : 0 })

  test.each<[string, (day: number) => Partial<UseOfDay>, Readonly<Record<number, string>>, Watching?]>([
    ['calls every day is calling', () => ({ version1: 5 }), { 0: 'calling' }],
    ['calls on weekdays only is never quiet', (day) => ({ version1: day % 7 < 5 ? 5 : 0 }), { 0: 'calling' }],
    ['stops is quiet after a week, and safe after 30', untilDay10, { 0: 'calling', 16: 'quiet', 39: 'safe' }],
    [
      'calls in the quiet time starts it anew',
      (day) => ({ version1: day < 10 || day === 38 ? 5 : 0 }),
      { 0: 'calling', 16: 'quiet', 38: 'calling', 45: 'quiet' },
    ],
    [
      'stops is not safe by days on which no gateway watched',
      untilDay10,
      { 0: 'calling', 16: 'quiet', 49: 'safe' },
      (day) => day < 20 || day >= 30,
    ],
    [
      'moves is moving, then quiet, then safe',
      (day) => ({ version1: day < 25 ? 5 : 0, version2: day >= 10 ? 5 : 0 }),
      { 0: 'calling', 10: 'moving', 31: 'quiet', 54: 'safe' },
    ],
    [
      'only ever used version 2 is safe once the gateway has watched for long enough',
      () => ({ version2: 5 }),
      { 0: 'quiet', 29: 'safe' },
    ],
    ['never calls is never safe', () => ({}), { 0: 'never-seen' }],
    [
      'has more than 5 % errors is failing, for the week after',
      (day) => ({ version1: 100, failed: day === 20 ? 36 : day > 40 ? 5 : 0 }),
      { 0: 'calling', 20: 'failing', 27: 'calling' },
    ],
  ])('over 60 days, a tenant that %s', (_story, use, firstDays, watching) => {
    const states = Array.from({ length: 60 }, (_, day) => verdictOf(seenBy(day, use, watching)).state)
    const changes = [...states.entries()].filter(([day, state]) => states[day - 1] !== state)
    expect(Object.fromEntries(changes)).toEqual(firstDays)
  })

  const mixed = (before: number, after: number) =>
    seenBy(27, (day) => ({ version1: 10, version2: day < 14 ? before : after }))

  test.each([
    [
      seenBy(30, untilDay10),
      'The last version-1 call was on 2024-10-13. It is safe to switch off after 30 watched days without one; so far: 21.',
    ],
    [
      seenBy(5, () => ({})),
      'No call has come since 2024-10-04, when the gateway began watching. There may still be callers elsewhere.',
    ],
    [
      { ...seenBy(5, () => ({})), watched: [] },
      'No call is known, but no gateway has been watching yet, so that proves nothing.',
    ],
    [mixed(0, 10), 'rising, from 0 % in the first week to 50 % in the last.'],
    [mixed(10, 0), 'falling'],
    [mixed(9, 99_999), 'to 99.9 % in the last.'],
    [mixed(10, 10), 'steady'],
    [seenBy(6, () => ({ version1: 1, version2: 1 })), 'use version 2, all in one week.'],
    [
      seenBy(6, () => ({ version1: 10, failed: 1 })),
      '7 of 70 calls in the last seven days failed (10 %; the limit is 5 %). Caller errors do not count.',
    ],
  ])('the reason for a verdict says what was seen: %#', (evidence, reason) => {
    expect(verdictOf(evidence).reasons[0]).toContain(reason)
  })
})

describe('the verdict on all tenants', () => {
  const TODAY = 20_100

  /** Reports on tenants that last called this many days ago, after 100 days of watching. */
  async function reportOn(
    lastCalls: Readonly<Record<string, number>>,
    tenants: readonly string[] = [],
    dryRunners: readonly string[] = [],
  ) {
    const store = createMemoryStore({ now: () => (TODAY + 0.5) * DAY_MS })
    const used = (tenant: string, ago: number, use: Use) => {
      const at = (TODAY - ago) * DAY_MS
      const more = { action: '', count: 5, firstAt: at, lastAt: at, example: '' }
      const name = { tenant, kind: 'use', name: use, ...more } as const
      return { name, call: { tenant, day: TODAY - ago, use, action: 'quote.get', outcome: 'done', calls: 5 } }
    }
    const all = [
      ...Object.entries(lastCalls).map(([tenant, ago]) => used(tenant, ago, 'version-1')),
      ...dryRunners.map((tenant) => used(tenant, 0, 'dry-run')),
    ]
    const days = Array.from({ length: 100 }, (_, i) => TODAY - i)
    const [calls, names] = [all.map(({ call }) => call), all.map(({ name }) => name)]
    await store.addCounts({ instance: 'test', no: 1, days, calls, names })
    return readReport({ store, catalog, tenants })
  }

  test.each([
    [{ one: 40, other: 60 }, 'safe'],
    [{ one: 40, other: 10 }, 'quiet'],
    [{ one: 40, other: 1 }, 'calling'],
  ])('of last calls %o days ago is %s', async (lastCalls, state) => {
    expect((await reportOn(lastCalls)).verdict.state).toBe(state)
  })

  test('is not safe while a declared tenant has never called, or has sent only dry runs', async () => {
    const { verdict, tenants } = await reportOn({ one: 40 }, ['one', 'silent'])
    expect(tenants.map(({ verdict: { state } }) => state)).toEqual(['safe', 'never-seen'])
    expect(verdict.state).toBe('quiet')
    expect(verdict.reasons).toContain('1 tenant never called, which proves nothing: silent.')
    expect((await reportOn({ one: 40 }, [], ['dry'])).verdict.state).toBe('quiet')
  })
})

describe('the version-2 equivalent', () => {
  test('of every field of every action is a place, or a note that says why there is none', () => {
    for (const { action, fields, hasPlace } of catalog.actions.values())
      for (const [slot, field] of fields.names.entries()) {
        const { places = [], note = '' } = equivalentOf(action.name, field, catalog) ?? {}
        expect([action.name, field, places.length > 0]).toEqual([action.name, field, hasPlace[slot]])
        expect(places.join() + note, field).not.toBe('')
      }
    const places = (action: string, field: string) => equivalentOf(action, field, catalog)?.places
    expect(places('shipment.create', 'PickupZip')).toEqual(['pickup.zipcode'])
    expect(places('quote.get', 'ActionName')).toEqual(['POST /v2/quote'])
    expect(equivalentOf('quote.get', 'CSR', catalog)?.note).toBe('version 2 does not record the agent')
  })

  test('does not exist for an action or a field that is no longer declared', () => {
    expect(equivalentOf('gone', 'ActionName', catalog)).toBeUndefined()
    expect(equivalentOf('quote.get', 'Gone', catalog)).toBeUndefined()
  })
})
