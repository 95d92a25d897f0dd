import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Claim, type ClaimFilter, LockTimeout, type Store, StoreDown } from '../../src/store/store.ts'
import { runs } from '../size.ts'
import type { Place } from './places.ts'
import { link, newClaim, SAMPLE_TIME, scanned, thing } from './samples.ts'

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
      await expect(verb(...([link(), 1_000, async () => {}] as never[])), name).rejects.toThrow(StoreDown)
    }
    await fresh.close()
  })

  test.each(['\0', 'a\0b', '\ud800'])('a look for %j, which no name has, finds nothing', async (text) => {
    await store.put({ links: [link({ name: 'a' })], thing: thing({ id: 'a' }) })
    expect([await store.links('acme', text), await store.named(text, 'a')]).toEqual([[], []])
    expect([await store.thing('acme', text), await store.findClaim(text, 'a')]).toEqual([undefined, undefined])
    expect([await store.claimByHandle(text), await store.findEvent(text)]).toEqual([undefined, undefined])
    expect([await store.listClaims({ tenant: text }), await store.listEvents({ tenant: text })]).toEqual([[], []])
  })

  describe('links', () => {
    test('are found by tenant and name, the newest first, and of the same age the later written', async () => {
      const shipment = (vin: string, at = SAMPLE_TIME) => link({ vin, kind: 'shipment', at })
      const [a, b, c] = [shipment('A'), shipment('B'), shipment('C')]
      const [newest, oldest] = [link({ at: 2_000 }), shipment('D', 1)]
      await store.put({ links: [newest, a, b, oldest] })
      await store.put({ links: [c] })
      expect(await store.links('acme', 'Q-1')).toEqual([newest, c, b, a, oldest])
      await store.put({ links: [a] })
      expect(await store.links('acme', 'Q-1')).toEqual([newest, a, c, b, oldest])
      expect([await store.links('acme', 'q-1'), await store.links('other', 'Q-1')]).toEqual([[], []])
    })

    test('of a name that has none are those of all its other spellings', async () => {
      const spellings = ['REF-a', 'ref-A', 'REF-A', 'ref-a', 'Ref-A'].map((name, at) => link({ name, id: name, at }))
      const { tenant, id, ...remembered } = thing({ id: 'ref-a' })
      await store.put({ links: [...spellings, link({ name: 'REF-B' })], thing: { tenant, id, ...remembered } })
      const found = spellings.map((one) => ({ ...one, thing: one.id === id ? remembered : undefined }))
      expect(await store.named('acme', 'rEF-a')).toEqual(found.toReversed())
      for (const [nth, { name }] of spellings.entries()) expect(await store.named('acme', name)).toEqual([found[nth]])
      const many = Array.from({ length: 1_001 }, (_, nth) => link({ kind: 'shipment', name: 'Q-1', vin: `V${nth}` }))
      await store.load(many, { replace: false })
      expect(await store.named('acme', 'Q-1')).toHaveLength(1_001)
      expect(await store.named('acme', 'q-1')).toHaveLength(1_000)
    })

    test('are replaced by later writes, regardless of the clocks, and their time never goes back', async () => {
      await store.put({ links: [link({ id: 'first', at: 5 })] })
      await store.put({ links: [link({ id: 'second', at: 4 })] })
      expect(await store.links('acme', 'Q-1')).toEqual([link({ id: 'second', at: 5 })])
      await store.put({ links: [link({ id: 'third', at: 6 }), link({ id: 'fourth', at: 2 })] })
      expect(await store.links('acme', 'Q-1')).toEqual([link({ id: 'fourth', at: 6 })])
    })

    test("have the store's time of the write by default", async () => {
      const { at, ...timeless } = link()
      await store.put({ links: [timeless] })
      await place.setClock(2_000)
      await other.put({ links: [{ ...timeless, name: 'Q-2' }, link({ name: 'Q-3', at })], thing: thing() })
      expect(await store.links('acme', 'Q-1')).toEqual([link({ at: 1_000 })])
      expect(await store.links('acme', 'Q-2')).toEqual([link({ name: 'Q-2', at: 2_000 })])
      expect(await store.links('acme', 'Q-3')).toEqual([link({ name: 'Q-3', at: 1_000 })])
      expect(await store.thing('acme', 'id-1')).toEqual(thing({ at: 2_000 }))
      const asked = { ...timeless, id: 'other' }
      const conflicts = [{ asked, found: link() }]
      expect(await store.load([asked], { replace: false })).toEqual({ written: 0, same: 0, conflicts })
      await store.load([asked], { replace: true })
      expect(await store.links('acme', 'Q-1')).toEqual([link({ id: 'other', at: 2_000 })])
      // Written again later, by a clock that was set back.
      await place.setClock(500)
      await store.put({ links: [{ ...timeless, name: 'Q-2', id: 'id-2' }] })
      expect(await store.links('acme', 'Q-2')).toEqual([link({ name: 'Q-2', id: 'id-2', at: 2_000 })])
    })

    test('of the service never replace, hide or precede those of the caller', async () => {
      const callers = link({ kind: 'shipment', name: '1001', vin: 'V1', id: 'mine', at: 1 })
      const services = link({ ...callers, id: 'theirs', givenBy: 'service', at: 9 })
      for (const one of [services, callers, services]) await store.put({ links: [one] })
      expect(await other.links('acme', '1001')).toEqual([callers, services])
      const newer = { ...callers, vin: 'V2', id: 'newer', at: 5 }
      const quote = { ...services, kind: 'quote', vin: '', id: 'quote', at: 7 } as const
      await other.put({ links: [newer, quote] })
      expect(await store.links('acme', '1001')).toEqual([newer, callers, services, quote])
      expect(await scanned(store)).toEqual([callers, newer, quote, services])
      expect((await store.load([{ ...services, id: 'again' }], { replace: true })).written).toBe(1)
      expect((await store.links('acme', '1001')).map(({ id }) => id)).toEqual(['newer', 'mine', 'again', 'quote'])
    })

    test('are removed only while they stand for the given id', async () => {
      const one = link({ kind: 'shipment', vin: 'V1' })
      const two = { ...one, vin: 'V2' }
      const services = { ...one, givenBy: 'service' } as const
      await store.put({ links: [one, two, services] })
      const others = [
        { ...one, id: 'id-2' },
        { ...one, name: 'R-2' },
        { ...one, tenant: 'zenith' },
      ]
      expect([await store.unlink(others), await store.unlink([])]).toEqual([0, 0])
      expect(await store.unlink([one, services, one])).toBe(2)
      expect(await other.links('acme', 'Q-1')).toEqual([two])
    })

    test('keep any storable text', async () => {
      const names = ["Robert'); DROP TABLE links;--", '__proto__', ' ÄÖ 漢字 🚚 ', 'line\nbreak', '', '%', '\\']
      await store.put({ links: names.map((name) => link({ name, id: name })) })
      for (const name of names) expect(await store.links('acme', name)).toEqual([link({ name, id: name })])
    })

    test('written by many at once are all there, the later of a name, and each reader is told its own', async () => {
      const names = Array.from({ length: 300 }, (_, index) => `N-${index % 100}`)
      await Promise.all(
        names.map(async (name, index) => {
          const [one, another] = index % 2 === 0 ? [store, other] : [other, store]
          await one.put({ links: [link({ name, id: `${index}` })], thing: thing({ id: `${index}` }) })
          const [links, written] = await Promise.all([
            another.named('acme', name),
            another.thing('acme', `${index}`),
            another.named('acme', `none-${index}`),
          ])
          expect(links).toMatchObject([{ name }])
          expect(written?.id).toBe(`${index}`)
        }),
      )
      const all = await scanned(store)
      expect(all).toHaveLength(100)
      expect(all.every(({ id }) => Number(id) >= 200)).toBe(true)
    })
  })

  test('things are found by id, with their facts, and replaced', async () => {
    expect(await store.thing('acme', 'id-1')).toBeUndefined()
    for (const facts of [{ a: 1 }, { note: 'a\0b \ud800 "quoted"', n: -0.5 }, null]) {
      await store.put({ links: [], thing: thing({ facts }) })
      expect(await other.thing('acme', 'id-1')).toEqual(thing({ facts }))
    }
  })

  describe('load', () => {
    test('writes new links, counts existing ones, lists different ones', async () => {
      await store.put({ links: [link({ name: 'same', id: 'x', at: 5 }), link({ name: 'differs', id: 'x', at: 5 })] })
      const asked = [
        link({ name: 'new', id: 'y' }),
        link({ name: 'same', id: 'x', at: 9 }),
        link({ name: 'differs', id: 'y', at: 9 }),
        link({ name: 'new', id: 'y', at: 2 }),
        link({ name: 'new', id: 'z' }),
      ]
      expect(await store.load(asked, { replace: false })).toEqual({
        written: 1,
        same: 2,
        conflicts: [
          { asked: asked[2], found: link({ name: 'differs', id: 'x', at: 5 }) },
          { asked: asked[4], found: asked[0] },
        ],
      })
      expect(await store.links('acme', 'same')).toEqual([link({ name: 'same', id: 'x', at: 5 })])
      expect(await store.links('acme', 'new')).toEqual([asked[0]])
    })

    test('replaces different links on request, even newer ones', async () => {
      await store.put({ links: [link({ id: 'x', at: 5 })] })
      const asked = [link({ id: 'y', at: 4 }), link({ id: 'y', at: 9 }), link({ id: 'z', at: 3 }), link({ name: 'n' })]
      expect(await store.load(asked, { replace: true })).toEqual({ written: 4, same: 0, conflicts: [] })
      expect(await store.links('acme', 'Q-1')).toEqual([link({ id: 'z', at: 3 })])
      expect(await store.load([], { replace: true })).toEqual({ written: 0, same: 0, conflicts: [] })
    })

    test('takes thousands, while others write', async () => {
      const many = Array.from({ length: 5_000 }, (_, index) => link({ name: `L-${index}`, id: `${index}` }))
      const [loaded] = await Promise.all([
        store.load(many, { replace: false }),
        ...Array.from({ length: 50 }, (_, index) => other.put({ links: [link({ name: `P-${index}` })] })),
      ])
      expect(loaded.written).toBe(5_000)
      expect((await scanned(other)).length).toBe(5_050)
    })
  })

  describe('scan', () => {
    test('yields everything in order, in pages, from after a key', async () => {
      const links = ['b', 'a', '', '🚚', '\uffee', 'B'].flatMap((tenant) =>
        ['y', 'x', ''].flatMap((name) => [
          link({ tenant, name }),
          link({ tenant, name, kind: 'shipment', vin: 'V2' }),
          link({ tenant, name, kind: 'shipment', vin: 'V1' }),
        ]),
      )
      await store.load(links, { replace: false })
      const all = await scanned(store)
      expect(all.length).toBe(links.length)
      expect([...new Set(all.map(({ tenant }) => tenant))]).toEqual(['', 'B', 'a', 'b', '\uffee', '🚚'])
      expect(all.slice(9, 12).map(({ name, kind, vin }) => [name, kind, vin])).toEqual([
        ['', 'quote', ''],
        ['', 'shipment', 'V1'],
        ['', 'shipment', 'V2'],
      ])
      for (const [index, after] of all.entries()) {
        expect(await scanned(store, { after })).toEqual(all.slice(index + 1))
        const rest = all.slice(index + 1).filter(({ tenant }) => tenant === 'a')
        expect(await scanned(store, { after, tenant: 'a' })).toEqual(rest)
      }
      const between = { tenant: 'aa', name: 'x', kind: 'quote', vin: '', givenBy: 'caller' } as const
      expect(await scanned(store, { after: between })).toEqual(all.filter(({ tenant }) => tenant > 'a'))
    })

    test('continues while others write, and sees writes ahead of it', async () => {
      const many = Array.from({ length: 3_500 }, (_, index) => link({ name: `N-${1_000 + index}` }))
      await store.load(many, { replace: false })
      const seen: string[] = []
      for await (const page of store.scan({})) {
        if (seen.length === 0) await other.put({ links: [link({ name: 'Z-ahead' }), link({ name: 'A-behind' })] })
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
      const expected = { ...newClaim(), state: 'sending', version: 1, shipment: '', reply: '', ...times }
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
      const names = (id: string) => ({ links: [link({ id })], thing: thing({ id }) })
      const told = async () => [
        (await store.links('acme', link().name)).map(({ id }) => id),
        await store.findClaim('acme', 'REF-1'),
      ]
      const changed = await store.change(claim, change, names('S-1'))
      expect(changed).toMatchObject({ state: 'booked', version: 2 })
      expect(await told()).toEqual([['S-1'], changed])
      expect(await store.change(claim, change, names('S-2'))).toBeUndefined()
      expect(await told()).toEqual([['S-2'], changed])
      expect(await store.thing('acme', 'S-2')).toMatchObject({ id: 'S-2' })
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
      const { expiresInMs: _, ...given } = again
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
      ]
      for (const [filter, keys] of listed) expect(keysOf(await other.listClaims(filter))).toEqual(keys)
      expect(keysOf(await other.claimsOfShipment('acme', 'S-0'))).toEqual(['K-0'])
      expect(keysOf(await other.claimsOfShipment('other', 'S-0'))).toEqual(['K-3'])
      expect(await other.claimsOfShipment('acme', '')).toEqual([])
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
      const { doubtSince, ...given } = { ...newClaim(), doubtSince: 500 }
      const { won, claim } = await store.claim({ ...given, doubtSince })
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
            const links = [link({ tenant, name, id })]
            const claiming = store.claim(newClaim({ tenant, key: name, handle: `bk_${id}`, body: id }))
            return Promise.all([claiming, store.put({ links, thing: thing({ tenant, id: name, own: id }) })])
          }),
        )
        for (const [tenant, name] of pairs) {
          const id = JSON.stringify([tenant, name])
          expect((await store.links(tenant, name)).map((one) => one.id)).toEqual([id])
          expect((await store.thing(tenant, name))?.own).toBe(id)
          expect((await store.findClaim(tenant, name))?.body).toBe(id)
          const stranger = `${tenant}~`
          expect(await store.links(stranger, name)).toEqual([])
          expect(await store.thing(stranger, name)).toBeUndefined()
          expect(await store.findClaim(stranger, name)).toBeUndefined()
          for (const one of await scanned(store, { tenant })) expect(one.tenant).toBe(tenant)
          for (const one of await store.listClaims({ tenant })) expect(one.tenant).toBe(tenant)
        }
      }),
      { numRuns: runs(8, 15) },
    )
  })
}
