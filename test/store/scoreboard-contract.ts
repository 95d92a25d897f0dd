import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type CallCount,
  type CountBatch,
  DAY_MS,
  type NameCount,
  OTHER_NAMES,
} from '../../src/outside/store/scoreboard.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { runs } from '../size.ts'
import type { Place } from './places.ts'

const DAY = 20_000

const calls = (change: Partial<CallCount> = {}): CallCount => ({
  tenant: 'acme',
  day: DAY,
  use: 'version-1',
  action: 'quote.get',
  outcome: 'done',
  calls: 1,
  ...change,
})

const named = (change: Partial<NameCount> = {}): NameCount => ({
  tenant: 'acme',
  kind: 'used',
  action: 'quote.get',
  name: 'LoadReference',
  count: 1,
  firstAt: DAY * DAY_MS,
  lastAt: DAY * DAY_MS,
  example: '',
  ...change,
})

const batch = (no: number, change: Partial<CountBatch> = {}): CountBatch => ({
  instance: 'g1',
  no,
  days: [DAY],
  calls: [],
  names: [],
  ...change,
})

/** Tests the counts of an engine, with two stores on one database. */
export function scoreboardContract(newPlace: () => Promise<Place>): void {
  let place: Place
  let store: Store
  let other: Store

  describe('counts', () => {
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
      other = await place.open()
    })
    afterEach(() => place.close())

    test('add up over gateways, each batch once', async () => {
      await store.addCounts(batch(1, { calls: [calls({ calls: 3 })], names: [named({ count: 3 })] }))
      await other.addCounts(batch(1, { instance: 'g2', calls: [calls({ calls: 4 })], names: [named({ count: 4 })] }))
      await store.addCounts(batch(1, { calls: [calls({ calls: 3 })], names: [named({ count: 3 })] }))
      await other.addCounts(batch(2, { calls: [calls({ calls: 5 }), calls({ outcome: 'untranslatable' })] }))
      expect(await store.callCounts(['acme'], 0)).toEqual([calls({ calls: 12 }), calls({ outcome: 'untranslatable' })])
      expect(await other.nameCounts('acme')).toEqual([named({ count: 7 })])
    })

    test('of many gateways at once are exact', async () => {
      const GATEWAYS = 8
      const BATCHES = 10
      const work = Array.from({ length: GATEWAYS }, async (_, gateway) => {
        for (let no = 1; no <= BATCHES; no += 1) {
          const names = Array.from({ length: 12 }, (_, i) => named({ kind: 'unknown', name: `F${gateway}-${no}-${i}` }))
          const counts = batch(no, { instance: `gateway ${gateway}`, calls: [calls()], names })
          await (gateway % 2 ? store : other).addCounts(counts)
        }
      })
      await Promise.all(work)
      expect(await store.callCounts(['acme'], 0)).toEqual([calls({ calls: GATEWAYS * BATCHES })])
      const names = await other.nameCounts('acme')
      expect(names).toHaveLength(51)
      expect(names.reduce((all, { count }) => all + count, 0)).toBe(GATEWAYS * BATCHES * 12)
    })

    test('are read by tenant and from a day on, in order, with the days on which a gateway watched', async () => {
      const all = [
        calls({ day: DAY - 1 }),
        calls({ action: 'shipment.create' }),
        calls({ use: 'version-2', action: '' }),
        calls({ tenant: 'other' }),
      ]
      await store.addCounts(batch(1, { calls: all.toReversed(), days: [DAY, DAY + 1] }))
      await other.addCounts(batch(1, { instance: 'g2', days: [DAY - 3, DAY] }))
      expect(await store.watchedDays()).toEqual([DAY - 3, DAY, DAY + 1])
      expect(await other.callCounts(['acme'], 0)).toEqual(all.slice(0, 3))
      expect(await other.callCounts(['acme'], DAY)).toEqual(all.slice(1, 3))
      expect(await other.callCounts(['other', 'acme'], DAY)).toEqual(all.slice(1))
      expect(await other.callCounts(['none'], 0)).toEqual([])
      expect(await other.nameCounts('none')).toEqual([])
    })

    test('of a name have its first and last time, and the example of the last', async () => {
      const error = { kind: 'error', action: '', name: 'untranslatable' } as const
      const times = [
        { firstAt: 5, lastAt: 9, example: 'r9' },
        { firstAt: 2, lastAt: 4, example: 'r4' },
        { firstAt: 10, lastAt: 12, example: 'r12' },
      ]
      for (const [no, at] of times.entries()) await store.addCounts(batch(no, { names: [named({ ...error, ...at })] }))
      expect(await store.nameCounts('acme')).toEqual([
        named({ ...error, count: 3, firstAt: 2, lastAt: 12, example: 'r12' }),
      ])
    })

    test('list the tenants with their interfaces, a thousand at once and then the ones after them', async () => {
      const use = (no: number, name: string) =>
        named({ tenant: `tenant ${String(no).padStart(4, '0')}`, kind: 'use', action: '', name })
      const uses = Array.from({ length: 750 }, (_, no) => [use(no, 'version-1'), use(no, 'version-2')]).flat()
      await store.addCounts(batch(1, { names: [named(), ...uses.toReversed()] }))
      const first = await other.countedTenants()
      const second = await other.countedTenants(first.at(-1))
      expect([first.length, second.length]).toEqual([1_000, 500])
      expect([...first, ...second]).toEqual(uses)
      expect(await other.countedTenants(second.at(-1))).toEqual([])
    })

    test('have at most 50 unknown names, 50 networks and 10 agents of a tenant, and the others as one', async () => {
      const many = (kind: 'unknown' | 'agent' | 'network', from: number, to: number) =>
        Array.from({ length: to - from }, (_, i) => named({ kind, action: '', name: `n${from + i}` }))
      for (const [no, kind] of (['unknown', 'agent', 'network'] as const).entries()) {
        await store.addCounts(batch(no * 2 + 1, { names: many(kind, 0, 9) }))
        await store.addCounts(
          batch(no * 2 + 2, { names: [...many(kind, 0, 100), named({ kind, action: '', name: OTHER_NAMES })] }),
        )
      }
      const found = await store.nameCounts('acme')
      for (const [kind, most] of Object.entries({ unknown: 50, agent: 10, network: 50 })) {
        const names = found.filter((count) => count.kind === kind)
        expect(names, kind).toHaveLength(most + 1)
        expect(names.find(({ name }) => name === OTHER_NAMES)?.count, kind).toBe(101 - most)
        expect(names.find(({ name }) => name === 'n3')?.count, kind).toBe(2)
      }
      // The limit is that of each tenant.
      await store.addCounts(batch(9, { names: many('agent', 0, 10).map((count) => ({ ...count, tenant: 'other' })) }))
      expect(await store.nameCounts('other')).toHaveLength(10)
    })

    test('keep any text but what no database keeps, and lose nothing else of the store', async () => {
      const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((name) => !name.includes('\0'))
      let no = 0
      await fc.assert(
        fc.asyncProperty(text, text, async (tenant, name) => {
          no += 1
          const error = named({ tenant, kind: 'error', action: '', name, example: name })
          await store.addCounts(batch(no, { calls: [calls({ tenant })], names: [error] }))
          expect(await other.nameCounts(tenant)).toContainEqual(expect.objectContaining({ name, example: name }))
          expect(await other.callCounts([tenant], DAY)).toHaveLength(1)
        }),
        { numRuns: runs(20, 80) },
      )
    })
  })
}
