import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { LockTimeout, type Store } from '../../src/store/store.ts'
import type { Place } from './places.ts'

/** Longer than any test runs. */
const PATIENT_MS = 60_000
const IMPATIENT_MS = 150

/** Tests the locks of an engine, in one process and over several stores. */
export function lockContract(newPlace: () => Promise<Place>): void {
  describe('locks', () => {
    let place: Place
    let store: Store
    let other: Store

    beforeEach(async () => {
      place = await newPlace()
      store = await place.open()
      other = await place.open()
    })
    afterEach(() => place.close())

    /** Holds a lock until released. */
    async function hold(holder: Store, key: string) {
      const held = Promise.withResolvers<() => boolean>()
      const letGo = Promise.withResolvers<void>()
      const done = holder.exclusive(key, PATIENT_MS, async (isHeld) => {
        held.resolve(isHeld)
        await letGo.promise
      })
      return { isHeld: await held.promise, letGo: letGo.resolve, done }
    }

    test('let one work at a time, whichever store it comes to', async () => {
      let running = 0
      let most = 0
      const results = await Promise.all(
        Array.from({ length: 24 }, (_, index) =>
          (index % 2 === 0 ? store : other).exclusive('key', PATIENT_MS, async (isHeld) => {
            running += 1
            most = Math.max(most, running)
            await pause(2)
            expect(isHeld()).toBe(true)
            running -= 1
            return index
          }),
        ),
      )
      expect(results).toEqual(Array.from({ length: 24 }, (_, index) => index))
      expect(most).toBe(1)
    })

    test('of one store are granted in the order of the requests', async () => {
      const order: number[] = []
      await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          store.exclusive('key', PATIENT_MS, async () => void order.push(index)),
        ),
      )
      expect(order).toEqual(Array.from({ length: 10 }, (_, index) => index))
    })

    test('of different keys have nothing to do with each other', async () => {
      const first = await hold(store, 'one')
      expect(await other.exclusive('two', PATIENT_MS, async () => 'done')).toBe('done')
      expect(await store.exclusive('three', PATIENT_MS, async () => 'done')).toBe('done')
      first.letGo()
      await first.done
    })

    test('are waited for up to the given time, in this process and another, and are free afterwards', async () => {
      const first = await hold(store, 'key')
      let ran = false
      const work = async () => {
        ran = true
      }
      const late = await Promise.allSettled([store, other].map((one) => one.exclusive('key', IMPATIENT_MS, work)))
      for (const result of late) expect(result).toMatchObject({ status: 'rejected', reason: expect.any(LockTimeout) })
      const patient = other.exclusive('key', PATIENT_MS, async () => 'done')
      first.letGo()
      await first.done
      expect(await patient).toBe('done')
      expect(await store.exclusive('key', PATIENT_MS, async () => 'again')).toBe('again')
      expect(ran).toBe(false)
    })

    test('are free again after work that fails', async () => {
      const failed = store.exclusive('key', PATIENT_MS, async () => {
        throw new Error('no such thing')
      })
      await expect(failed).rejects.toThrow('no such thing')
      expect(await other.exclusive('key', PATIENT_MS, async () => 'done')).toBe('done')
    })

    test('accept any storable text as a key', async () => {
      for (const key of ['', "'; --", 'acme\nid-1', '🚚']) {
        expect(await store.exclusive(key, PATIENT_MS, async () => key)).toBe(key)
      }
    })
  })
}
