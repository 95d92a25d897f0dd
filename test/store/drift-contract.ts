import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Drift, MOST_DRIFT, OTHER_DRIFT } from '../../src/store/drift.ts'
import { type Store, StoreDown } from '../../src/store/store.ts'
import type { Place } from './places.ts'

const drift = (path: string, change: Partial<Drift> = {}): Drift => ({
  kind: 'new-field',
  path,
  count: 1,
  firstAt: 1_000,
  lastAt: 1_000,
  ...change,
})

/** Tests the list of differences of an engine, with two stores on one database. */
export function driftContract(newPlace: () => Promise<Place>): void {
  let place: Place
  let store: Store
  let other: Store
  const add = (to: Store, instance: string, ...seen: readonly Drift[]) => to.addDrift({ instance, seen, keptSince: 0 })

  describe('differences of replies', () => {
    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
      other = await place.open()
    })
    afterEach(() => place.close())

    test('add up over gateways, and are listed by when they were first seen', async () => {
      await add(store, 'g1', drift('quote.a', { count: 2, firstAt: 5, lastAt: 6 }), drift('quote.b'))
      await add(
        other,
        'g2',
        drift('quote.a', { count: 3, firstAt: 4, lastAt: 9 }),
        drift('quote.a', { kind: 'other-type' }),
      )
      const expected = [
        drift('quote.b'),
        drift('quote.a', { kind: 'other-type' }),
        drift('quote.a', { count: 5, firstAt: 4, lastAt: 9 }),
      ]
      expect(await store.listDrift()).toEqual(expected)
      expect(await other.listDrift()).toEqual(expected)
    })

    test('belong to the process that was the first of all to add them, for good', async () => {
      const [one, two] = await Promise.all([add(store, 'g1', drift('quote.a')), add(other, 'g2', drift('quote.a'))])
      expect([...one, ...two]).toEqual([{ kind: 'new-field', path: 'quote.a' }])
      const [winner, loser] = one.length === 1 ? ['g1', 'g2'] : ['g2', 'g1']
      // The answer to the first batch may have been lost.
      expect(await add(store, winner, drift('quote.a'))).toEqual([{ kind: 'new-field', path: 'quote.a' }])
      expect(await add(store, loser, drift('quote.a'))).toEqual([])
      expect(await add(store, 'g3', drift('quote.a'))).toEqual([])
    })

    test('are bounded: those beyond the limit become one of each kind', async () => {
      const many = (of: string, count: number) => Array.from({ length: count }, (_, i) => drift(`quote.${of}${i}`))
      await add(store, 'g1', ...many('a', MOST_DRIFT - 1))
      await add(other, 'g2', ...many('b', 100), drift('quote.a', { kind: 'other-type' }), drift(OTHER_DRIFT))
      await add(store, 'g1', ...many('a', 10), ...many('c', 100))
      const all = await store.listDrift()
      expect(all).toHaveLength(MOST_DRIFT + 2)
      const others = all.filter(({ path }) => path === OTHER_DRIFT)
      expect(others.map(({ kind, count }) => [kind, count])).toEqual([
        ['new-field', 99 + 1 + 100],
        ['other-type', 1],
      ])
    })

    test('that do not occur any more are dropped', async () => {
      await add(store, 'g1', drift('quote.a', { lastAt: 1_000 }), drift('quote.b', { lastAt: 2_000 }))
      await store.addDrift({ instance: 'g1', seen: [drift('quote.c')], keptSince: 2_000 })
      expect((await other.listDrift()).map(({ path }) => path)).toEqual(['quote.b', 'quote.c'])
    })

    test('with text that cannot be stored are rejected', async () => {
      await expect(add(store, 'g1', drift('quote.\0'))).rejects.toThrow(RangeError)
      expect(await store.listDrift()).toEqual([])
    })

    test('of a closed store are rejected', async () => {
      const closed = await place.open()
      await closed.close()
      await expect(add(closed, 'g1', drift('quote.a'))).rejects.toThrow(StoreDown)
    })
  })
}
