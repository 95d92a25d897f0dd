import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { NewEvent } from '../../src/outside/store/events.ts'
import {
  type CallCount,
  type CountBatch,
  DAY_MS,
  type NameCount,
  OTHER_NAMES,
} from '../../src/outside/store/scoreboard.ts'
import {
  type Claim,
  type ClaimChange,
  type LoadedName,
  LockTimeout,
  type Name,
  type NewClaim,
  type Store,
  StoreDown,
} from '../../src/outside/store/store.ts'
import { runs } from '../size.ts'
import type { Place } from './places.ts'
import { named, newClaim, newEvent, quote, SAMPLE_TIME, scanned, shipment } from './samples.ts'

/** Longer than any test runs. */
const PATIENT_MS = 60_000
const IMPATIENT_MS = 150

const DAY = 20_000

const callsOf = (change: Partial<CallCount> = {}): CallCount => ({
  tenant: 'acme',
  day: DAY,
  use: 'version-1',
  action: 'quote.get',
  outcome: 'done',
  calls: 1,
  ...change,
})

const usedName = (change: Partial<NameCount> = {}): NameCount => ({
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

/** Tests the contract of an engine, with two stores on one database. */
export function storeContract(engine: Store['engine'], newPlace: () => Promise<Place>): void {
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

  test('reports its engine, is ready and has a clock, and rejects every call once it is closed', async () => {
    const fresh = await newPlace()
    const closing = await fresh.open()
    expect([closing.engine, closing.ready()]).toEqual([engine, true])
    expect(Math.abs(closing.now() - Date.now())).toBeLessThan(1_000)
    await closing.close()
    await closing.close()
    expect(closing.ready()).toBe(false)
    await expect(scanned(closing)).rejects.toThrow(StoreDown)
    // Each is asked with the same arguments: nobody reads them any more.
    const { engine: _, ready, now, close, scan, ...verbs } = closing
    for (const [name, verb] of Object.entries<(...args: never[]) => Promise<unknown>>(verbs)) {
      await expect(verb(...([named(), 1_000, async () => {}] as never[])), name).rejects.toThrow(StoreDown)
    }
    await fresh.close()
  })

  test.each(['\0', 'a\0b', '\ud800'])('a look for %j, which no name has, finds nothing', async (text) => {
    await store.put({ names: [named({ name: 'a' })], quote: quote({ id: 'a' }) })
    expect([await store.named('acme', text), await store.named(text, 'a')]).toEqual([[], []])
    expect([await store.quote('acme', text), await store.findClaim(text, 'a')]).toEqual([undefined, undefined])
    expect([await store.shipment('acme', text), await store.claimsOfReference(text, 'a')]).toEqual([undefined, []])
    expect([await store.claimByHandle(text), await store.findEvent(text)]).toEqual([undefined, undefined])
    expect([await store.listClaims({ tenant: text }), await store.listEvents({ tenant: text })]).toEqual([[], []])
  })

  /** Returns the bearers of a name, without what is stored of them. */
  const bearersOf = async (of: Store, tenant: string, text: string) =>
    (await of.named(tenant, text)).map(({ quote: _, shipment: __, ...name }) => name)
  const bearers = (text: string, of = store) => bearersOf(of, 'acme', text)
  const onShipment = (given: Partial<Name> = {}) => named({ kind: 'shipment', ...given })

  describe('names', () => {
    test('of the service never replace, hide or precede those of the caller', async () => {
      const callers = onShipment({ name: '1001', id: 'mine', at: 1 })
      const services = { ...callers, id: 'theirs', givenBy: 'service', at: 9 } as const
      for (const one of [services, callers, services]) await store.put({ names: [one] })
      expect(await bearers('1001', other)).toEqual([callers, services])
      const newer = { ...callers, id: 'newer', at: 5 }
      const ofQuote = { ...services, kind: 'quote', id: 'quoted', at: 7 } as const
      await other.put({ names: [newer, ofQuote] })
      expect(await bearers('1001')).toEqual([newer, callers, services, ofQuote])
      expect((await scanned(store)).map(({ id }) => id)).toEqual(['mine', 'newer', 'quoted', 'theirs'])
      const borne = ['mine', 'theirs', 'quoted', 'nobody'].map((id) => other.bears('acme', '1001', id))
      expect(await Promise.all(borne)).toEqual([true, true, false, false])
      const again = { ...ofQuote, id: 'again', vin: '' }
      expect((await store.load([again], { replace: true })).written).toBe(1)
      expect((await bearers('1001')).map(({ id }) => id)).toEqual(['newer', 'mine', 'theirs', 'again'])
    })

    test('keep any storable text', async () => {
      const names = ["Robert'); DROP TABLE names;--", '__proto__', ' ÄÖ 漢字 🚚 ', 'line\nbreak', '', '%', '\\']
      await store.put({ names: names.map((text) => onShipment({ name: text, id: text })) })
      for (const text of names) expect(await bearers(text)).toEqual([onShipment({ name: text, id: text })])
    })

    test('written by many at once are all there, the later of a name, and each reader is told its own', async () => {
      const names = Array.from({ length: 300 }, (_, index) => `N-${index % 100}`)
      await Promise.all(
        names.map(async (name, index) => {
          const [one, another] = index % 2 === 0 ? [store, other] : [other, store]
          const [own, id] = [`${index % 3}`, `${index}`]
          await one.put({ names: [named({ name, id })], quote: quote({ id, own }), shipment: shipment({ id, own }) })
          const [found, written, made] = await Promise.all([
            another.named('acme', name),
            another.quote('acme', id),
            another.shipment('acme', id),
            another.named('acme', `none-${index}`),
          ])
          expect(found).toMatchObject([{ name }])
          expect([written?.own, made?.own, written?.id, made?.id]).toEqual([own, own, id, id])
        }),
      )
      const all = await scanned(store)
      expect(all).toHaveLength(100)
      expect(all.every(({ id }) => Number(id) >= 200)).toBe(true)
    })
  })

  const UPPER = 'ABCDEF00-0000-4000-8000-00000000000A'
  const LOWER = UPPER.toLowerCase()

  test('quotes and shipments that are written in parts at once have all of them', async () => {
    const key = { tenant: 'acme', id: 'id-1' }
    await Promise.all([
      store.put({ names: [], quote: { ...key, own: 'W-1', names: [], facts: { a: 1 } } }),
      store.put({ names: [], quote: { ...key, price: '1.00' }, shipment: { ...key, own: 'W-1' } }),
      store.put({ names: [], quote: { ...key, approval: 'sent' }, shipment: { ...key, state: 'canceled' } }),
    ])
    const written = { own: 'W-1', facts: { a: 1 }, price: '1.00', approval: 'sent' } as const
    expect(await other.quote('acme', 'id-1')).toEqual(quote(written))
    expect(await other.shipment('acme', 'id-1')).toEqual(shipment({ own: 'W-1', state: 'canceled' }))
  })

  const loaded = (given: Partial<LoadedName> = {}): LoadedName => ({
    ...named(given as Partial<Name>),
    vin: '',
    ...given,
  })

  describe('load', () => {
    test('writes new names, counts existing ones, lists different ones of quotes', async () => {
      await store.put({ names: [named({ name: 'same', id: 'x', at: 5 }), named({ name: 'differs', id: 'x', at: 5 })] })
      const asked = [
        loaded({ name: 'new', id: 'y' }),
        loaded({ name: 'same', id: 'x', at: 9 }),
        loaded({ name: 'differs', id: 'y', at: 9 }),
        loaded({ name: 'new', id: 'y', at: 2 }),
        loaded({ name: 'new', id: 'z' }),
        loaded({ name: 'new', id: UPPER, kind: 'shipment' }),
        loaded({ name: 'new', id: LOWER, kind: 'shipment' }),
      ]
      expect(await store.load(asked, { replace: false })).toEqual({
        written: 2,
        same: 3,
        conflicts: [
          { asked: asked[2], found: named({ name: 'differs', id: 'x', at: 5 }) },
          { asked: asked[4], found: named({ name: 'new', id: 'y' }) },
        ],
      })
      expect(await bearers('same')).toEqual([named({ name: 'same', id: 'x', at: 5 })])
      expect((await bearers('new')).map(({ id }) => id).toSorted()).toEqual([UPPER, 'y'])
    })

    test('takes thousands, while others write', async () => {
      const many = Array.from({ length: 5_000 }, (_, index) => loaded({ name: `L-${index}`, id: `${index}` }))
      const [load] = await Promise.all([
        store.load(many, { replace: false }),
        ...Array.from({ length: 50 }, (_, index) => other.put({ names: [named({ name: `P-${index}` })] })),
      ])
      expect(load.written).toBe(5_000)
      expect((await scanned(other)).length).toBe(5_050)
    })
  })

  describe('scan', () => {
    test('yields everything in order, in pages, from after a name', async () => {
      const names = ['b', 'a', '', '🚚', '\uffee', 'B'].flatMap((tenant) =>
        ['y', 'x', ''].flatMap((name) => [
          loaded({ tenant, name }),
          loaded({ tenant, name, kind: 'shipment', id: 'S-2' }),
          loaded({ tenant, name, kind: 'shipment', id: 'S-1' }),
        ]),
      )
      await store.load(names, { replace: false })
      const all = await scanned(store)
      expect(all.length).toBe(names.length)
      expect([...new Set(all.map(({ tenant }) => tenant))]).toEqual(['', 'B', 'a', 'b', '\uffee', '🚚'])
      expect(all.slice(9, 12).map(({ name, kind, id }) => [name, kind, id])).toEqual([
        ['', 'quote', 'id-1'],
        ['', 'shipment', 'S-1'],
        ['', 'shipment', 'S-2'],
      ])
      for (const [index, after] of all.entries()) {
        expect(await scanned(store, { after })).toEqual(all.slice(index + 1))
        const rest = all.slice(index + 1).filter(({ tenant }) => tenant === 'a')
        expect(await scanned(store, { after, tenant: 'a' })).toEqual(rest)
      }
      const between = { tenant: 'aa', name: 'x', kind: 'quote', id: '', givenBy: 'caller' } as const
      expect(await scanned(store, { after: between })).toEqual(all.filter(({ tenant }) => tenant > 'a'))
    })

    test('continues while others write, and sees writes ahead of it', async () => {
      const many = Array.from({ length: 3_500 }, (_, index) => loaded({ name: `N-${1_000 + index}` }))
      await store.load(many, { replace: false })
      const seen: string[] = []
      for await (const page of store.scan({})) {
        if (seen.length === 0) await other.put({ names: [named({ name: 'Z-ahead' }), named({ name: 'A-behind' })] })
        seen.push(...page.map(({ name }) => name))
      }
      expect(seen.filter((name) => name.startsWith('N-'))).toEqual(many.map(({ name }) => name))
      expect(seen).not.toContain('A-behind')
      expect(seen).toContain('Z-ahead')
    })
  })

  describe('claims', () => {
    const keysOf = (claims: readonly Claim[]) => claims.map(({ key }) => key)

    test('have one winner among 200 callers of two gateways', async () => {
      for (let round = 0; round < 5; round += 1) {
        const key = `race-${round}`
        const results = await Promise.all(
          Array.from({ length: 200 }, (_, index) =>
            (index % 2 === 0 ? store : other).claim(newClaim({ key, instance: `caller-${index}` })),
          ),
        )
        const [winner, ...others] = results.filter(({ won }) => won)
        expect(others).toEqual([])
        for (const { claim } of results) expect(claim).toEqual(winner?.claim)
        expect((await store.audit(`bk_acme_${key}`)).length).toBe(1)
      }
    })

    test('change by compare-and-set, once for each version, and leave a trail', async () => {
      const { claim } = await store.claim(newClaim({ expiresInMs: 77 }))
      expect(claim.expires).toBe(1_077)
      await place.setClock(2_000)
      const why = 'settled by "Zoë",\n[2]'
      const booked = { state: 'booked', instance: 'gateway-2', why } as const
      const change = { ...booked, shipment: 'S-1', reply: '{"a":1}' }
      const changed = await other.change(claim, change)
      const { why: _, ...set } = change
      expect(changed).toEqual({ ...claim, ...set, version: 2, expires: 2_077, changedAt: 2_000 })
      expect(await store.change(claim, change)).toBeUndefined()
      expect(await store.change({ ...claim, key: 'none' }, change)).toBeUndefined()
      expect(await store.findClaim('acme', 'REF-1')).toEqual(changed)
      await place.setClock(3_000)
      const freed = await store.change({ ...claim, version: 2 }, { ...booked, state: 'freed' })
      expect(freed).toEqual({ ...changed, state: 'freed', version: 3, expires: 1_077, changedAt: 3_000 })
      expect(await other.audit(claim.handle)).toEqual([
        { at: 1_000, from: 'none', to: 'sending', instance: 'gateway-1', why: 'claimed' },
        { at: 2_000, from: 'sending', to: 'booked', instance: 'gateway-2', why },
        { at: 3_000, from: 'booked', to: 'freed', instance: 'gateway-2', why },
      ])
      const racing = Array.from({ length: 50 }, (_, index) =>
        (index % 2 === 0 ? store : other).change({ ...claim, version: 3 }, booked),
      )
      expect((await Promise.all(racing)).filter((one) => one !== undefined).length).toBe(1)
    })

    test('keep a handle to themselves', async () => {
      await store.claim(newClaim())
      const [taken, neighbor] = await Promise.allSettled([
        store.claim(newClaim({ key: 'REF-2', handle: 'bk_acme_REF-1' })),
        store.claim(newClaim({ key: 'REF-3' })),
      ])
      expect(taken.status).toBe('rejected')
      expect(taken).not.toMatchObject({ reason: { name: 'StoreDown' } })
      expect(taken).toMatchObject({ reason: { message: expect.stringMatching(/handle/) } })
      expect(neighbor).toMatchObject({ status: 'fulfilled', value: { won: true } })
      expect(await store.findClaim('acme', 'REF-2')).toBeUndefined()
    })

    test('keep their gateway as long as its lease is renewed in time', async () => {
      const LONG_MS = 60_000
      expect(await store.renewLease('alive', LONG_MS)).toBe(false)
      expect(await other.renewLease('alive', LONG_MS)).toBe(true)
      expect(await store.renewLease('another', LONG_MS)).toBe(false)
      // Older than this: another gateway may have taken its claims for abandoned.
      expect(await store.renewLease('alive', 0)).toBe(false)
      await store.endLease('alive')
      expect(await store.renewLease('alive', LONG_MS)).toBe(false)
    })

    test('of a silent gateway become unknown, those of a living one never', async () => {
      const LONG_MS = 60_000
      await store.renewLease('alive', LONG_MS)
      await other.renewLease('left', LONG_MS)
      for (const instance of ['alive', 'left', 'never heard of']) {
        await store.claim(newClaim({ key: instance, instance }))
      }
      const booked = await store.claim(newClaim({ key: 'booked', instance: 'left' }))
      await store.change(booked.claim, { state: 'booked', instance: 'left', why: 'answered 201' })
      const orphans = async (by: Store, silentForMs: number) => keysOf(await by.orphanClaims(silentForMs, 'by'))
      expect(await orphans(other, LONG_MS)).toEqual(['never heard of'])
      await store.endLease('left')
      expect((await Promise.all([orphans(other, LONG_MS), orphans(store, LONG_MS)])).flat()).toEqual(['left'])
      expect(await store.findClaim('acme', 'left')).toMatchObject({ state: 'unknown', version: 2, instance: 'by' })
      expect((await store.audit('bk_acme_left')).map(({ to }) => to)).toEqual(['sending', 'unknown'])
      expect(await store.findClaim('acme', 'alive')).toMatchObject({ state: 'sending', version: 1 })
      expect([await orphans(other, 0), await orphans(other, 0)]).toEqual([['alive'], []])
    })
  })

  describe('claims of a reference', () => {
    const vehicle = (year = '', make = '', model = '') => JSON.stringify({ year, make, model })
    let handles = 0
    const ofReference = (given: Partial<NewClaim> = {}): NewClaim => {
      handles += 1
      return newClaim({ isOfReference: true, handle: `bk_${handles}`, vehicle: vehicle(), ...given })
    }
    const book = async (given: Partial<NewClaim> = {}, change: Partial<ClaimChange> = {}) => {
      const { claim } = await store.claim(ofReference(given))
      return store.change(claim, { state: 'booked', instance: 'g', why: 'made', shipment: claim.handle, ...change })
    }
    const VAN = vehicle('2020', 'FORD', 'TRANSIT')

    test('tell of the same body, then of one that is open, then of the newest', async () => {
      await book({ vin: 'V1', body: 'one' })
      await place.setClock(2_000)
      await book({ vin: 'V2', body: 'two' })
      const held = async (body: string) => (await other.claim(ofReference({ body }))).claim.vin
      expect([await held('three'), await held('one'), await held('two')]).toEqual(['V2', 'V1', 'V2'])
      await place.setClock(500)
      await book({ vin: 'V3' }, { state: 'unknown' })
      expect([await held('three'), await held('one')]).toEqual(['V3', 'V1'])
      await store.claim(ofReference({ vin: 'V4' }))
      expect([await held('three'), await held('one')]).toEqual(['V4', 'V1'])
    })

    test('have one winner among two gateways that spell one vehicle with and without its VIN', {
      timeout: 120_000,
    }, async () => {
      const kinds = [{ vin: 'V1', vehicle: VAN }, { vehicle: VAN }, { vin: 'V1' }, { vin: 'V2', vehicle: VAN }]
      const rounds = runs(100, 400)
      for (let round = 0; round < rounds; round += 1) {
        const key = `race-${round}`
        // In some rounds a claim of another vehicle is there, or one that is free.
        const before = [undefined, { vin: 'OLD' }, { vin: 'OLD' }, { vehicle: VAN }][round % 4]
        if (before) await book({ key, reference: key, ...before }, { state: round % 4 === 1 ? 'booked' : 'freed' })
        const racers = Array.from({ length: 6 }, (_, nth) => [[store, other][nth % 2], kinds[nth % 3]] as const)
        if (round % 8 > 3) racers.push([store, kinds[3]])
        const results = await Promise.all(
          racers.map(([one = store, kind]) => one.claim(ofReference({ key, reference: key, ...kind }))),
        )
        const won = results.flatMap(({ won, claim }) => (won ? [claim.vin] : []))
        // With another VIN, the one that comes first decides if the others, which tell none, are of its vehicle.
        const isOneVehicle = won.length === 1 || (won.length === 2 && won.includes('V1') && won.includes('V2'))
        expect(isOneVehicle, `${round}: ${won}`).toBe(true)
        if (round % 8 <= 3) expect(won).toHaveLength(1)
      }
    })
  })

  describe('locks', () => {
    test('let one work at a time, whichever store it comes to', async () => {
      let running = 0
      const numbers = Array.from({ length: 24 }, (_, index) => index)
      const results = await Promise.all(
        numbers.map((index) =>
          (index % 2 === 0 ? store : other).exclusive('key', PATIENT_MS, async (isHeld) => {
            running += 1
            await pause(2)
            expect([running, isHeld()]).toEqual([1, true])
            running -= 1
            return index
          }),
        ),
      )
      expect(results).toEqual(numbers)
    })

    test('of one store are granted in the order of the requests', async () => {
      const numbers = Array.from({ length: 10 }, (_, index) => index)
      const order: number[] = []
      await Promise.all(numbers.map((index) => store.exclusive('key', PATIENT_MS, async () => order.push(index))))
      expect(order).toEqual(numbers)
    })

    test('are waited for up to the given time, in this process and another; other keys are free meanwhile', async () => {
      const held = Promise.withResolvers<void>()
      const letGo = Promise.withResolvers<void>()
      const first = store.exclusive('key', PATIENT_MS, () => {
        held.resolve()
        return letGo.promise
      })
      await held.promise
      for (const key of ['', "'; --", 'acme\nid-1', '🚚']) {
        for (const one of [store, other]) expect(await one.exclusive(key, PATIENT_MS, async () => key)).toBe(key)
      }
      let ran = false
      const work = async () => {
        ran = true
      }
      const late = await Promise.allSettled([store, other].map((one) => one.exclusive('key', IMPATIENT_MS, work)))
      for (const result of late) expect(result).toMatchObject({ status: 'rejected', reason: expect.any(LockTimeout) })
      const patient = other.exclusive('key', PATIENT_MS, async () => 'done')
      letGo.resolve()
      await first
      expect(await patient).toBe('done')
      expect(ran).toBe(false)
    })

    test('are free again after work that fails', async () => {
      const failed = store.exclusive('key', PATIENT_MS, () => Promise.reject(new Error('no such thing')))
      await expect(failed).rejects.toThrow('no such thing')
      expect(await other.exclusive('key', PATIENT_MS, async () => 'done')).toBe('done')
    })
  })

  describe('events', () => {
    const MINUTE_MS = 60_000
    const DELIVERED = { state: 'delivered', outcome: 'answered 200' } as const
    const take = (given: Partial<NewEvent> = {}) => store.takeEvent(newEvent(given))
    const lease = (limit = 10, by = store) => by.leaseEvents('acme', limit, MINUTE_MS)

    test('are stored once, by tenant, shipment, event, date and digest, however many stores take them at once', async () => {
      const copies = Array.from({ length: 20 }, (_, i) => newEvent({ payload: `${i}` }))
      const taken = await Promise.all(copies.map((copy, i) => (i % 2 ? store : other).takeEvent(copy)))
      expect(taken.filter((one) => one.taken)).toHaveLength(1)
      expect(new Set(taken.map(({ id }) => id)).size).toBe(1)
      const others = [{ tenant: 'b' }, { shipment: 's-2' }, { event: 'x' }, { date: 'x' }, { digest: 'x' }]
      for (const given of others) expect((await take(given)).taken).toBe(true)
      expect(await store.listEvents({})).toHaveLength(1 + others.length)
    })
    test('are leased by one of several stores', async () => {
      for (let i = 0; i < 20; i += 1) await take({ shipment: `s-${i}` })
      const leased = await Promise.all(Array.from({ length: 8 }, (_, i) => lease(5, i % 2 ? store : other)))
      const all = leased.flat().map(({ shipment }) => shipment)
      expect(all.length).toBe(new Set(all).size)
      expect(all.length).toBe(20)
    })

    test('of a gateway that is gone are leased again at once', async () => {
      for (const shipment of ['s-1', 's-2', 's-3']) await take({ shipment })
      for (const instance of ['gone', 'alive']) await store.renewLease(instance, MINUTE_MS)
      const [lost] = await store.leaseEvents('acme', 1, MINUTE_MS, 'gone')
      await store.leaseEvents('acme', 1, MINUTE_MS, 'alive')
      await store.leaseEvents('acme', 1, MINUTE_MS)
      expect(await lease(10, other)).toEqual([])
      expect([...(await other.leaseholders())].sort()).toEqual(['alive', 'gone'])
      await other.endLease('gone')
      expect(await other.tenantsWithDue(['acme'])).toEqual(['acme'])
      expect(await lease(10, other)).toMatchObject([{ id: lost?.id }])
      expect(await store.finishTry(lost ?? expect.fail(), DELIVERED)).toBe(false)
    })

    test('that were stored while a try ended are not missed', async () => {
      await take({ event: '0' })
      for (let i = 1; i <= 30; i += 1) {
        const [event = expect.fail('nothing is due')] = await lease(1)
        const end = store.finishTry(event, DELIVERED)
        await Promise.all([end, other.takeEvent(newEvent({ event: String(i) }))])
      }
      expect((await lease()).map(({ event }) => event)).toEqual(['30'])
    })
  })

  describe('counts', () => {
    test('add up over gateways, each batch once', async () => {
      await store.addCounts(batch(1, { calls: [callsOf({ calls: 3 })], names: [usedName({ count: 3 })] }))
      await other.addCounts(
        batch(1, { instance: 'g2', calls: [callsOf({ calls: 4 })], names: [usedName({ count: 4 })] }),
      )
      await store.addCounts(batch(1, { calls: [callsOf({ calls: 3 })], names: [usedName({ count: 3 })] }))
      await other.addCounts(batch(2, { calls: [callsOf({ calls: 5 }), callsOf({ outcome: 'untranslatable' })] }))
      expect(await store.callCounts(['acme'], 0)).toEqual([
        callsOf({ calls: 12 }),
        callsOf({ outcome: 'untranslatable' }),
      ])
      expect(await other.nameCounts('acme')).toEqual([usedName({ count: 7 })])
    })

    test('of many gateways at once are exact', async () => {
      const GATEWAYS = 8
      const BATCHES = 10
      const work = Array.from({ length: GATEWAYS }, async (_, gateway) => {
        for (let no = 1; no <= BATCHES; no += 1) {
          const names = Array.from({ length: 12 }, (_, i) =>
            usedName({ kind: 'unknown', name: `F${gateway}-${no}-${i}` }),
          )
          const counts = batch(no, { instance: `gateway ${gateway}`, calls: [callsOf()], names })
          await (gateway % 2 ? store : other).addCounts(counts)
        }
      })
      await Promise.all(work)
      expect(await store.callCounts(['acme'], 0)).toEqual([callsOf({ calls: GATEWAYS * BATCHES })])
      const names = await other.nameCounts('acme')
      expect(names).toHaveLength(51)
      expect(names.reduce((all, { count }) => all + count, 0)).toBe(GATEWAYS * BATCHES * 12)
    })

    test('list the tenants with their interfaces, a thousand at once and then the ones after them', async () => {
      const use = (no: number, name: string) =>
        usedName({ tenant: `tenant ${String(no).padStart(4, '0')}`, kind: 'use', action: '', name })
      const uses = Array.from({ length: 750 }, (_, no) => [use(no, 'version-1'), use(no, 'version-2')]).flat()
      await store.addCounts(batch(1, { names: [usedName(), ...uses.toReversed()] }))
      const first = await other.countedTenants()
      const second = await other.countedTenants(first.at(-1))
      expect([first.length, second.length]).toEqual([1_000, 500])
      expect([...first, ...second]).toEqual(uses)
      expect(await other.countedTenants(second.at(-1))).toEqual([])
    })

    test('have at most 50 unknown names, 50 networks and 10 agents of a tenant, and the others as one', async () => {
      const many = (kind: 'unknown' | 'agent' | 'network', from: number, to: number) =>
        Array.from({ length: to - from }, (_, i) => usedName({ kind, action: '', name: `n${from + i}` }))
      for (const [no, kind] of (['unknown', 'agent', 'network'] as const).entries()) {
        await store.addCounts(batch(no * 2 + 1, { names: many(kind, 0, 9) }))
        await store.addCounts(
          batch(no * 2 + 2, { names: [...many(kind, 0, 100), usedName({ kind, action: '', name: OTHER_NAMES })] }),
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
  })

  test("never shows a tenant another tenant's data", async () => {
    // Short texts of few letters: a tenant and a name together often equal another pair.
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '1', ':', ''), maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 8 }), async (pairs) => {
        await Promise.all(
          pairs.map(([tenant, name]) => {
            const id = JSON.stringify([tenant, name])
            const names = [named({ tenant, name, id })]
            const claiming = store.claim(newClaim({ tenant, key: name, handle: `bk_${id}`, body: id }))
            return Promise.all([claiming, store.put({ names, quote: quote({ tenant, id: name, own: id }) })])
          }),
        )
        for (const [tenant, name] of pairs) {
          const id = JSON.stringify([tenant, name])
          expect((await bearersOf(store, tenant, name)).map((one) => one.id)).toEqual([id])
          expect((await store.quote(tenant, name))?.own).toBe(id)
          expect((await store.findClaim(tenant, name))?.body).toBe(id)
          const stranger = `${tenant}~`
          expect(await store.named(stranger, name)).toEqual([])
          expect(await store.quote(stranger, name)).toBeUndefined()
          expect(await store.findClaim(stranger, name)).toBeUndefined()
          for (const one of await scanned(store, { tenant })) expect(one.tenant).toBe(tenant)
          for (const one of await store.listClaims({ tenant })) expect(one.tenant).toBe(tenant)
        }
      }),
      { numRuns: runs(8, 15) },
    )
  })
}
