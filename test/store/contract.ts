import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Claim, type Store, StoreDown } from '../../src/store/store.ts'
import { runs } from '../size.ts'
import { link, newClaim, scanned, thing } from './samples.ts'

/** Opens one more store on the same database; the first of a place finds it empty. */
export type Place = () => Promise<Store>

/** What every engine keeps, whoever calls it and however many gateways share it. */
export function storeContract(engine: Store['engine'], newPlace: () => Promise<Place>): void {
  let store: Store
  let other: Store

  beforeEach(async () => {
    const open = await newPlace()
    store = await open()
    other = await open()
  })
  afterEach(async () => {
    await Promise.all([store.close(), other.close()])
  })

  test('says what it is and that it answers', () => {
    expect(store.engine).toBe(engine)
    expect(store.ready()).toBe(true)
  })

  test('rejects everything once closed', async () => {
    await Promise.all([store.close(), other.close()])
    await store.close()
    expect(store.ready()).toBe(false)
    await expect(store.put({ links: [link()] })).rejects.toThrow(StoreDown)
    await expect(store.links('acme', 'Q-1')).rejects.toThrow(StoreDown)
    await expect(store.claim(newClaim())).rejects.toThrow(StoreDown)
    await expect(scanned(store)).rejects.toThrow(StoreDown)
  })

  describe('links', () => {
    test('are found by tenant and name, the newest first', async () => {
      const old = link({ kind: 'shipment', vin: 'V1', id: 'old', at: 1 })
      const fresh = link({ kind: 'shipment', vin: 'V2', id: 'fresh', at: 3 })
      const quote = link({ id: 'quote', at: 2 })
      await store.put({ links: [fresh, old] })
      await store.put({ links: [quote] })
      expect(await store.links('acme', 'Q-1')).toEqual([fresh, quote, old])
      expect(await store.links('acme', 'q-1')).toEqual([])
      expect(await store.links('other', 'Q-1')).toEqual([])
    })

    test('of the same age stand in the order of their writing, the later first', async () => {
      const a = link({ vin: 'A', kind: 'shipment' })
      const b = link({ vin: 'B', kind: 'shipment' })
      const c = link({ vin: 'C', kind: 'shipment' })
      await store.put({ links: [a, b] })
      await store.put({ links: [c] })
      expect(await store.links('acme', 'Q-1')).toEqual([c, b, a])
      await store.put({ links: [a] })
      expect(await store.links('acme', 'Q-1')).toEqual([a, c, b])
    })

    test('are replaced by what is written later, whatever the clocks say, and their time never goes back', async () => {
      await store.put({ links: [link({ id: 'first', at: 5 })] })
      await store.put({ links: [link({ id: 'second', at: 4 })] })
      expect(await store.links('acme', 'Q-1')).toEqual([link({ id: 'second', at: 5 })])
      await store.put({ links: [link({ id: 'third', at: 6 }), link({ id: 'fourth', at: 2 })] })
      expect(await store.links('acme', 'Q-1')).toEqual([link({ id: 'fourth', at: 6 })])
    })

    test('may be put twice', async () => {
      const write = { links: [link(), link({ kind: 'shipment' })], thing: thing() }
      await store.put(write)
      const once = await store.links('acme', 'Q-1')
      await store.put(write)
      expect(await store.links('acme', 'Q-1')).toEqual(once)
      expect(await store.thing('acme', 'id-1')).toEqual(thing())
    })

    test('keep any text but what no database keeps', async () => {
      const names = [
        "Robert'); DROP TABLE links;--",
        '__proto__',
        ' spaced ',
        'ÄÖ 漢字 🚚',
        'line\nbreak',
        '',
        '%',
        '\\',
      ]
      await store.put({ links: names.map((name) => link({ name, id: name })) })
      for (const name of names) expect(await store.links('acme', name)).toEqual([link({ name, id: name })])
      await expect(store.put({ links: [link({ name: 'a\0b' })] })).rejects.toThrow(RangeError)
      await expect(store.put({ links: [link({ name: '\ud800' })] })).rejects.toThrow(RangeError)
      expect(await store.links('acme', 'a\0b')).toEqual([])
      expect(await store.links('acme', '\ud800')).toEqual([])
    })

    test('written by many at once are all there', async () => {
      const names = Array.from({ length: 300 }, (_, index) => `N-${index % 100}`)
      await Promise.all(
        names.map((name, index) => {
          const id = `id-${index}`
          const [one, another] = index % 2 === 0 ? [store, other] : [other, store]
          return one
            .put({
              links: [link({ name, id, at: index }), link({ name: `again ${name}`, id, at: index })],
              thing: thing({ id }),
            })
            .then(async () => expect((await another.links('acme', name)).length).toBe(1))
        }),
      )
      const all = await scanned(store)
      expect(all.length).toBe(200)
      expect(all.every(({ id }) => Number(id.slice(3)) >= 200)).toBe(true)
    })
  })

  describe('things', () => {
    test('are found by id, with their facts, and replaced', async () => {
      expect(await store.thing('acme', 'id-1')).toBeUndefined()
      await store.put({ links: [], thing: thing() })
      expect(await store.thing('acme', 'id-1')).toEqual(thing())
      const later = thing({ own: '', facts: { note: 'a\0b \ud800 "quoted"', n: -0.5 }, at: 1 })
      await store.put({ links: [], thing: later })
      expect(await store.thing('acme', 'id-1')).toEqual(later)
      await store.put({ links: [], thing: thing({ facts: null }) })
      expect(await store.thing('acme', 'id-1')).toEqual(thing({ facts: null }))
    })

    test('lose old facts, and nothing else', async () => {
      const things = Array.from({ length: 2_500 }, (_, index) => thing({ id: `id-${index}`, at: index }))
      await Promise.all(things.map((one) => store.put({ links: [link({ name: one.id, id: one.id })], thing: one })))
      expect((await other.thing('acme', 'id-7'))?.facts).toEqual(thing().facts)
      expect(await store.forget(2_400)).toBe(2_400)
      expect(await store.forget(2_400)).toBe(0)
      expect(await store.thing('acme', 'id-2399')).toEqual(thing({ id: 'id-2399', at: 2_399, facts: null }))
      expect(await store.thing('acme', 'id-2400')).toEqual(thing({ id: 'id-2400', at: 2_400 }))
      expect(await store.links('acme', 'id-7')).toEqual([link({ name: 'id-7', id: 'id-7' })])
    })
  })

  describe('load', () => {
    test('writes what is new, counts what stands there, lists what differs', async () => {
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

    test('replaces what differs if told to, even what is newer', async () => {
      await store.put({ links: [link({ id: 'x', at: 5 })] })
      const asked = [link({ id: 'y', at: 4 }), link({ id: 'y', at: 9 }), link({ id: 'z', at: 3 }), link({ name: 'n' })]
      expect(await store.load(asked, { replace: true })).toEqual({ written: 3, same: 1, conflicts: [] })
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
      expect(await scanned(store, { tenant: 'nobody' })).toEqual([])
      expect(await scanned(store, { after: { tenant: 'aa', name: 'x', kind: 'quote', vin: '' } })).toEqual(
        all.filter(({ tenant }) => ['b', '\uffee', '🚚'].includes(tenant)),
      )
    })

    test('goes on while others write, and sees what is written ahead of it', async () => {
      const many = Array.from({ length: 3_500 }, (_, index) => link({ name: `N-${1_000 + index}` }))
      await store.load(many, { replace: false })
      const seen: string[] = []
      for await (const page of store.scan({})) {
        if (seen.length === 0) await other.put({ links: [link({ name: 'Z-ahead' }), link({ name: 'A-behind' })] })
        seen.push(...page.map(({ name }) => name))
      }
      expect(seen.filter((name) => name.startsWith('N-'))).toEqual(many.map(({ name }) => name))
      expect(seen).not.toContain('A-behind')
      if (engine !== 'memory') expect(seen).toContain('Z-ahead')
    })
  })

  describe('claims', () => {
    test('are won once, and the loser learns of the winner', async () => {
      const first = await store.claim(newClaim())
      const { expires, createdAt, ...given } = newClaim()
      const expected = {
        ...given,
        state: 'sending',
        version: 1,
        shipment: '',
        reply: '',
        expires,
        createdAt,
        changedAt: 1_000,
      }
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
        const winners = results.filter(({ won }) => won)
        expect(winners.length).toBe(1)
        expect(new Set(results.map(({ claim }) => claim.instance))).toEqual(new Set([winners[0]?.claim.instance]))
        expect((await store.audit(`bk_acme_${key}`)).length).toBe(1)
      }
    })

    test('change by compare-and-set, once for each version', async () => {
      const { claim } = await store.claim(newClaim({ expires: 77 }))
      const booked = { state: 'booked', instance: 'gateway-2', at: 2_000, why: 'answered 201' } as const
      const change = { ...booked, shipment: 'S-1', reply: '{"a":1}' }
      const changed = await other.change(claim, change)
      const { why, at, ...set } = change
      expect(changed).toEqual({ ...claim, ...set, version: 2, changedAt: at })
      expect(await store.change(claim, change)).toBeUndefined()
      expect(await store.change({ ...claim, key: 'none' }, change)).toBeUndefined()
      expect(await store.findClaim('acme', 'REF-1')).toEqual(changed)
      const freed = await store.change({ ...claim, version: 2 }, { ...booked, state: 'freed', expires: 5, at: 3_000 })
      expect(freed).toEqual({ ...changed, state: 'freed', expires: 5, version: 3, changedAt: 3_000 })
      const racing = Array.from({ length: 50 }, (_, index) =>
        (index % 2 === 0 ? store : other).change({ ...claim, version: 3 }, { ...booked, at: 4_000 + index }),
      )
      expect((await Promise.all(racing)).filter((one) => one !== undefined).length).toBe(1)
      expect(why).toBe('answered 201')
    })

    test.each([
      { state: 'sending', expires: 10, free: false },
      { state: 'unknown', expires: 10, free: false },
      { state: 'booked', expires: 0, free: false },
      { state: 'booked', expires: 5_001, free: false },
      { state: 'booked', expires: 5_000, free: true },
      { state: 'refused', expires: 0, free: true },
      { state: 'freed', expires: 0, free: true },
    ] as const)('that are $state (expires $expires) may be taken again: $free', async ({ state, expires, free }) => {
      const { claim } = await store.claim(newClaim())
      const change = { state, expires, instance: 'gateway-1', at: 2_000, why: 'test', shipment: 'S-1', reply: '{}' }
      const before = await store.change(claim, change)
      const again = newClaim({ handle: 'bk_again', body: 'new', createdAt: 5_000, expires: 9 })
      const results = await Promise.all([other.claim(again), store.claim(again), other.claim(again)])
      expect(results.filter(({ won }) => won).length).toBe(free ? 1 : 0)
      const standing = await store.findClaim('acme', 'REF-1')
      for (const result of results) expect(result.claim).toEqual(standing)
      if (!free) return expect(standing).toEqual(before)
      const fresh = { state: 'sending', version: 3, shipment: '', reply: '', changedAt: 5_000 }
      expect(standing).toEqual({ ...again, ...fresh })
      expect((await store.audit('bk_again')).map(({ from, to }) => [from, to])).toEqual([[state, 'sending']])
      expect(await store.claimByHandle('bk_acme_REF-1')).toBeUndefined()
      expect(await store.change({ ...claim, version: 2 }, change)).toBeUndefined()
    })

    test('keep a handle to themselves', async () => {
      await store.claim(newClaim())
      const [taken, neighbour] = await Promise.allSettled([
        store.claim(newClaim({ key: 'REF-2', handle: 'bk_acme_REF-1' })),
        store.claim(newClaim({ key: 'REF-3' })),
      ])
      expect(taken.status).toBe('rejected')
      expect(taken).not.toMatchObject({ reason: { name: 'StoreDown' } })
      expect(neighbour).toMatchObject({ status: 'fulfilled', value: { won: true } })
      expect(await store.findClaim('acme', 'REF-2')).toBeUndefined()
    })

    test('are listed by state and tenant, the oldest first, and by shipment', async () => {
      for (const [index, tenant] of ['acme', 'other', 'acme', 'other'].entries()) {
        const { claim } = await store.claim(newClaim({ tenant, key: `K-${index}`, createdAt: 10 - index }))
        const state = index < 2 ? 'unknown' : 'booked'
        await store.change(claim, { state, instance: 'g', at: 20, why: 'test', shipment: `S-${index % 3}` })
      }
      const keys = (claims: readonly Claim[]) => claims.map(({ key }) => key)
      expect(keys(await other.listClaims({}))).toEqual(['K-3', 'K-2', 'K-1', 'K-0'])
      expect(keys(await other.listClaims({ limit: 2 }))).toEqual(['K-3', 'K-2'])
      expect(keys(await other.listClaims({ state: 'unknown' }))).toEqual(['K-1', 'K-0'])
      expect(keys(await other.listClaims({ tenant: 'acme' }))).toEqual(['K-2', 'K-0'])
      expect(keys(await other.listClaims({ tenant: 'acme', state: 'unknown', limit: 1 }))).toEqual(['K-0'])
      expect(keys(await other.listClaims({ state: 'freed' }))).toEqual([])
      expect(keys(await other.claimsOfShipment('acme', 'S-0'))).toEqual(['K-0'])
      expect(keys(await other.claimsOfShipment('other', 'S-0'))).toEqual(['K-3'])
      expect(await other.claimsOfShipment('acme', '')).toEqual([])
    })

    test('leave a trail', async () => {
      const { claim } = await store.claim(newClaim())
      await other.change(claim, { state: 'unknown', instance: 'gateway-2', at: 2_000, why: 'timed out' })
      await store.change({ ...claim, version: 2 }, { state: 'freed', instance: 'operator', at: 3_000, why: 'settled' })
      expect(await other.audit(claim.handle)).toEqual([
        { at: 1_000, from: 'none', to: 'sending', instance: 'gateway-1', why: 'claimed' },
        { at: 2_000, from: 'sending', to: 'unknown', instance: 'gateway-2', why: 'timed out' },
        { at: 3_000, from: 'unknown', to: 'freed', instance: 'operator', why: 'settled' },
      ])
      expect(await other.audit('bk_none')).toEqual([])
    })

    test('of a silent gateway become unknown, those of a living one never', async () => {
      const LONG_MS = 60_000
      await store.beat('alive')
      await other.beat('left')
      const claims = await Promise.all(
        ['alive', 'left', 'never heard of'].map((instance) => store.claim(newClaim({ key: instance, instance }))),
      )
      const booked = await store.claim(newClaim({ key: 'booked', instance: 'left' }))
      await store.change(booked.claim, { state: 'booked', instance: 'left', at: 2_000, why: 'answered 201' })
      expect((await other.orphan(LONG_MS, 'by')).map(({ key }) => key)).toEqual(['never heard of'])
      await store.leave('left')
      const [first, second] = await Promise.all([other.orphan(LONG_MS, 'by'), store.orphan(LONG_MS, 'by')])
      expect([...first, ...second].map(({ key }) => key)).toEqual(['left'])
      const left = await store.findClaim('acme', 'left')
      expect(left).toMatchObject({ state: 'unknown', version: 2, instance: 'by' })
      expect((await store.audit('bk_acme_left')).map(({ to }) => to)).toEqual(['sending', 'unknown'])
      expect(await store.findClaim('acme', 'alive')).toEqual(claims[0]?.claim)
      expect((await other.orphan(0, 'by')).map(({ key }) => key)).toEqual(['alive'])
      expect(await other.orphan(0, 'by')).toEqual([])
    })
  })

  test('never shows one tenant what another wrote', async () => {
    // Short texts of few letters, so that a tenant and a name run together into another pair.
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
        for (const [tenant, name] of [...pairs, ...pairs]) {
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
      { numRuns: runs(8, 30) },
    )
  })
}
