import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { PRUNED_TABLES } from '../../src/outside/store/pruning.ts'
import { DAY_MS } from '../../src/outside/store/scoreboard.ts'
import type { ClaimState, Store } from '../../src/outside/store/store.ts'
import { pruneTable } from '../../src/state/uses/pruning.ts'
import { runs } from '../size.ts'
import type { Place } from './places.ts'
import { newClaim, newEvent, newName, quote, scanned, shipment } from './samples.ts'

const KEEP_DAYS = 3
const KEEP = KEEP_DAYS * DAY_MS
/** A row goes once it was kept for whole days, and one more for a use that was noted late. */
const GONE_AFTER_DAYS = KEEP_DAYS + 2
const pause = async () => {}
const UUID = '0000000a-0000-4000-8000-000000000001'

/** Prunes all tables, and returns how many rows went. */
async function pruneAll(store: Store, olderThanMs = KEEP, dryRun = false): Promise<Record<string, number>> {
  const gone: Record<string, number> = {}
  for (const table of PRUNED_TABLES) {
    const pruned = await pruneTable(store, table, { olderThanMs, dryRun, pause })
    if (pruned > 0) gone[table] = pruned
  }
  return gone
}

/** Lets the clock of a place stand still at its beginning; the returned function lets days pass, and the calendar turn. */
async function startClock(place: Place, store: Store) {
  let at = 0
  await place.setClock(at)
  await store.turnDay(0)
  return async (days: number) => {
    await store.turnDay(0)
    for (let nth = 0; nth < days; nth += 1) {
      at += DAY_MS
      await place.setClock(at)
      await store.turnDay(DAY_MS)
    }
  }
}

/** Tests the pruning of an engine, with two stores on one database. */
export function pruneContract(newPlace: () => Promise<Place>): void {
  let place: Place
  let store: Store
  let other: Store
  let pass: Awaited<ReturnType<typeof startClock>>

  beforeEach(async () => {
    place = await newPlace()
    store = await place.open()
    other = await place.open()
    pass = await startClock(place, store)
  })
  afterEach(() => place.close())

  const put = (...names: readonly string[]) =>
    Promise.all(
      names.map((name) => {
        const id = `id of ${name}`
        return store.put({ names: [newName({ name, id })], quote: quote({ id, own: name }) })
      }),
    )
  const namesLeft = async () => (await scanned(store)).map(({ name }) => name)

  async function claimed(key: string, state: ClaimState, shipment = '', expiresInMs?: number): Promise<void> {
    const { claim } = await store.claim(newClaim({ key, expiresInMs }))
    if (state !== 'sending') await store.change(claim, { state, instance: 'gateway-1', shipment, why: 'test' })
  }

  describe('the calendar', () => {
    test('turns once a day has gone by on both clocks', async () => {
      const day = await store.turnDay(0)
      await place.setClock(DAY_MS - 1)
      expect(await store.turnDay(DAY_MS)).toBe(day)
      await place.setClock(DAY_MS)
      expect(await other.turnDay(1)).toBe(day + 1)
    })

    test('does not follow a clock that jumps for hours, and goes on when it is back', async () => {
      const day = await store.turnDay(0)
      const HOUR_MS = DAY_MS / 24
      const lookAt = async (ms: number) => {
        await place.setClock(ms)
        return store.turnDay(HOUR_MS)
      }
      for (let hour = 1; hour <= 20; hour += 1) {
        expect(await lookAt(500 * DAY_MS + hour * HOUR_MS)).toBe(day)
      }
      expect(await lookAt(21 * HOUR_MS)).toBe(day)
      for (let hour = 22; hour <= 25; hour += 1) await lookAt(hour * HOUR_MS)
      expect(await store.turnDay(0)).toBe(day + 1)
    })

    test('turns by one day at most for a process that has seen no time, however far the clock is', async () => {
      const day = await store.turnDay(0)
      await place.setClock(500 * DAY_MS)
      // Twice, as after a restart.
      for (const one of [store, other]) expect(await one.turnDay(500 * DAY_MS)).toBe(day + 1)
      await place.setClock(0)
      expect(await store.turnDay(500 * DAY_MS)).toBe(day + 1)
    })
  })

  test('nothing goes on a clock that has jumped, and what is written meanwhile stays as long as the rest', async () => {
    await put('before')
    await claimed('before', 'booked', 's-1')
    await store.takeEvent(newEvent({ event: 'before', deliver: false }))
    await place.setClock(500 * DAY_MS)
    await store.turnDay(3_000)
    await put('meanwhile')
    for (const table of [...PRUNED_TABLES, 'facts', 'events', 'counts'] as const) {
      if (table !== 'instances') expect((await store.prune({ table, olderThanMs: KEEP })).pruned, table).toBe(0)
    }
    await place.setClock(0)
    await pass(GONE_AFTER_DAYS - 1)
    expect(await pruneAll(store)).toEqual({})
    await pass(1)
    expect(await pruneAll(store)).toEqual({ claims: 1, names: 2, quotes: 2 })
  })

  test('the vehicle of a reference is booked once, also where the first claim of it is gone', async () => {
    const given = (vin: string) =>
      newClaim({ key: 'K', reference: 'REF-1', vin, handle: `bk_${vin}`, isOfReference: true })
    const { claim } = await store.claim(given('V1'))
    await store.change(claim, { state: 'refused', instance: 'g', why: 'test' })
    const second = await store.claim(given('V2'))
    await pass(GONE_AFTER_DAYS)
    expect(await pruneAll(store)).toEqual({ claims: 1 })
    expect(await other.claim({ ...given(''), handle: 'bk_again' })).toEqual({ won: false, claim: second.claim })
    expect(await other.claim(given('V3'))).toMatchObject({ won: true, claim: { key: 'K' } })
  })

  test('a key can be claimed while its claim is pruned', async () => {
    for (let round = 0; round < 20; round += 1) {
      await claimed('REF-1', 'refused')
      await pass(GONE_AFTER_DAYS)
      const again = () => other.claim(newClaim({ handle: `bk_${round}` }))
      const [{ won, claim }] = await Promise.all([again(), store.prune({ table: 'claims', olderThanMs: KEEP })])
      expect(won).toBe(true)
      await store.change(claim, { state: 'freed', instance: 'gateway-1', why: 'test' })
      await pass(GONE_AFTER_DAYS)
      await pruneAll(store)
    }
  })

  test('deletes names and things that were neither written nor used, the use by their own tenant, and no young lease', async () => {
    const given = newName({ name: 'two', kind: 'shipment', id: 'OLD' })
    await put('old', 'used', 'written')
    await store.put({ names: [given, { ...given, name: 'used', tenant: 'zenith' }], shipment: shipment({ id: UUID }) })
    await pass(GONE_AFTER_DAYS)
    await put('written', 'new')
    await store.put({ names: [{ ...given, id: 'NEW' }], shipment: shipment({ id: 'NEW' }) })
    await store.renewLease('gateway-1', 1_000)
    const uses = ['used', 'used', 'id of used', UUID.toUpperCase()]
    await Promise.all([store.noteUses('acme', uses), other.noteUses('acme', uses)])
    expect(await pruneAll(store)).toEqual({ names: 3, quotes: 1 })
    const left = (await scanned(store)).map(({ name, kind, id }) => (kind === 'shipment' ? name + id : name))
    expect(left).toEqual(['new', 'twoNEW', 'used', 'written'])
    expect(await other.quote('acme', 'id of old')).toBeUndefined()
    expect(await other.quote('acme', 'id of used')).toBeDefined()
    // The use itself grows old.
    await pass(GONE_AFTER_DAYS)
    expect(await pruneAll(store)).toMatchObject({ names: 4, quotes: 3, shipments: 2 })
  })

  test('keeps the numbers of claims that stay, and looks at them again a month later', async () => {
    const UPPER = UUID.toUpperCase()
    const made = (name: string, id: string) =>
      store.put({ names: [newName({ kind: 'shipment', name, id })], shipment: shipment({ id }), quote: quote({ id }) })
    await made('REF-KEPT', UPPER)
    await made('REF-GONE', 's-gone')
    await put('REF-DOUBT')
    await claimed('gone', 'booked', 's-gone')
    await claimed('kept', 'booked', UUID)
    await claimed('REF-DOUBT', 'unknown')
    await pass(GONE_AFTER_DAYS)
    const kept = (await store.findClaim('acme', 'kept')) ?? expect.fail('no claim')
    await store.change(kept, { state: 'booked', instance: 'gateway-1', why: 'settled again' })
    expect(await pruneAll(store, KEEP)).toEqual({ claims: 1, names: 1, quotes: 2, shipments: 1 })
    expect(await namesLeft()).toEqual(['REF-DOUBT', 'REF-KEPT'])
    expect([(await store.quote('acme', UUID))?.id, (await store.shipment('acme', UUID))?.id]).toEqual([UPPER, UPPER])
    await pass(30 + GONE_AFTER_DAYS)
    expect(await pruneAll(store, KEEP)).toEqual({ claims: 1, names: 1, quotes: 1, shipments: 1 })
    expect(await namesLeft()).toEqual(['REF-DOUBT'])
  })

  test('keeps an approval as long as its quote, and while an old booking is in doubt', async () => {
    const approve = (id: string, tenant = 'acme') =>
      store.put({ names: [], quote: { tenant, id, approval: 'approved', idsInApproval: ['x'] } })
    for (const id of ['used', 'booked', 'gone']) await approve(id)
    await approve('doubt', 'zenith')
    await store.put({ names: [], quote: quote({ tenant: 'zenith', id: 'not approved' }) })
    await store.claim(newClaim({ tenant: 'zenith', key: 'doubtful' }))
    await pass(GONE_AFTER_DAYS)
    await store.noteUses('acme', ['used'])
    await claimed('booked', 'booked', 'booked')
    expect(await pruneAll(store)).toEqual({ quotes: 2 })
    expect(await store.quote('acme', 'gone')).toBeUndefined()
    expect(await store.quote('zenith', 'not approved')).toBeUndefined()
    const kept = { approval: 'approved', idsInApproval: ['x'] }
    for (const id of ['used', 'booked']) expect(await store.quote('acme', id)).toMatchObject(kept)
    expect(await store.quote('zenith', 'doubt')).toMatchObject(kept)
  })

  test('quotes lose old facts, and nothing else', async () => {
    await put('old')
    await pass(KEEP_DAYS)
    await put('new')
    const forget = () => pruneTable(store, 'facts', { olderThanMs: KEEP, pause })
    expect(await forget()).toBe(0)
    await pass(1)
    expect(await forget()).toBe(1)
    expect(await other.quote('acme', 'id of old')).toMatchObject({ own: 'old', facts: null })
    expect((await other.quote('acme', 'id of new'))?.facts).toEqual(quote().facts)
    expect(await namesLeft()).toEqual(['new', 'old'])
  })

  test('events go once they are finished for long', async () => {
    for (const event of ['delivered', 'parked'] as const) {
      await store.takeEvent(newEvent({ event, deliver: true }))
      const [leased] = await store.leaseEvents('acme', 1, 1_000)
      await store.finishTry(leased ?? expect.fail('no event'), { state: event, outcome: 'x' })
    }
    await store.takeEvent(newEvent({ event: 'recorded', deliver: false }))
    await store.takeEvent(newEvent({ event: 'due', deliver: true }))
    const go = () => pruneTable(store, 'events', { olderThanMs: KEEP, pause })
    await pass(GONE_AFTER_DAYS - 1)
    expect(await go()).toBe(0)
    await pass(1)
    expect(await go()).toBe(2)
    expect((await store.listEvents({})).map(({ event }) => event)).toEqual(['parked', 'due'])
    expect((await store.takeEvent(newEvent({ event: 'recorded', deliver: false }))).taken).toBe(true)
  })

  test('looks at all rows, however many; a dry run counts them and deletes nothing', async () => {
    const names = Array.from({ length: 2_500 }, (_, index) => `N-${index}`)
    await put(...names)
    await pass(GONE_AFTER_DAYS)
    const used = names.filter((_, index) => index % 500 === 0)
    await store.noteUses('acme', used)
    const old = { names: 2_495, quotes: 2_500 }
    expect(await pruneAll(store, KEEP, true)).toEqual(old)
    expect(await pruneAll(store)).toEqual(old)
    expect(await namesLeft()).toEqual(used.sort())
  })

  test('whatever is in the store, young and open rows stay, their numbers too, and a dry run counts what goes', {
    timeout: 120_000,
  }, async () => {
    const age = fc.nat(2 * GONE_AFTER_DAYS)
    const state = fc.constantFrom<ClaimState>('sending', 'booked', 'refused', 'unknown', 'freed')
    const shipment = fc.constantFrom('', 's-1', 's-2', 's-3')
    const bookings = fc.array(fc.record({ changed: age, state, shipment }), { maxLength: 6 })
    const numbers = fc.array(
      fc.record({ written: age, used: fc.option(age), id: fc.constantFrom('s-1', 's-2', 's-3', 'q-1') }),
      { maxLength: 6 },
    )

    await fc.assert(
      fc.asyncProperty(bookings, numbers, async (claims, links) => {
        const here = await newPlace()
        const [one, two] = [await here.open(), await here.open()]
        const passThere = await startClock(here, one)
        for (let left = 2 * GONE_AFTER_DAYS; ; left -= 1) {
          for (const [index, { written, used, id }] of links.entries()) {
            if (written === left) await one.put({ names: [newName({ name: `n-${index}`, id })] })
            if (used === left) await one.noteUses('acme', [`n-${index}`])
          }
          for (const [index, booking] of claims.entries()) {
            if (booking.changed !== left) continue
            const { claim } = await one.claim(newClaim({ key: `c-${index}` }))
            const { state, shipment } = booking
            if (state !== 'sending') await one.change(claim, { state, instance: 'g', shipment, why: 'law' })
          }
          if (left === 0) break
          await passThere(1)
        }
        const dry = await pruneAll(two, KEEP, true)
        const isYoung = (ageDays: number) => ageDays < GONE_AFTER_DAYS
        const isKept = (booking: (typeof claims)[number]) =>
          ['sending', 'unknown'].includes(booking.state) || isYoung(booking.changed)
        const gone = await pruneAll(one)
        expect(gone['claims']).toBe(dry['claims'])

        const keys = claims.flatMap((booking, index) => (isKept(booking) ? [`c-${index}`] : []))
        expect((await two.listClaims({})).map(({ key }) => key).sort()).toEqual(keys.sort())
        const shipments = new Set<string>(
          claims.filter(isKept).flatMap((one) => (one.state === 'sending' ? [] : one.shipment)),
        )
        const names = links.flatMap(({ written, used, id }, index) => {
          const isUsed = used !== null && used <= written && isYoung(used)
          return isYoung(written) || isUsed || shipments.has(id) ? [`n-${index}`] : []
        })
        expect((await scanned(two)).map(({ name }) => name).sort()).toEqual(names.sort())
        await here.close()
      }),
      { numRuns: runs(6, 15) },
    )
  })
}
