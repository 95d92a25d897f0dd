import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type Claim,
  type ClaimChange,
  type ClaimFilter,
  type LoadedName,
  LockTimeout,
  type Name,
  type NewClaim,
  type Store,
  StoreDown,
} from '../../src/outside/store/store.ts'
import { runs } from '../size.ts'
import type { Place } from './places.ts'
import { named, newClaim, newName, quote, SAMPLE_TIME, scanned, shipment } from './samples.ts'

/** Longer than any test runs. */
const PATIENT_MS = 60_000
const IMPATIENT_MS = 150
const IN_DOUBT = 'may have been booked before the store was restored'

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
    test('are borne by shipments side by side, the newest first, and of the same age the later written', async () => {
      const [a, b, c] = ['A', 'B', 'C'].map((id) => onShipment({ id })) as [Name, Name, Name]
      const [newest, oldest] = [named({ at: 2_000 }), onShipment({ id: 'D', at: 1 })]
      await store.put({ names: [newest, a, b, oldest] })
      await store.put({ names: [c] })
      expect(await bearers('Q-1')).toEqual([newest, c, b, a, oldest])
      await store.put({ names: [a] })
      expect(await bearers('Q-1')).toEqual([newest, a, c, b, oldest])
      expect(await bearersOf(store, 'other', 'Q-1')).toEqual([])
    })

    test('that nothing bears are those of all their other spellings', async () => {
      const spellings = ['REF-a', 'ref-A', 'REF-A', 'ref-a', 'Ref-A'].map((text, at) =>
        named({ name: text, id: text, at }),
      )
      const remembered = quote({ id: 'ref-a' })
      await store.put({ names: [...spellings, named({ name: 'REF-B' })], quote: remembered })
      const found = spellings.map((one) => {
        return { ...one, quote: one.id === 'ref-a' ? remembered : undefined, shipment: undefined }
      })
      expect(await store.named('acme', 'rEF-a')).toEqual(found.toReversed())
      for (const [nth, one] of spellings.entries()) expect(await store.named('acme', one.name)).toEqual([found[nth]])
      const many = Array.from({ length: 1_001 }, (_, nth) => ({ ...onShipment({ id: `S-${nth}` }), vin: '' }))
      await store.load(many, { replace: false })
      expect(await bearers('Q-1')).toHaveLength(1_001)
      expect(await bearers('q-1')).toHaveLength(1_000)
    })

    test('of quotes are replaced by later writes, regardless of the clocks, and their time never goes back', async () => {
      await store.put({ names: [named({ id: 'first', at: 5 })] })
      await store.put({ names: [named({ id: 'second', at: 4 })] })
      expect(await bearers('Q-1')).toEqual([named({ id: 'second', at: 5 })])
      await store.put({ names: [named({ id: 'third', at: 6 }), named({ id: 'fourth', at: 2 })] })
      expect(await bearers('Q-1')).toEqual([named({ id: 'fourth', at: 6 })])
    })

    test("have the store's time of the write by default", async () => {
      const timeless = newName()
      await store.put({ names: [timeless] })
      await place.setClock(2_000)
      await other.put({ names: [{ ...timeless, name: 'Q-2' }, named({ name: 'Q-3' })] })
      expect(await bearers('Q-1')).toEqual([named({ at: 1_000 })])
      expect(await bearers('Q-2')).toEqual([named({ name: 'Q-2', at: 2_000 })])
      expect(await bearers('Q-3')).toEqual([named({ name: 'Q-3', at: 1_000 })])
      const asked = { ...timeless, id: 'other', vin: '' }
      const conflicts = [{ asked, found: named() }]
      expect(await store.load([asked], { replace: false })).toEqual({ written: 0, same: 0, conflicts })
      await store.load([asked], { replace: true })
      expect(await bearers('Q-1')).toEqual([named({ id: 'other', at: 2_000 })])
      // Written again later, by a clock that was set back.
      await place.setClock(500)
      await store.put({ names: [{ ...timeless, name: 'Q-2', id: 'id-2' }] })
      expect(await bearers('Q-2')).toEqual([named({ name: 'Q-2', id: 'id-2', at: 2_000 })])
    })

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

    test('are removed from the given id only', async () => {
      const [one, two] = [onShipment({ id: UPPER }), onShipment({ id: 'id-2' })]
      const services = { ...one, givenBy: 'service' } as const
      const ofQuote = named({ id: UPPER })
      await store.put({ names: [one, two, services, ofQuote] })
      const others = [
        { ...one, id: 'id-3' },
        { ...one, name: 'R-2' },
        { ...one, tenant: 'zenith' },
        { ...ofQuote, id: 'id-3' },
      ]
      expect([await store.unlink(others), await store.unlink([])]).toEqual([0, 0])
      expect(await store.unlink([{ ...one, id: LOWER }, services, one])).toBe(2)
      expect(await bearers('Q-1', other)).toEqual([ofQuote, two])
      expect(await store.unlink([{ ...ofQuote, id: LOWER }])).toBe(1)
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

  describe('quotes and shipments', () => {
    test('are found by an id in any case, in the spelling that was written first', async () => {
      await store.put({ names: [named({ id: UPPER })], quote: quote({ id: UPPER }), shipment: shipment({ id: UPPER }) })
      await other.put({ names: [onShipment({ id: LOWER })], quote: { tenant: 'acme', id: LOWER, approval: 'sent' } })
      const stored = { quote: quote({ id: UPPER, approval: 'sent' }), shipment: shipment({ id: UPPER }) }
      for (const id of [UPPER, LOWER]) {
        expect([await store.quote('acme', id), await store.shipment('acme', id)]).toEqual(Object.values(stored))
      }
      const both = [
        { ...onShipment({ id: LOWER }), ...stored },
        { ...named({ id: UPPER }), ...stored },
      ]
      expect(await store.named('acme', 'Q-1')).toEqual(both)
      // Only UUIDs have other spellings.
      await store.put({ names: [], quote: quote({ id: 'a' }) })
      expect(await store.quote('acme', 'A')).toBeUndefined()
    })

    test('keep the parts that a write does not give, and a quote its time unless its facts are given', async () => {
      const key = { tenant: 'acme', id: 'id-1' }
      await store.put({ names: [], quote: { ...key, approval: 'sent' }, shipment: { ...key, state: 'gone' } })
      const blank = quote({ own: '', facts: null })
      expect(await store.quote('acme', 'id-1')).toEqual({ ...blank, approval: 'sent' })
      expect(await store.shipment('acme', 'id-1')).toEqual(shipment({ state: 'gone' }))
      await place.setClock(2_000)
      const facts = { note: 'a\0b \ud800 "quoted"', n: -0.5 }
      await other.put({ names: [], quote: { ...key, own: 'W-1', names: ['W-1'], facts } })
      await place.setClock(3_000)
      const vehicles = [{ vin: 'V1', year: '2020', make: '', model: 'A"\\' }]
      await store.put({
        names: [],
        quote: { ...key, price: '1.00', approval: 'approved', idsInApproval: ['x'] },
        shipment: { ...key, own: 'W-1', vehicles, formerVins: { OLD: 'V1' } },
      })
      const told = { own: 'W-1', names: ['W-1'], price: '1.00', approval: 'approved', idsInApproval: ['x'] } as const
      expect(await other.quote('acme', 'id-1')).toEqual(quote({ ...told, facts, at: 2_000 }))
      const shown = { own: 'W-1', vehicles, formerVins: { OLD: 'V1' } }
      expect(await other.shipment('acme', 'id-1')).toEqual(shipment({ ...shown, state: 'gone', at: 3_000 }))
      const cleared = { own: '', names: [], facts: null, price: '', approval: '', idsInApproval: [] } as const
      await store.put({ names: [], quote: { ...key, ...cleared }, shipment: { ...key, vehicles: [], state: 'live' } })
      expect(await other.quote('acme', 'id-1')).toEqual(quote({ ...cleared, at: 3_000 }))
      expect(await other.shipment('acme', 'id-1')).toEqual(shipment({ ...shown, vehicles: [], at: 3_000 }))
    })

    test('that are written in parts at once have all of them', async () => {
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

    test('replaces different names on request, even newer ones', async () => {
      await store.put({ names: [named({ id: 'x', at: 5 })] })
      const asked = [{ id: 'y', at: 4 }, { id: 'y', at: 9 }, { id: 'z', at: 3 }, { name: 'n' }].map(loaded)
      expect(await store.load(asked, { replace: true })).toEqual({ written: 4, same: 0, conflicts: [] })
      expect(await bearers('Q-1')).toEqual([named({ id: 'z', at: 3 })])
      expect(await store.load([], { replace: true })).toEqual({ written: 0, same: 0, conflicts: [] })
    })

    test('adds a VIN to a shipment of which no vehicle is known, and a scan tells that of one vehicle', async () => {
      const vehicle = (vin: string, more = {}) => ({ vin, year: '', make: '', model: '', ...more })
      await store.put({ names: [], shipment: shipment({ id: 'known', vehicles: [vehicle('V1', { year: '2020' })] }) })
      await store.put({ names: [], shipment: shipment({ id: 'two', vehicles: [vehicle('V1'), vehicle('V2')] }) })
      await store.put({ names: [], shipment: shipment({ id: 'blank', own: 'W-1' }) })
      const ids = ['blank', 'known', 'none', 'two']
      const asked = [...ids, 'none'].map((id, nth) => loaded({ kind: 'shipment', id, vin: `NEW${nth}` }))
      await store.load([...asked, loaded({ id: 'a quote', vin: 'V' })], { replace: false })
      expect((await scanned(store)).map(({ id, vin }) => [id, vin])).toEqual([
        ['a quote', ''],
        ['blank', 'NEW0'],
        ['known', 'V1'],
        ['none', 'NEW2'],
        ['two', ''],
      ])
      expect(await store.shipment('acme', 'blank')).toMatchObject({ own: 'W-1', vehicles: [vehicle('NEW0')] })
      expect(await store.shipment('acme', 'known')).toMatchObject({ vehicles: [{ year: '2020' }] })
      expect(await store.shipment('acme', 'a quote')).toBeUndefined()
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

    test('are won once, and the loser learns of the winner', async () => {
      const first = await store.claim(newClaim())
      const times = { expires: 0, createdAt: 1_000, changedAt: 1_000 }
      const { isOfReference: _, ...given } = newClaim()
      const expected = { ...given, state: 'sending', version: 1, shipment: '', reply: '', ...times }
      expect(first).toEqual({ won: true, claim: expected })
      expect(await other.claim(newClaim({ body: 'other', handle: 'bk_2' }))).toEqual({ won: false, claim: expected })
      expect(await other.findClaim('acme', 'REF-1')).toEqual(expected)
      expect(await other.findClaim('other', 'REF-1')).toBeUndefined()
      expect(await other.claimByHandle('bk_acme_REF-1')).toEqual(expected)
      expect(await other.claimByHandle('bk_2')).toBeUndefined()
    })

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

    test('write the names of a change with it, whether or not it changes the claim', async () => {
      const { claim } = await store.claim(newClaim())
      const change = { state: 'booked', instance: 'gateway-2', why: 'made', shipment: 'S-1', reply: '{}' } as const
      const names = (id: string) => ({ names: [named({ id })], quote: quote({ id }) })
      const told = async () => [
        (await bearers(named().name)).map(({ id }) => id),
        await store.findClaim('acme', 'REF-1'),
      ]
      const changed = await store.change(claim, change, names('S-1'))
      expect(changed).toMatchObject({ state: 'booked', version: 2 })
      expect(await told()).toEqual([['S-1'], changed])
      expect(await store.change(claim, change, names('S-2'))).toBeUndefined()
      expect(await told()).toEqual([['S-2'], changed])
      expect(await store.quote('acme', 'S-2')).toMatchObject({ id: 'S-2' })
    })

    test.each([
      { state: 'sending', expiresInMs: 10, free: false },
      { state: 'unknown', expiresInMs: 10, free: false },
      { state: 'booked', expiresInMs: undefined, free: false },
      { state: 'booked', expiresInMs: 4_001, free: false },
      { state: 'booked', expiresInMs: 4_000, free: true },
      { state: 'refused', expiresInMs: undefined, free: true },
      { state: 'freed', expiresInMs: undefined, free: true },
    ] as const)('that are $state (expire in $expiresInMs) may be taken again: $free', async (row) => {
      const { state, expiresInMs, free } = row
      const { claim } = await store.claim(newClaim({ expiresInMs }))
      const change = { state, instance: 'gateway-1', why: 'test', shipment: 'S-1', reply: '{}' }
      const before = await store.change(claim, change)
      await place.setClock(5_000)
      const again = newClaim({ handle: 'bk_again', body: 'new', expiresInMs: 9 })
      const results = await Promise.all([other.claim(again), store.claim(again), other.claim(again)])
      expect(results.filter(({ won }) => won).length).toBe(free ? 1 : 0)
      const standing = await store.findClaim('acme', 'REF-1')
      for (const result of results) expect(result.claim).toEqual(standing)
      if (!free) return expect(standing).toEqual(before)
      const { expiresInMs: _, isOfReference: __, ...given } = again
      const times = { expires: 5_009, createdAt: 5_000, changedAt: 5_000 }
      expect(standing).toEqual({ ...given, state: 'sending', version: 3, shipment: '', reply: '', ...times })
      expect((await store.audit('bk_again')).map(({ from, to }) => [from, to])).toEqual([[state, 'sending']])
      expect(await store.claimByHandle('bk_acme_REF-1')).toBeUndefined()
      expect(await store.change({ ...claim, version: 2 }, change)).toBeUndefined()
    })

    test('keep their trail when they are taken again, under whatever handle', async () => {
      for (const handle of ['bk_1', 'bk_1', 'bk_2', 'bk_1']) {
        const { claim } = await store.claim(newClaim({ handle }))
        await other.change(claim, { state: 'freed', instance: 'g', why: 'test' })
      }
      const steps = async (handle: string) => (await store.audit(handle)).map(({ from, to }) => `${from} ${to}`)
      const again = ['freed sending', 'sending freed']
      expect(await steps('bk_1')).toEqual(['none sending', 'sending freed', ...again, ...again])
      expect(await steps('bk_2')).toEqual(again)
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

    test('are listed by state and tenant, the oldest first, and by shipment', async () => {
      for (const [index, tenant] of ['acme', 'other', 'acme', 'other'].entries()) {
        await place.setClock(10 - index)
        const { claim } = await store.claim(newClaim({ tenant, key: `K-${index}` }))
        const state = index < 2 ? 'unknown' : 'booked'
        await store.change(claim, { state, instance: 'g', why: 'test', shipment: `S-${index % 3}` })
      }
      const [first, second = expect.fail('no second claim')] = await other.listClaims({})
      const listed: readonly [filter: ClaimFilter, keys: readonly string[]][] = [
        [{}, ['K-3', 'K-2', 'K-1', 'K-0']],
        [{ limit: 2 }, ['K-3', 'K-2']],
        [{ limit: 2, newest: true }, ['K-0', 'K-1']],
        [{ state: 'unknown' }, ['K-1', 'K-0']],
        [{ tenant: 'acme' }, ['K-2', 'K-0']],
        [{ tenant: 'acme', state: 'unknown', limit: 1 }, ['K-0']],
        [{ state: 'freed' }, []],
        [{ after: first }, ['K-2', 'K-1', 'K-0']],
        [{ after: second, newest: true }, ['K-3']],
        [{ since: second.createdAt + 1, tenant: 'acme' }, ['K-0']],
        [{ until: second.createdAt }, ['K-3']],
      ]
      for (const [filter, keys] of listed) expect(keysOf(await other.listClaims(filter))).toEqual(keys)
      expect(keysOf(await other.claimsOfShipment('acme', 'S-0'))).toEqual(['K-0'])
      expect(keysOf(await other.claimsOfShipment('other', 'S-0'))).toEqual(['K-3'])
      expect(await other.claimsOfShipment('acme', '')).toEqual([])
    })

    test('are counted by state, up to a number', async () => {
      for (const [index, tenant] of ['acme', 'acme', 'acme', 'other'].entries()) {
        const { claim } = await store.claim(newClaim({ tenant, key: `K-${index}` }))
        if (index > 0) await store.change(claim, { state: 'unknown', instance: 'g', why: 'test' })
      }
      const none = { booked: 0, refused: 0, freed: 0 }
      expect(await other.countClaims(10)).toEqual({ ...none, sending: 1, unknown: 3 })
      expect(await other.countClaims(10, 'acme')).toEqual({ ...none, sending: 1, unknown: 2 })
      expect(await other.countClaims(2)).toMatchObject({ unknown: 2 })
    })

    test('are found by each name, in any case, of any tenant, the newest first', async () => {
      await place.setClock(10)
      const vin = '1FDXE4FN9PDD32477'
      const { claim } = await store.claim(newClaim({ key: 'Ref-1', handle: 'bk_0123456789ab', vin }))
      await store.change(claim, { state: 'booked', instance: 'g', why: 'made', shipment: 'Ship-1' })
      await place.setClock(20)
      await store.claim(newClaim({ key: 'REF-1', tenant: 'other' }))
      const found = async (name: string, limit = 5) =>
        (await other.claimsNamed(name, limit)).map((one) => `${one.tenant} ${one.key}`)
      expect(await found('rEf-1')).toEqual(['other REF-1', 'acme Ref-1'])
      expect(await found('ref-1', 1)).toEqual(['other REF-1'])
      for (const name of ['BK_0123456789AB', vin.toLowerCase(), 'SHIP-1'])
        expect(await found(name), name).toEqual(['acme Ref-1'])
      for (const name of ['', 'ref', '%']) expect(await found(name), name).toEqual([])
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

    test('are of one vehicle each, with a key of their own', async () => {
      const first = await book({ vin: 'V1', vehicle: VAN })
      expect(first?.key).toBe('REF-1')
      expect(await other.claim(ofReference({ vin: 'V1', body: 'other' }))).toEqual({ won: false, claim: first })
      expect(await other.claim(ofReference({ vehicle: VAN }))).toEqual({ won: false, claim: first })
      const second = await other.claim(ofReference({ vin: 'V2', vehicle: VAN }))
      expect(second).toMatchObject({
        won: true,
        claim: { key: 'REF-1.2', state: 'sending', version: 1, reference: 'REF-1' },
      })
      const third = await other.claim(ofReference({ vehicle: vehicle('2020') }))
      expect(third).toMatchObject({ won: false, claim: { key: 'REF-1.2' } })
      const fourth = await other.claim(ofReference({ vehicle: vehicle('2021', 'FORD', 'TRANSIT') }))
      expect(fourth).toMatchObject({ won: true, claim: { key: 'REF-1.3' } })
      // A key that was given is no reference, and another tenant has references of its own.
      expect(await store.claim(newClaim({ key: 'a key', reference: 'REF-1' }))).toMatchObject({ won: true })
      expect(await store.claim(ofReference({ tenant: 'zenith' }))).toMatchObject({ won: true, claim: { key: 'REF-1' } })
      const keys = (await other.claimsOfReference('acme', 'REF-1')).map(({ key }) => key)
      expect(keys.toSorted()).toEqual(['REF-1', 'REF-1.2', 'REF-1.3', 'a key'])
      expect(await store.claimsOfReference('acme', 'REF-2')).toEqual([])
    })

    test('that are booked are of the vehicles that their shipments have and had', async () => {
      await book({ vin: 'V1', vehicle: VAN }, { shipment: 'S-1' })
      const vehicles = [{ vin: 'V2', year: '2020', make: 'FORD', model: '' }]
      await store.put({
        names: [],
        shipment: { tenant: 'acme', id: 'S-1', vehicles, formerVins: { V1: 'V2', V0: '' } },
      })
      for (const vin of ['V0', 'V1', 'V2'])
        expect(await other.claim(ofReference({ vin }))).toMatchObject({ won: false })
      // The shipment does not tell the model any more.
      expect(await other.claim(ofReference({ vehicle: vehicle('', '', 'FOCUS') }))).toMatchObject({ won: false })
      expect(await other.claim(ofReference({ vin: 'V3', vehicle: VAN }))).toMatchObject({ won: true })
    })

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

    test('that are free are taken again by the same vehicle, and hold up no other one', async () => {
      const freed = await book({ vin: 'V1' }, { state: 'freed' })
      await book({ vin: 'V2' }, { state: 'refused' })
      const again = await other.claim(ofReference({ vin: 'V2', doubtSince: 400 }))
      expect(again).toMatchObject({
        won: true,
        claim: { key: 'REF-1.2', state: 'unknown', version: 3, createdAt: 400 },
      })
      expect((await store.audit(again.claim.handle))[0]).toMatchObject({ from: 'refused', to: 'unknown' })
      expect(await other.claim(ofReference({ vin: 'V3' }))).toMatchObject({ won: true, claim: { key: 'REF-1.3' } })
      expect(await other.findClaim('acme', 'REF-1')).toEqual(freed)
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

  describe('the doubt', () => {
    test('is none until it is declared, and is known to all stores until one is trusted', async () => {
      expect([await store.doubt(), await store.trust()]).toEqual([undefined, false])
      expect(await store.origin()).toEqual({ kind: 'own' })
      const doubt = { since: 500, declaredAt: SAMPLE_TIME, until: 0 }
      expect(await store.declareDoubt({ since: 500, until: 0 })).toEqual(doubt)
      expect(await other.doubt()).toEqual(doubt)
      expect(await other.trust()).toBe(true)
      expect([await store.doubt(), await store.trust()]).toEqual([undefined, false])
    })

    test('ends by the clock of the store, and until then keeps its earlier beginning', async () => {
      const until = SAMPLE_TIME + 100
      await store.declareDoubt({ since: 500, until })
      await place.setClock(SAMPLE_TIME + 50)
      const again = { since: 500, declaredAt: SAMPLE_TIME + 50, until }
      expect(await store.declareDoubt({ since: 900, until })).toEqual(again)
      expect(await store.declareDoubt({ since: 400, until })).toMatchObject({ since: 400 })
      await place.setClock(until - 1)
      expect(await other.doubt()).toMatchObject({ since: 400 })
      await place.setClock(until)
      expect(await other.doubt()).toBeUndefined()
      expect(await store.declareDoubt({ since: 900, until: 0 })).toMatchObject({ since: 900, until: 0 })
    })

    test('makes a claim unknown from the start, which is as old as the doubt', async () => {
      const { doubtSince, isOfReference, ...given } = { ...newClaim(), doubtSince: 500 }
      const { won, claim } = await store.claim({ ...given, isOfReference, doubtSince })
      expect(won).toBe(true)
      const times = { createdAt: doubtSince, changedAt: SAMPLE_TIME }
      expect(claim).toMatchObject({ ...given, state: 'unknown', version: 1, shipment: '', ...times })
      expect(await other.findClaim('acme', 'REF-1')).toEqual(claim)
      expect(await other.audit(claim.handle)).toEqual([
        { at: SAMPLE_TIME, from: 'none', to: 'unknown', instance: 'gateway-1', why: IN_DOUBT },
      ])
      const booked = await other.change(claim, { state: 'booked', instance: 'desk', shipment: 'id-1', why: 'settled' })
      expect(booked).toMatchObject({ state: 'booked', shipment: 'id-1', createdAt: doubtSince })
      expect(await store.claim(newClaim())).toMatchObject({ won: false, claim: { state: 'booked' } })
    })

    test('lets a claim take a free key, and no other one', async () => {
      const inDoubt = newClaim({ doubtSince: 500 })
      const { claim } = await store.claim(newClaim())
      expect(await other.claim(inDoubt)).toEqual({ won: false, claim })
      await store.change(claim, { state: 'freed', instance: 'gateway-1', why: 'test' })
      const taken = await other.claim({ ...inDoubt, handle: 'bk_again' })
      expect(taken).toMatchObject({ won: true, claim: { state: 'unknown', version: 3, createdAt: 500 } })
      expect((await store.audit('bk_again'))[0]).toMatchObject({ from: 'freed', to: 'unknown', why: IN_DOUBT })
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
