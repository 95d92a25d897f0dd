import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { Place } from './places.ts'
import { newClaim, SAMPLE_TIME } from './samples.ts'

/** Tests the doubt about a store of an engine, with two stores on one database. */
export function doubtContract(newPlace: () => Promise<Place>): void {
  let place: Place
  let store: Store
  let other: Store

  beforeEach(async () => {
    place = await newPlace()
    store = await place.open()
    other = await place.open()
    await place.setClock(SAMPLE_TIME)
  })
  afterEach(() => place.close())

  describe('the doubt', () => {
    test('is none until it is declared, and the store is where it was made', async () => {
      expect(await store.doubt()).toBeUndefined()
      expect(await store.origin()).toEqual({ kind: 'own' })
      expect(await store.trust()).toBe(false)
    })

    test('is known to all stores, until one is trusted', async () => {
      const doubt = { since: 500, declaredAt: SAMPLE_TIME, until: 0 }
      expect(await store.declareDoubt({ since: 500, until: 0 })).toEqual(doubt)
      expect(await other.doubt()).toEqual(doubt)
      expect(await other.trust()).toBe(true)
      expect(await store.doubt()).toBeUndefined()
      expect(await store.trust()).toBe(false)
    })

    test('ends by the clock of the store', async () => {
      await store.declareDoubt({ since: 500, until: SAMPLE_TIME + 100 })
      await place.setClock(SAMPLE_TIME + 99)
      expect(await other.doubt()).toMatchObject({ since: 500 })
      await place.setClock(SAMPLE_TIME + 100)
      expect(await other.doubt()).toBeUndefined()
    })

    test('that is declared again keeps the earlier beginning, unless it has ended', async () => {
      await store.declareDoubt({ since: 500, until: SAMPLE_TIME + 100 })
      await place.setClock(SAMPLE_TIME + 50)
      const again = { since: 500, declaredAt: SAMPLE_TIME + 50, until: SAMPLE_TIME + 100 }
      expect(await store.declareDoubt({ since: 900, until: SAMPLE_TIME + 100 })).toEqual(again)
      expect(await store.declareDoubt({ since: 400, until: SAMPLE_TIME + 100 })).toMatchObject({ since: 400 })
      await place.setClock(SAMPLE_TIME + 100)
      expect(await store.declareDoubt({ since: 900, until: 0 })).toMatchObject({ since: 900, until: 0 })
    })
  })

  describe('a claim in doubt', () => {
    const inDoubt = newClaim({ doubtSince: 500 })
    const WHY = 'may have been booked before the store was restored'

    test('is unknown from the start, and as old as the doubt', async () => {
      const { won, claim } = await store.claim(inDoubt)
      const { doubtSince: _, ...given } = inDoubt
      expect(won).toBe(true)
      expect(claim).toMatchObject({ ...given, state: 'unknown', version: 1, shipment: '', createdAt: 500 })
      expect(claim.changedAt).toBe(SAMPLE_TIME)
      expect(await other.findClaim('acme', 'REF-1')).toEqual(claim)
      const [entry, ...more] = await other.audit(claim.handle)
      expect(entry).toEqual({ at: SAMPLE_TIME, from: 'none', to: 'unknown', instance: 'gateway-1', why: WHY })
      expect(more).toEqual([])
    })

    test('takes a free key, and no other one', async () => {
      const { claim } = await store.claim(newClaim())
      expect(await other.claim(inDoubt)).toEqual({ won: false, claim })
      const freed = await store.change(claim, { state: 'freed', instance: 'gateway-1', why: 'test' })
      const taken = await other.claim({ ...inDoubt, handle: 'bk_again' })
      expect(taken).toMatchObject({ won: true, claim: { state: 'unknown', createdAt: 500 } })
      expect(taken.claim.version).toBe((freed?.version ?? 0) + 1)
      expect((await store.audit('bk_again'))[0]).toMatchObject({ from: 'freed', to: 'unknown', why: WHY })
    })

    test('is taken once by any number of gateways', async () => {
      const tries = Array.from({ length: 12 }, (_, index) =>
        (index % 2 === 0 ? store : other).claim({ ...inDoubt, handle: `bk_${index}` }),
      )
      expect((await Promise.all(tries)).filter(({ won }) => won)).toHaveLength(1)
    })

    test('can be changed like any other', async () => {
      const { claim } = await store.claim(inDoubt)
      const booked = await other.change(claim, { state: 'booked', instance: 'desk', shipment: 'id-1', why: 'settled' })
      expect(booked).toMatchObject({ state: 'booked', shipment: 'id-1', createdAt: 500 })
      expect(await store.claim(newClaim())).toMatchObject({ won: false, claim: { state: 'booked' } })
    })
  })
}
