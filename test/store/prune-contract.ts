import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pruneRound } from '../../src/pruning/round.ts'
import { PRUNE_CLAIMS, PRUNE_ROWS } from '../../src/store/pruning.ts'
import type { ClaimState, Store } from '../../src/store/store.ts'
import { runs } from '../size.ts'
import type { Place } from './places.ts'
import { link, newClaim, scanned, thing } from './samples.ts'

const START = 1_000_000
const KEEP = 1_000
/** A time at which all that was written at `START` is old. */
const LATER = START + KEEP + 1

/** Runs a round over all tables, and returns how many rows went. */
export async function pruneAll(store: Store, olderThanMs = KEEP, dryRun = false): Promise<Record<string, number>> {
  const rounds = (await pruneRound(store, { olderThanMs, dryRun })) ?? []
  return Object.fromEntries(rounds.flatMap(({ table, pruned }) => (pruned > 0 ? [[table, pruned]] : [])))
}

/** Tests the pruning of an engine, with two stores on one database. */
export function pruneContract(engine: Store['engine'], newPlace: () => Promise<Place>): void {
  let place: Place
  let store: Store
  let other: Store

  beforeEach(async () => {
    place = await newPlace()
    store = await place.open()
    other = await place.open()
    await place.setClock(START)
  })
  afterEach(() => place.close())

  const put = (...names: readonly string[]) =>
    Promise.all(
      names.map((name) => {
        const { at: _, ...given } = link({ name, id: `id of ${name}` })
        return store.put({ links: [given], thing: thing({ id: `id of ${name}`, own: name }) })
      }),
    )
  const namesLeft = async () => (await scanned(store)).map(({ name }) => name)

  async function claimed(key: string, state: ClaimState, shipment = ''): Promise<void> {
    const { claim } = await store.claim(newClaim({ key }))
    if (state !== 'sending') await store.change(claim, { state, instance: 'gateway-1', shipment, why: 'test' })
  }

  test('deletes finished claims with their audit, and no other', async () => {
    await claimed('booked', 'booked', 's-1')
    await claimed('refused', 'refused')
    await claimed('freed', 'freed')
    await claimed('unknown', 'unknown')
    await claimed('sending', 'sending')
    await claimed('changed', 'booked', 's-2')
    await place.setClock(LATER)
    const changed = (await store.findClaim('acme', 'changed')) ?? expect.fail('no claim')
    await store.change(changed, { state: 'freed', instance: 'gateway-1', why: 'canceled' })
    await claimed('young', 'booked', 's-3')
    expect(await pruneAll(store)).toEqual({ claims: 3 })
    const left = (await other.listClaims({})).map(({ key }) => key).sort()
    expect(left).toEqual(['changed', 'sending', 'unknown', 'young'])
    expect(await other.audit('bk_acme_booked')).toEqual([])
    expect(await other.audit('bk_acme_unknown')).toHaveLength(2)
    expect(await other.audit('bk_acme_changed')).toHaveLength(3)
    expect(await pruneAll(store)).toEqual({})
  })

  test('leaves a claim whose window is longer', async () => {
    const { claim } = await store.claim(newClaim({ expiresInMs: 10 * KEEP }))
    await store.change(claim, { state: 'booked', instance: 'gateway-1', shipment: 's-1', why: 'answered' })
    await place.setClock(LATER)
    expect(await pruneAll(store)).toEqual({})
    await place.setClock(START + 10 * KEEP)
    expect(await pruneAll(store)).toEqual({ claims: 1 })
  })

  test('deletes the audit of a claim that was taken again under another handle', async () => {
    await claimed('again', 'refused')
    await place.setClock(LATER)
    await store.claim(newClaim({ key: 'again', handle: 'bk_second' }))
    expect(await pruneAll(store)).toEqual({ audit: 2 })
    expect(await store.audit('bk_acme_again')).toEqual([])
    expect(await store.audit('bk_second')).toHaveLength(1)
  })

  test('a pruned key can be claimed at once', async () => {
    await claimed('REF-1', 'booked', 's-1')
    await place.setClock(LATER)
    await pruneAll(other)
    const { won, claim } = await store.claim(newClaim())
    expect({ won, version: claim.version }).toEqual({ won: true, version: 1 })
  })

  test('a key can be claimed while its claim is pruned', async () => {
    for (let round = 0; round < 50; round += 1) {
      await place.setClock(START + 2 * round * KEEP)
      await claimed('REF-1', 'refused')
      await place.setClock(START + (2 * round + 1) * KEEP + 1)
      const again = () => other.claim(newClaim({ handle: `bk_${round}` }))
      const [{ won, claim }] = await Promise.all([again(), store.prune({ table: 'claims', olderThanMs: KEEP })])
      expect(won).toBe(true)
      await store.change(claim, { state: 'freed', instance: 'gateway-1', why: 'test' })
    }
  })

  test('deletes links and things that were neither written nor used', async () => {
    await put('old', 'used', 'written')
    await place.setClock(LATER)
    await put('written', 'new')
    // Read before, because a cache could keep what is gone.
    for (const each of [store, other]) {
      expect(await each.links('acme', 'old')).toHaveLength(1)
      expect(await each.thing('acme', 'id of old')).toBeDefined()
    }
    await store.noteUses('acme', ['used', 'id of used'])
    expect(await pruneAll(store)).toEqual({ links: 1, things: 1 })
    expect(await namesLeft()).toEqual(['new', 'used', 'written'])
    expect(await store.links('acme', 'old')).toEqual([])
    expect(await store.thing('acme', 'id of old')).toBeUndefined()
    await expect.poll(async () => other.thing('acme', 'id of old')).toBeUndefined()
    expect(await other.links('acme', 'old')).toEqual([])
    expect(await other.thing('acme', 'id of used')).toBeDefined()
    // The use itself grows old.
    await place.setClock(LATER + KEEP + 1)
    expect(await pruneAll(store)).toEqual({ links: 3, things: 3, uses: 2 })
  })

  test('a use keeps the names of its tenant alone, and may be noted twice', async () => {
    const { at: _, ...given } = link({ name: 'n' })
    await store.put({ links: [given, { ...given, tenant: 'zenith' }] })
    await place.setClock(LATER)
    await Promise.all([store.noteUses('zenith', ['n', 'n']), other.noteUses('zenith', ['n'])])
    await store.noteUses('zenith', ['half \ud800'])
    expect(await pruneAll(store)).toEqual({ links: 1 })
    expect((await scanned(store)).map(({ tenant }) => tenant)).toEqual(['zenith'])
  })

  test('deletes the old one of two links with a name, and no lease that is young', async () => {
    const { at: _, ...given } = link({ name: 'n', vin: 'OLD' })
    await store.put({ links: [given] })
    await place.setClock(LATER)
    await store.put({ links: [{ ...given, vin: 'NEW' }] })
    expect(await pruneAll(store)).toEqual({ links: 1 })
    expect((await scanned(store)).map(({ vin }) => vin)).toEqual(['NEW'])
    await store.renewLease('gateway-1', 1_000)
    expect(await store.prune({ table: 'instances', olderThanMs: 0 })).toMatchObject({ looked: 1, pruned: 0 })
  })

  test('keeps the numbers of claims that stay', async () => {
    const { at: _, ...given } = link({ kind: 'shipment', vin: 'V1' })
    const shipment = (name: string, id: string) =>
      store.put({ links: [{ ...given, name, id }], thing: thing({ id, own: name }) })
    await shipment('REF-KEPT', 's-kept')
    await shipment('REF-GONE', 's-gone')
    await put('REF-DOUBT')
    await store.put({ links: [], thing: thing({ id: 'names of bk_acme_kept', own: '[]' }) })
    await store.put({ links: [], thing: thing({ id: 'names of bk_acme_gone', own: '[]' }) })
    await claimed('gone', 'booked', 's-gone')
    await claimed('kept', 'booked', 's-kept')
    await claimed('REF-DOUBT', 'unknown')
    await place.setClock(LATER)
    const kept = (await store.findClaim('acme', 'kept')) ?? expect.fail('no claim')
    await store.change(kept, { state: 'booked', instance: 'gateway-1', why: 'settled again' })
    const dry = await pruneAll(store, KEEP, true)
    expect(await pruneAll(store)).toEqual({ claims: 1, links: 1, things: 3 })
    expect(dry).toEqual({ claims: 1, links: 1, things: 3 })
    expect(await namesLeft()).toEqual(['REF-DOUBT', 'REF-KEPT'])
    expect(await store.thing('acme', 's-kept')).toBeDefined()
    expect(await store.thing('acme', 'names of bk_acme_kept')).toBeDefined()
    expect(await store.thing('acme', 'names of bk_acme_gone')).toBeUndefined()
  })

  test.each(['approval of ', 'ids in approval of '])(
    'keeps an %s as long as its quote, and while an old booking is in doubt',
    async (prefix) => {
      const approval = (quote: string, tenant = 'acme') =>
        store.put({ links: [], thing: thing({ tenant, id: prefix + quote, own: 'approved', facts: null }) })
      await approval('fresh')
      await approval('used')
      await approval('booked')
      await approval('gone')
      await approval('doubt', 'zenith')
      await store.claim(newClaim({ tenant: 'zenith', key: 'doubtful' }))
      await place.setClock(LATER)
      await store.put({ links: [], thing: thing({ id: 'fresh' }) })
      await store.noteUses('acme', ['used'])
      await claimed('booked', 'booked', 'booked')
      expect(await pruneAll(store)).toEqual({ things: 1 })
      expect(await store.thing('acme', `${prefix}gone`)).toBeUndefined()
      for (const quote of ['fresh', 'used', 'booked']) expect(await store.thing('acme', prefix + quote)).toBeDefined()
      expect(await store.thing('zenith', `${prefix}doubt`)).toBeDefined()
    },
  )

  test('a dry run deletes nothing', async () => {
    await put('a', 'b')
    await claimed('c', 'booked')
    await place.setClock(LATER)
    expect(await pruneAll(store, KEEP, true)).toEqual({ claims: 1, links: 2, things: 2 })
    expect(await namesLeft()).toEqual(['a', 'b'])
    expect(await store.rounds()).toEqual([])
    expect(await pruneAll(store)).toEqual({ claims: 1, links: 2, things: 2 })
  })

  test('remembers its rounds, which tell the size and the oldest row', async () => {
    expect(await store.rounds()).toEqual([])
    await put('old')
    await place.setClock(START + 500)
    await put('kept')
    await claimed('c', 'booked')
    await place.setClock(LATER)
    await pruneAll(store)
    const links = (await other.rounds()).find(({ table }) => table === 'links')
    expect(links).toEqual({ table: 'links', endedAt: LATER, rows: 1, oldest: START + 500 })
    const size = await other.size()
    expect(size.bytes).toBeGreaterThanOrEqual(0)
    expect(size.freeBytes).toBeGreaterThanOrEqual(0)
    const tables = new Map(size.tables.map((one) => [one.table, one]))
    expect(tables.get('claims')?.oldest).toBe(START + 500)
    // PostgreSQL estimates the number of rows, and the memory store counts them.
    if (engine === 'sqlite') expect(tables.get('links')).toEqual({ table: 'links', rows: 1, oldest: START + 500 })
    if (engine !== 'postgres') expect([tables.get('claims')?.rows, tables.get('links')?.rows]).toEqual([1, 1])
  })

  test('a step looks at few rows, and the next one goes on after it', async () => {
    // Its step is a whole table.
    if (engine === 'memory')
      return expect((await store.prune({ table: 'links', olderThanMs: KEEP })).next).toBeUndefined()
    const many = Array.from({ length: PRUNE_ROWS + 50 }, (_, index) => `N-${String(index).padStart(4, '0')}`)
    await put(...many)
    await Promise.all(Array.from({ length: PRUNE_CLAIMS + 7 }, (_, index) => claimed(`C-${index}`, 'booked')))
    await place.setClock(LATER)
    for (const [table, limit, rest] of [
      ['claims', PRUNE_CLAIMS, 7],
      ['links', PRUNE_ROWS, 50],
      ['things', PRUNE_ROWS, 50],
    ] as const) {
      const first = await store.prune({ table, olderThanMs: KEEP })
      expect(first).toMatchObject({ looked: limit, pruned: limit })
      const last = await other.prune({ table, olderThanMs: KEEP, after: first.next })
      expect(last).toMatchObject({ looked: rest, pruned: rest, next: undefined })
    }
    expect(await namesLeft()).toEqual([])
    return expect(await store.listClaims({})).toEqual([])
  })

  describe('whatever is in the store', () => {
    const age = fc.constantFrom(0, KEEP, KEEP + 1, 3 * KEEP)
    const state = fc.constantFrom<ClaimState>('sending', 'booked', 'refused', 'unknown', 'freed')
    const shipment = fc.constantFrom('', 's-1', 's-2', 's-3')
    const bookings = fc.array(fc.record({ made: age, changed: age, state, shipment }), { maxLength: 6 })
    const numbers = fc.array(
      fc.record({ written: age, used: fc.option(age), id: fc.constantFrom('s-1', 's-2', 's-3', 'q-1') }),
      { maxLength: 6 },
    )

    test('young and open rows stay, their numbers too, and a dry run counts what goes', {
      timeout: 120_000,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(bookings, numbers, async (claims, links) => {
          const here = await newPlace()
          const [one, two] = [await here.open(), await here.open()]
          const end = START + 4 * KEEP
          const at = async (ageMs: number) => here.setClock(end - ageMs)
          for (const [index, { written, used, id }] of links.entries()) {
            const { at: _, ...given } = link({ name: `n-${index}`, id })
            await at(written)
            await one.put({ links: [given] })
            if (used !== null) await at(used)
            if (used !== null) await one.noteUses('acme', [`n-${index}`])
          }
          for (const [index, booking] of claims.entries()) {
            await at(Math.max(booking.made, booking.changed))
            const { claim } = await one.claim(newClaim({ key: `c-${index}` }))
            if (booking.state === 'sending') continue
            await at(booking.changed)
            const { state: became, shipment: made } = booking
            await one.change(claim, { state: became, instance: 'g', shipment: made, why: 'law' })
          }
          await here.setClock(end)
          const dry = await pruneAll(two, KEEP, true)
          expect(await pruneAll(one)).toEqual(dry)

          const isKept = (booking: (typeof claims)[number]) =>
            ['sending', 'unknown'].includes(booking.state) || booking.changed <= KEEP
          const keys = claims.flatMap((booking, index) => (isKept(booking) ? [`c-${index}`] : []))
          expect((await two.listClaims({})).map(({ key }) => key).sort()).toEqual(keys.sort())
          const shipments = new Set<string>(
            claims.filter(isKept).flatMap((one) => (one.state === 'sending' ? [] : one.shipment)),
          )
          const names = links.flatMap(({ written, used, id }, index) =>
            written <= KEEP || (used ?? written) <= KEEP || shipments.has(id) ? [`n-${index}`] : [],
          )
          expect((await scanned(two)).map(({ name }) => name).sort()).toEqual(names.sort())
          await here.close()
        }),
        { numRuns: runs(10, 25) },
      )
    })
  })
}
