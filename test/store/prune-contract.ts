import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PRUNED_TABLES } from '../../src/outside/store/pruning.ts'
import { DAY_MS } from '../../src/outside/store/scoreboard.ts'
import type { ClaimState, Store } from '../../src/outside/store/store.ts'
import { pruneTable } from '../../src/state/uses/pruning.ts'
import { runs } from '../size.ts'
import type { Place } from './places.ts'
import { named, newClaim, newEvent, newName, quote, scanned, shipment } from './samples.ts'

const KEEP_DAYS = 3
const KEEP = { olderThanMs: KEEP_DAYS * DAY_MS, pause: async () => {} }
/** A row is deleted after whole days, plus one for a use that was noted late. */
const GONE_AFTER_DAYS = KEEP_DAYS + 2

/** Prunes the tables whose rows stay as long as they are used, and returns the number of deleted rows. */
async function pruneAll(store: Store): Promise<Record<string, number>> {
  const gone: Record<string, number> = {}
  for (const table of PRUNED_TABLES) {
    const isOfAge = table === 'facts' || table === 'events' || table === 'counts'
    const pruned = isOfAge ? 0 : await pruneTable(store, table, KEEP)
    if (pruned > 0) gone[table] = pruned
  }
  return gone
}

/** Stops a place's clock at its beginning; the returned function lets days pass, on the clock and in the calendar. */
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

  test('the calendar advances by at most one day, when a day has passed on both clocks, and follows no jump', async () => {
    const day = await store.turnDay(0)
    const look = async (clockMs: number, goneMs: number, by = store) => {
      await place.setClock(clockMs)
      return (await by.turnDay(goneMs)) - day
    }
    expect(await look(DAY_MS - 1, DAY_MS)).toBe(0)
    expect(await look(DAY_MS, 1, other)).toBe(1)
    const HOUR_MS = DAY_MS / 24
    // Twenty hours on a clock that is far ahead, and four after its correction.
    for (let hour = 25; hour <= 44; hour += 1) expect(await look(500 * DAY_MS + hour * HOUR_MS, HOUR_MS)).toBe(1)
    for (let hour = 45; hour <= 48; hour += 1) expect(await look(hour * HOUR_MS, HOUR_MS)).toBe(1)
    expect(await look(49 * HOUR_MS, HOUR_MS)).toBe(2)
    // Twice, as after a restart, when the process itself has seen no time pass.
    for (const one of [store, other]) expect(await look(500 * DAY_MS, 500 * DAY_MS, one)).toBe(3)
    expect(await look(0, 500 * DAY_MS)).toBe(3)
  })

  test('the vehicle of a reference is booked once, even if its first claim has been deleted', async () => {
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

  test('the approvals of a quote stay as long as it does', async () => {
    for (const id of ['old', 'used']) await store.noteApproval({ tenant: 'acme', id }, ['Q-1'])
    await pass(GONE_AFTER_DAYS)
    await store.noteUses('acme', ['used'])
    expect(await pruneAll(store)).toEqual({ quotes: 1, approvals: 2 })
    expect(await other.approvals('acme', ['Q-1', 'used'])).toMatchObject([{ quote: 'used' }, { quote: 'used' }])
  })

  test('the approval of an imported quote is found by its number for as long as the number is used', async () => {
    await store.load([{ ...named({ kind: 'quote', name: 'Q-1', id: 'imported' }), vin: '' }], { replace: false })
    await pass(GONE_AFTER_DAYS - 1)
    await store.noteUses('acme', ['Q-1', 'imported'])
    await pass(GONE_AFTER_DAYS - 1)
    await pruneAll(store)
    await store.noteApproval({ tenant: 'acme', id: 'imported' }, [])
    expect(await other.named('acme', 'Q-1')).toHaveLength(1)
    expect(await other.approvals('acme', ['Q-1'])).toMatchObject([{ quote: 'imported' }])
  })

  test('a key can be claimed while its claim is pruned', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { claim } = await store.claim(newClaim())
      await store.change(claim, { state: 'refused', instance: 'g', why: 'test' })
      await pass(GONE_AFTER_DAYS)
      const again = () => other.claim(newClaim({ handle: `bk_${round}` }))
      const [{ won, claim: next }] = await Promise.all([again(), store.prune({ table: 'claims', ...KEEP })])
      expect(won).toBe(true)
      await store.change(next, { state: 'freed', instance: 'g', why: 'test' })
      await pass(GONE_AFTER_DAYS)
      await pruneAll(store)
    }
  })

  test('quotes lose old facts, and nothing else; events go once they are finished for long', async () => {
    const forget = (table: 'facts' | 'events') => pruneTable(store, table, KEEP)
    const take = (event: string, deliver: boolean) => store.takeEvent(newEvent({ event, deliver }))
    await put('old')
    for (const state of ['delivered', 'parked'] as const) {
      await take(state, true)
      const [leased = expect.fail('no event')] = await store.leaseEvents('acme', 1, 1_000)
      await store.finishTry(leased, { state, outcome: 'x' })
    }
    await take('recorded', false)
    await take('due', true)
    await pass(KEEP_DAYS)
    await put('new')
    expect(await forget('facts')).toBe(0)
    await pass(1)
    expect([await forget('facts'), await forget('events')]).toEqual([1, 0])
    expect(await other.quote('acme', 'id of old')).toMatchObject({ own: 'old', facts: null })
    expect((await other.quote('acme', 'id of new'))?.facts).toEqual(quote().facts)
    expect(await namesLeft()).toEqual(['new', 'old'])
    await pass(GONE_AFTER_DAYS - KEEP_DAYS - 1)
    expect(await forget('events')).toBe(2)
    expect((await store.listEvents({})).map(({ event }) => event)).toEqual(['parked', 'due'])
    expect((await take('recorded', false)).taken).toBe(true)
  })

  test('examines all rows, however many, a few in each step, and a young lease stays', async () => {
    const names = Array.from({ length: 1_500 }, (_, index) => `N-${index}`)
    await put(...names)
    await pass(GONE_AFTER_DAYS)
    const used = names.filter((_, index) => index % 500 === 0)
    await store.noteUses('acme', used)
    await store.renewLease('gateway-1', 1_000)
    let most = 0
    const prune: Store['prune'] = async (step) => {
      const end = await store.prune(step)
      most = Math.max(most, end.pruned)
      return end
    }
    expect(await pruneAll({ ...store, prune })).toEqual({ names: 1_497, quotes: 1_500 })
    // Calls continue between two steps.
    expect(most).toBeLessThanOrEqual(500)
    expect(await namesLeft()).toEqual(used.sort())
  })

  test('whatever is in the store, young, used and open rows stay, with the numbers of claims and approvals in doubt, and no others', {
    timeout: 120_000,
  }, async () => {
    const MOST = 5
    const age = fc.nat(2 * GONE_AFTER_DAYS)
    /** A name, a quote and a shipment of an id. */
    const numbers = fc.array(
      fc.record({
        written: age,
        approval: fc.constantFrom('', 'sent'),
        use: fc.option(
          fc.record({ ago: age, of: fc.constantFrom('name', 'id'), by: fc.constantFrom('acme', 'zenith') }),
        ),
      }),
      { maxLength: MOST },
    )
    /** Bookings under such a name, or of such an id. */
    const bookings = fc.array(
      fc.record({
        changed: age,
        state: fc.constantFrom<ClaimState>('sending', 'booked', 'refused', 'unknown', 'freed'),
        reference: fc.nat(MOST),
        shipment: fc.nat(MOST),
      }),
      { maxLength: MOST },
    )
    const idOf = (nth: number) => `0000000A-0000-4000-8000-00000000000${nth}`
    const spelled = (nth: number) => idOf(nth).toLowerCase()

    await fc.assert(
      fc.asyncProperty(bookings, numbers, async (claims, things) => {
        const here = await newPlace()
        const [one, two] = [await here.open(), await here.open()]
        const passThere = await startClock(here, one)
        for (let left = 2 * GONE_AFTER_DAYS; left >= 0; left -= 1) {
          for (const [nth, { written, approval, use }] of things.entries()) {
            const kind = nth % 2 ? 'quote' : 'shipment'
            const id = idOf(nth)
            const row = { names: [newName({ name: `n-${nth}`, kind, id })], shipment: shipment({ id }) }
            if (written === left) await one.put({ ...row, quote: quote({ id, approval }) })
            if (use?.ago === left) await one.noteUses(use.by, [use.of === 'name' ? `n-${nth}` : spelled(nth)])
          }
          for (const [nth, { changed, state, reference, shipment }] of claims.entries()) {
            if (changed !== left) continue
            const { claim } = await one.claim(newClaim({ key: `c-${nth}`, reference: `n-${reference}` }))
            const change = { state, instance: 'g', shipment: spelled(shipment), why: 'law' }
            if (state !== 'sending') await one.change(claim, change)
          }
          if (left > 0) await passThere(1)
        }

        const gone = new Set<string>()
        async function check(later: number): Promise<void> {
          const isYoung = (ago: number) => ago + later < GONE_AFTER_DAYS
          const isOpen = ({ state }: (typeof claims)[number]) => state === 'sending' || state === 'unknown'
          const kept = claims.filter((claim) => isOpen(claim) || isYoung(claim.changed))
          const stay = (table: string, of: 'name' | 'id', isNeeded: (nth: number) => boolean) =>
            things.flatMap(({ written, use }, nth) => {
              const isUsed = use?.of === of && use.by === 'acme' && use.ago <= written && isYoung(use.ago)
              const isBooked = kept.some(({ state, shipment }) => state !== 'sending' && shipment === nth)
              const row = `${table} ${nth}`
              if (!isYoung(written) && !isUsed && !isBooked && !isNeeded(nth)) gone.add(row)
              return gone.has(row) ? [] : [nth]
            })
          const found = (rows: readonly unknown[]) => rows.flatMap((row, nth) => (row === undefined ? [] : [nth]))
          const idsOf = things.map((_, nth) => spelled(nth))

          await pruneAll(one)
          const keys = kept.map((claim) => `c-${claims.indexOf(claim)}`)
          expect((await two.listClaims({})).map(({ key }) => key).sort()).toEqual(keys.sort())
          const isReference = (nth: number) => claims.some((claim) => isOpen(claim) && claim.reference === nth)
          const names = stay('names', 'name', isReference).map((nth) => `n-${nth}`)
          expect((await scanned(two)).map(({ name }) => name)).toEqual(names)
          const inDoubt = claims.some((claim) => isOpen(claim) && !isYoung(claim.changed))
          const isApproved = (nth: number) => inDoubt && things[nth]?.approval === 'sent'
          const quotes = await Promise.all(idsOf.map((id) => two.quote('acme', id)))
          expect(found(quotes)).toEqual(stay('quotes', 'id', isApproved))
          const shipments = await Promise.all(idsOf.map((id) => two.shipment('acme', id)))
          expect(found(shipments)).toEqual(stay('shipments', 'id', () => false))
        }
        await check(0)
        await passThere(GONE_AFTER_DAYS)
        await check(GONE_AFTER_DAYS)
        await here.close()
      }),
      { numRuns: runs(8, 20) },
    )
  })
}
