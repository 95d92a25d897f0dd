import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type ComparisonBatch,
  DIFFERENCES_PER_FIELD,
  type Difference,
  type FieldCount,
} from '../../src/store/comparisons.ts'
import { DAY_MS } from '../../src/store/scoreboard.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import type { Place } from './places.ts'

const DAY = 20_000

const counted = (change: Partial<FieldCount> = {}): FieldCount => ({
  day: DAY,
  action: 'quote.get',
  field: 'Cost',
  equal: 3,
  differs: 2,
  noise: 1,
  ...change,
})

const difference = (change: Partial<Difference> = {}): Difference => ({
  action: 'quote.get',
  field: 'Cost',
  native: '9999.99',
  translated: '999.99',
  requestId: 'r1',
  at: DAY * DAY_MS,
  ...change,
})

const batch = (no: number, more: Partial<ComparisonBatch> = {}): ComparisonBatch => ({
  instance: 'g1 shadow',
  no,
  fields: [],
  differences: [],
  ...more,
})

/** Tests the comparisons of an engine, with two stores on one database. */
export function comparisonContract(newPlace: () => Promise<Place>): void {
  let place: Place
  let store: Store
  let other: Store

  describe('comparisons', () => {
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
      other = await place.open()
    })
    afterEach(() => place.close())

    test('add up over gateways, each batch once', async () => {
      await store.addComparisons(batch(1, { fields: [counted()], differences: [difference()] }))
      await store.addComparisons(batch(1, { fields: [counted()], differences: [difference()] }))
      await other.addComparisons(
        batch(1, { instance: 'g2 shadow', fields: [counted({ equal: 4 }), counted({ day: DAY + 1, field: 'B' })] }),
      )
      await other.addComparisons(batch(2, { instance: 'g2 shadow', differences: [difference({ requestId: 'r2' })] }))
      for (const one of [store, other]) {
        expect(await one.comparedFields(DAY)).toEqual([
          counted({ equal: 7, differs: 4, noise: 2 }),
          counted({ day: DAY + 1, field: 'B' }),
        ])
        expect(await one.comparedFields(DAY + 1)).toEqual([counted({ day: DAY + 1, field: 'B' })])
        expect((await one.differences()).map(({ requestId }) => requestId)).toEqual(['r2', 'r1'])
      }
    })

    test('keep the newest differences of each field', async () => {
      const many = Array.from({ length: DIFFERENCES_PER_FIELD + 7 }, (_, i) => difference({ requestId: `r${i}` }))
      await store.addComparisons(batch(1, { differences: [difference({ field: 'Other' }), ...many] }))
      await store.addComparisons(batch(2, { differences: [difference({ requestId: 'last' })] }))
      const kept = await other.differences()
      const ofCost = kept.filter(({ field }) => field === 'Cost').map(({ requestId }) => requestId)
      expect(ofCost).toHaveLength(DIFFERENCES_PER_FIELD)
      expect(ofCost.slice(0, 2)).toEqual(['last', `r${DIFFERENCES_PER_FIELD + 6}`])
      expect(kept.filter(({ field }) => field === 'Other')).toEqual([difference({ field: 'Other' })])
    })

    test('of earlier days can be dropped', async () => {
      const fields = [counted({ day: DAY - 1 }), counted()]
      const differences = [difference({ at: DAY * DAY_MS - 1, requestId: 'old' }), difference()]
      await store.addComparisons(batch(1, { fields, differences }))
      await store.dropComparisons(DAY)
      expect(await other.comparedFields(0)).toEqual([counted()])
      expect(await other.differences()).toEqual([difference()])
    })

    test('cannot be written or read once the store is closed, nor with text that cannot be stored', async () => {
      const bad = batch(1, { fields: [counted({ field: '\0' })] })
      await expect(store.addComparisons(bad)).rejects.toThrow(RangeError)
      await store.close()
      await expect(store.addComparisons(batch(1))).rejects.toThrow(StoreDown)
      await expect(store.dropComparisons(DAY)).rejects.toThrow(StoreDown)
      await expect(store.comparedFields(0)).rejects.toThrow(StoreDown)
      await expect(store.differences()).rejects.toThrow(StoreDown)
    })
  })
}
