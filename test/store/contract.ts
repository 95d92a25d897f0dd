import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { changed, newlyClaimed } from '../../src/outside/store/claim.ts'
import type { NewEvent } from '../../src/outside/store/events.ts'
import {
  type ClaimChange,
  type ClaimState,
  LockTimeout,
  type NewClaim,
  type Store,
  StoreDown,
} from '../../src/outside/store/store.ts'
import { runs } from '../size.ts'
import type { Place } from './places.ts'
import {
  batch,
  callsOf,
  named,
  newClaim,
  newEvent,
  newName,
  quote,
  SAMPLE_TIME,
  scanned,
  shipment,
  usedName,
} from './samples.ts'

/** Longer than any test runs. */
const LONG_MS = 60_000
const IMPATIENT_MS = 150

/** Returns the results of many concurrent calls to two stores in turn. */
const atOnce = <T>(many: number, stores: readonly [Store, Store], call: (store: Store, nth: number) => Promise<T>) =>
  Promise.all(Array.from({ length: many }, (_, nth) => call(stores[nth % 2 === 0 ? 0 : 1], nth)))

/** Tests the promises of an engine for concurrent calls to two stores on one database; `model.ts` tests successive calls. */
export function storeContract(engine: Store['engine'], newPlace: () => Promise<Place>): void {
  let place: Place
  let store: Store
  let other: Store
  let both: readonly [Store, Store]

  beforeEach(async () => {
    place = await newPlace()
    store = await place.open()
    other = await place.open()
    both = [store, other]
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
    // Each gets the same arguments, because it no longer reads them.
    const { engine: _, ready, now, close, scan, ...verbs } = closing
    for (const [name, verb] of Object.entries<(...args: never[]) => Promise<unknown>>(verbs)) {
      await expect(verb(...([named(), 1_000, async () => {}] as never[])), name).rejects.toThrow(StoreDown)
    }
    await fresh.close()
  })

  test.each(['\0', 'a\0b', '\ud800'])('a look for %j, which no name has, finds nothing', async (text) => {
    await store.put({ names: [named({ name: 'a' })], quote: quote({ id: 'a' }) })
    const found = await Promise.all([
      store.named('acme', text),
      store.named(text, 'a'),
      store.claimsOfReference(text, 'a'),
      store.listClaims({ tenant: text }),
      store.listEvents({ tenant: text }),
      store.quote('acme', text),
      store.shipment('acme', text),
      store.findClaim(text, 'a'),
      store.claimByHandle(text),
      store.findEvent(text),
    ])
    expect(await store.countClaims(1, text)).toHaveProperty('booked', 0)
    expect(found.flat()).toEqual(Array(5).fill(undefined))
  })

  test("never shows a tenant another tenant's data", async () => {
    const text = " ÄÖ 漢字 🚚'); DROP TABLE names;--\n%\\ "
    const tenants = { a: text, b: text, ab: 'c', abc: '', '': 'abc' }
    for (const [tenant, name] of Object.entries(tenants)) {
      await store.claim(newClaim({ tenant, key: name, handle: `bk_${tenant}`, body: tenant }))
      await store.put({ names: [named({ tenant, name, id: tenant })], quote: quote({ tenant, id: name, own: tenant }) })
    }
    for (const [tenant, name] of Object.entries({ ...tenants, stranger: text })) {
      const claims = [await store.findClaim(tenant, name), ...(await store.listClaims({ tenant }))]
      const names = [...(await store.named(tenant, name)), ...(await scanned(store, { tenant }))]
      const found = [...claims.map((one) => one?.body), ...names.map(({ id }) => id)]
      expect([...found, (await other.quote(tenant, name))?.own]).toEqual(
        tenant === 'stranger' ? [undefined, undefined] : Array(5).fill(tenant),
      )
    }
  })

  describe('names', () => {
    test('written by many at once are all stored, the later of a name, and each reader gets its own', async () => {
      await atOnce(300, both, async (one, index) => {
        const another = one === store ? other : store
        const [name, own, id] = [`N-${index % 100}`, `${index % 3}`, `${index}`]
        await one.put({ names: [named({ name, id })], quote: quote({ id, own }), shipment: shipment({ id, own }) })
        const [found, written, made] = await Promise.all([
          another.named('acme', name),
          another.quote('acme', id),
          another.shipment('acme', id),
          another.named('acme', `none-${index}`),
        ])
        expect(found).toMatchObject([{ name }])
        expect([written?.own, made?.own, written?.id, made?.id]).toEqual([own, own, id, id])
      })
      const all = await scanned(store)
      expect(all).toHaveLength(100)
      expect(all.every(({ id }) => Number(id) >= 200)).toBe(true)
    })

    test('of quotes and shipments that are written in parts at once have all parts', async () => {
      const key = { tenant: 'acme', id: 'id-1' }
      await Promise.all([
        store.put({ quote: { ...key, own: 'W-1', names: [], facts: { a: 1 } } }),
        store.put({ quote: { ...key, price: '1.00' }, shipment: { ...key, own: 'W-1' } }),
        store.put({ quote: { ...key, approval: 'sent' }, shipment: { ...key, state: 'canceled' } }),
      ])
      const written = { own: 'W-1', facts: { a: 1 }, price: '1.00', approval: 'sent' } as const
      expect(await other.quote('acme', 'id-1')).toEqual(quote(written))
      expect(await other.shipment('acme', 'id-1')).toEqual(shipment({ own: 'W-1', state: 'canceled' }))
      await store.put({ shipment: { ...key, quote: 'id-1', at: 7 } })
      expect((await other.shipment('acme', 'id-1'))?.at).toBe(7)
    })

    test('lead to the approvals that were noted with them and are not taken back, the last one first, each once', async () => {
      const of = (id: string) => ({ tenant: 'acme', id })
      await store.put({ quote: { ...of('id-3'), own: 'Q-1' } })
      const long = 'Q'.repeat(500)
      for (const id of ['id-3', 'id-2', 'id-3']) await store.noteApproval(of(id), ['Q-1', id, long])
      await store.noteApproval(of('id-1'), ['Q-1'])
      await store.noteApproval({ tenant: 'other', id: 'id-4' }, ['Q-1'])
      await store.put({ quote: { ...of('id-1'), approval: '' } })
      expect(await other.quote('acme', 'id-2')).toMatchObject({ approval: 'sent' })
      const noted = await other.approvals('acme', ['Q-1', 'none'])
      const [two, three] = [
        { quote: 'id-2', own: '' },
        { quote: 'id-3', own: 'Q-1' },
      ]
      expect(noted).toEqual([two, three].map((one) => ({ name: 'Q-1', ...one })))
      expect(await other.approvals('acme', ['id-2'])).toEqual([{ name: 'id-2', ...two }])
      expect(await other.approvals('acme', [long])).toMatchObject([{ name: long }, { name: long }])
    })

    test('lead to the approval of a quote that had them and got them after it, once a newer quote has them', async () => {
      const of = (id: string) => ({ tenant: 'acme', id })
      await store.noteApproval(of('id-1'), [])
      for (const id of ['id-1', 'id-1', 'id-2', 'id-3']) await store.put({ names: [newName({ id })], quote: of(id) })
      expect(await other.approvals('acme', [newName().name])).toMatchObject([{ quote: 'id-1' }])
    })

    test('of a quote are kept if it is written again with others, also at the same time', async () => {
      const write = (...names: readonly string[]) => store.put({ quote: { tenant: 'acme', id: 'id-1', names } })
      await write('O-1', 'Q-1')
      await Promise.all([write('Q-2'), write('Q-3', 'O-1'), store.put({ quote: { tenant: 'acme', id: 'id-1' } })])
      const { names } = (await other.quote('acme', 'id-1')) ?? {}
      expect(names?.toSorted()).toEqual(['O-1', 'Q-1', 'Q-2', 'Q-3'])
    })

    test('of a quote that is written with ever others, at the same time, do not fill its row', async () => {
      const written = Array.from({ length: 40 }, (_, nth) => ({
        tenant: 'acme',
        id: 'id-1',
        names: [`${nth}`.padEnd(4_000, '-')],
      }))
      await Promise.all(written.map((one) => store.put({ quote: one })))
      expect((await other.quote('acme', 'id-1'))?.names.join('').length).toBeLessThan(20_000)
    })

    test('of the caller come before those of the service, then the newest, and none replaces another', async () => {
      const callers = named({ kind: 'shipment', name: '1001', id: 'mine', at: 1 })
      const services = { ...callers, id: 'theirs', givenBy: 'service', at: 9 } as const
      const newer = { ...callers, id: 'newer', at: 5 }
      const quoted = { ...services, kind: 'quote', id: 'quoted', at: 7 } as const
      for (const one of [services, callers, newer, services, quoted]) await store.put({ names: [one] })
      expect((await other.named('acme', '1001')).map(({ id }) => id)).toEqual(['newer', 'mine', 'theirs', 'quoted'])
      // Of two with the same age, the later write is the newer one, even if they arrive at once.
      await Promise.all(['one', 'two', 'one'].map((id) => store.put({ names: [named({ ...newer, name: 'N', id })] })))
      expect((await other.named('acme', 'N')).map(({ id }) => id)).toEqual(['one', 'two'])
    })

    test('that are loaded are written, already present, or listed with the one that they differ from', async () => {
      const loaded = (name: string, id: string) => ({ ...named({ name, id }), vin: '' })
      const name = 'differs'.repeat(99)
      const before = [loaded('same', 'x'), loaded(name, 'x')]
      expect((await store.load(before, { replace: false })).written).toBe(2)
      const [differs, twice] = [loaded(name, 'y'), loaded('new', 'z')]
      const asked = [loaded('new', 'y'), loaded('same', 'x'), differs, loaded('new', 'y'), twice]
      expect(await store.load(asked, { replace: false })).toEqual({
        written: 1,
        same: 2,
        conflicts: [
          { asked: differs, found: named({ name, id: 'x' }) },
          { asked: twice, found: named({ name: 'new', id: 'y' }) },
        ],
      })
      expect(await other.load([differs], { replace: true })).toEqual({ written: 1, same: 0, conflicts: [] })
      const dated = (id: string, at?: number) => ({ ...loaded('dated', id), at })
      const replacing = async (...names: ReturnType<typeof dated>[]) => {
        await store.load(names, { replace: true })
        return (await other.named('acme', 'dated')).map(({ id }) => id)
      }
      expect(await replacing(dated('newest', 9), dated('old', 1), dated('older', 0))).toEqual(['newest'])
      expect(await replacing(dated('one', 7), dated('two', 7), dated('old', 6))).toEqual(['two'])
      expect(await replacing(dated('of now'), dated('old', 8))).toEqual(['of now'])
    })

    test('are loaded by thousands while others write; a scan continues, sees writes ahead of it, and begins anywhere', async () => {
      const many = Array.from({ length: 3_500 }, (_, nth) => ({ ...named({ name: `N-${1_000 + nth}` }), vin: '' }))
      const [load] = await Promise.all([
        store.load(many, { replace: false }),
        atOnce(50, both, (one, nth) => one.put({ names: [named({ name: `P-${nth}` })] })),
      ])
      expect(load).toMatchObject({ written: 3_500, same: 0 })
      const seen: string[] = []
      for await (const page of store.scan({})) {
        if (seen.length === 0) await other.put({ names: [named({ name: 'Z-ahead' }), named({ name: 'A-behind' })] })
        seen.push(...page.map(({ name }) => name))
      }
      expect(seen).toHaveLength(3_551)
      expect(seen.slice(0, 3_500)).toEqual(many.map(({ name }) => name))
      expect(seen.at(-1)).toBe('Z-ahead')
      await store.put({ names: [named({ tenant: 'acme2' })] })
      const after = named({ name: 'P-9' })
      expect(await scanned(store, { after, tenant: 'acme' })).toMatchObject([{ name: 'Z-ahead' }])
      expect(await scanned(store, { after })).toMatchObject([{ name: 'Z-ahead' }, { tenant: 'acme2' }])
    })
  })

  describe('claims', () => {
    test('have one winner among 200 callers of two gateways', async () => {
      for (let round = 0; round < 5; round += 1) {
        const key = `race-${round}`
        const results = await atOnce(200, both, (one, nth) => one.claim(newClaim({ key, instance: `caller-${nth}` })))
        const [winner, ...others] = results.filter(({ won }) => won)
        expect(others).toEqual([])
        for (const { claim } of results) expect(claim).toEqual(winner?.claim)
        expect((await store.audit(`bk_acme_${key}`)).length).toBe(1)
      }
    })

    test('change once for each version, however many try; their time begins when they are booked', async () => {
      const { claim } = await store.claim(newClaim({ expiresInMs: 77 }))
      const why = 'settled by "Zoë",\n[2]'
      await place.setClock(1_500)
      const unknown = await store.change(claim, { state: 'unknown', instance: 'g', why })
      await place.setClock(2_000)
      const changes = await atOnce(50, both, (one) =>
        one.change(unknown ?? claim, { state: 'booked', instance: 'g', why }),
      )
      const [booked = expect.fail('no winner'), ...others] = changes.filter((one) => one !== undefined)
      expect(others).toEqual([])
      expect(await other.audit(claim.handle)).toMatchObject([
        { to: 'sending' },
        { to: 'unknown' },
        { to: 'booked', why },
      ])
      const freed = await other.change(booked, { state: 'freed', instance: 'g', why })
      expect([unknown?.expires, booked.expires, freed?.expires]).toEqual([1_077, 2_077, 1_077])
    })

    test('have in every column what a claim and each change of it decide', async () => {
      const wanted = newClaim({ expiresInMs: 77 })
      let { claim } = await store.claim(wanted)
      expect(claim).toEqual(newlyClaimed(wanted, undefined, SAMPLE_TIME))
      const to = (state: ClaimState, more: Partial<ClaimChange> = {}) => ({
        state,
        instance: state,
        why: 'said so',
        ...more,
      })
      const changes = [
        to('unknown'),
        to('booked', { shipment: 's-1', reply: '{}' }),
        to('unknown', { shipment: '', reply: '' }),
        to('refused'),
        to('freed'),
      ]
      for (const [nth, change] of changes.entries()) {
        const at = SAMPLE_TIME + nth + 1
        await place.setClock(at)
        const after = await store.change(claim, change)
        expect(after, change.state).toEqual(changed(claim, change, at))
        claim = (await other.findClaim('acme', 'REF-1')) ?? expect.fail('it is gone')
        expect(claim).toEqual(after)
      }
      await place.setClock(SAMPLE_TIME + 9)
      const again = newClaim({ doubtSince: SAMPLE_TIME + 2, body: 'other' })
      expect((await store.claim(again)).claim).toEqual(newlyClaimed(again, claim, SAMPLE_TIME + 9))
      expect(await other.findClaim('acme', 'REF-1')).toEqual(newlyClaimed(again, claim, SAMPLE_TIME + 9))
    })

    test('keep a handle to themselves', async () => {
      await store.claim(newClaim())
      const [taken, neighbor] = await Promise.allSettled([
        store.claim(newClaim({ key: 'REF-2', handle: 'bk_acme_REF-1' })),
        store.claim(newClaim({ key: 'REF-3' })),
      ])
      expect(taken).not.toMatchObject({ reason: { name: 'StoreDown' } })
      expect(taken).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/handle/) } })
      expect(neighbor).toMatchObject({ status: 'fulfilled', value: { won: true } })
      expect(await store.findClaim('acme', 'REF-2')).toBeUndefined()
    })

    test('keep their gateway as long as its lease is renewed in time', async () => {
      expect(await store.renewLease('alive', LONG_MS)).toBe(false)
      expect(await other.renewLease('alive', LONG_MS)).toBe(true)
      expect(await store.renewLease('another', LONG_MS)).toBe(false)
      // The previous renewal is too old, so another gateway may consider its claims abandoned.
      expect(await store.renewLease('alive', 0)).toBe(false)
      await store.endLease('alive')
      expect(await store.renewLease('alive', LONG_MS)).toBe(false)
    })

    test('of a silent gateway become unknown, those of a living one never', async () => {
      await store.renewLease('alive', LONG_MS)
      await other.renewLease('left', LONG_MS)
      for (const instance of ['alive', 'left', 'never heard of']) {
        await store.claim(newClaim({ key: instance, instance }))
      }
      const booked = await store.claim(newClaim({ key: 'booked', instance: 'left' }))
      await store.change(booked.claim, { state: 'booked', instance: 'left', why: 'answered 201' })
      const orphans = async (by: Store, silentForMs: number) =>
        (await by.orphanClaims(silentForMs, 'by')).map(({ key }) => key)
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
    let handles = 0
    const claim = (by: Store, reference: string, given: Partial<NewClaim> = {}) => {
      handles += 1
      const handle = `bk_${handles}`
      return by.claim(newClaim({ isOfReference: true, key: reference, reference, handle, ...given }))
    }
    const book = async (reference: string, given: Partial<NewClaim>, state: ClaimState) => {
      const change = { state, instance: 'g', why: 'made', shipment: `s-${handles}` }
      return store.change((await claim(store, reference, given)).claim, change)
    }

    test('name the one with the same body, or otherwise an open one, or otherwise the newest', async () => {
      const told: string[] = []
      for (const [at, vin, state] of [
        [1_000, 'V1', 'booked'],
        [2_000, 'V2', 'booked'],
        [500, 'V3', 'unknown'],
      ] as const) {
        await place.setClock(at)
        await book('REF-1', { vin, body: vin }, state)
        for (const body of ['another', 'V1']) told.push((await claim(other, 'REF-1', { body })).claim.vin)
      }
      await claim(store, 'REF-1', { vin: 'V4' })
      expect([...told, (await claim(other, 'REF-1', { body: 'another' })).claim.vin]).toEqual([
        'V1',
        'V1',
        'V2',
        'V1',
        'V3',
        'V1',
        'V4',
      ])
    })

    test('have one winner among two gateways that spell one vehicle with and without its VIN', {
      timeout: 120_000,
    }, async () => {
      const vehicle = JSON.stringify({ year: '2020', make: 'FORD', model: 'TRANSIT' })
      const kinds = [{ vin: 'V1', vehicle }, { vehicle }, { vin: 'V1' }, { vin: 'V2', vehicle }]
      const rounds = runs(100, 400)
      for (let round = 0; round < rounds; round += 1) {
        const key = `race-${round}`
        // In some rounds there is already a claim of another vehicle, or a free one.
        const before = [undefined, { vin: 'OLD' }, { vin: 'OLD' }, { vehicle }][round % 4]
        if (before) await book(key, before, round % 4 === 1 ? 'booked' : 'freed')
        const isOther = round % 8 > 3
        const many = isOther ? 7 : 6
        const results = await atOnce(many, both, (one, nth) => claim(one, key, kinds[nth === 6 ? 3 : nth % 3]))
        const won = results.flatMap(({ won, claim }) => (won ? [claim.vin] : [])).sort()
        // With another VIN, the first claim decides whether the others, which have none, are for its vehicle.
        const isOneVehicle = won.length === 1 || (isOther && won.join() === 'V1,V2')
        expect(isOneVehicle, `${round}: ${won}`).toBe(true)
      }
    })
  })

  describe('locks', () => {
    test('let one work at a time, in any store, and within one store in the order of the requests', async () => {
      let running = 0
      const order: number[] = []
      const results = await atOnce(24, both, (one, nth) =>
        one.exclusive('key', LONG_MS, async (isHeld) => {
          running += 1
          await pause(2)
          expect([running, isHeld()]).toEqual([1, true])
          running -= 1
          order.push(nth)
          return nth
        }),
      )
      for (const isOf of [0, 1].map((rest) => (nth: number) => nth % 2 === rest))
        expect(order.filter(isOf)).toEqual(results.filter(isOf))
    })

    test('are waited for up to the given time, in this process and another, until work ends or fails; other keys are free', async () => {
      const held = Promise.withResolvers<void>()
      const letGo = Promise.withResolvers<void>()
      const first = store.exclusive('key', LONG_MS, () => {
        held.resolve()
        return letGo.promise
      })
      await held.promise
      for (const key of ['', "'; --", 'acme\nid-1', '🚚']) {
        for (const one of both) expect(await one.exclusive(key, LONG_MS, async () => key)).toBe(key)
      }
      let ran = false
      const work = async () => {
        ran = true
      }
      const late = await Promise.allSettled(both.map((one) => one.exclusive('key', IMPATIENT_MS, work)))
      for (const result of late) expect(result).toMatchObject({ status: 'rejected', reason: expect.any(LockTimeout) })
      const patient = other.exclusive('key', LONG_MS, async () => 'done')
      letGo.reject(new Error('no such thing'))
      await expect(first).rejects.toThrow('no such thing')
      expect(await patient).toBe('done')
      expect(ran).toBe(false)
    })
  })

  describe('events', () => {
    const DELIVERED = { state: 'delivered', outcome: 'answered 200' } as const
    const take = (given: Partial<NewEvent> = {}) => store.takeEvent(newEvent(given))
    const lease = (limit = 10, by = store, instance = '') => by.leaseEvents('acme', limit, LONG_MS, instance)

    test('are stored once, however many stores take them at once', async () => {
      const taken = await atOnce(20, both, (one, nth) => one.takeEvent(newEvent({ payload: `${nth}` })))
      expect(taken.filter((one) => one.taken)).toHaveLength(1)
      expect(await store.listEvents({})).toMatchObject([{ id: taken[0]?.id }])
    })

    test('are leased by one of several stores', async () => {
      await atOnce(20, both, (_, nth) => take({ shipment: `s-${nth}` }))
      const leased = (await atOnce(8, both, (one) => lease(5, one))).flat()
      expect(leased).toHaveLength(20)
      expect(new Set(leased.map(({ shipment }) => shipment)).size).toBe(20)
    })

    test('of a dead gateway are leased again at once', async () => {
      for (const shipment of ['s-1', 's-2', 's-3']) await take({ shipment })
      for (const instance of ['gone', 'alive']) await store.renewLease(instance, LONG_MS)
      const [lost = expect.fail('nothing is due')] = await lease(1, store, 'gone')
      await lease(1, store, 'alive')
      await lease(1)
      expect(await lease(10, other)).toEqual([])
      await other.endLease('gone')
      expect(await other.tenantsWithDue(['acme'])).toEqual(['acme'])
      expect(await lease(10, other)).toMatchObject([{ id: lost.id }])
      expect(await store.finishTry(lost, DELIVERED)).toBe(false)
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
    test('of many gateways at once are exact, each batch once, with 50 unknown names, 10 agents and the others as one', async () => {
      const GATEWAYS = 8
      const BATCHES = 10
      const KINDS = { unknown: 50, agent: 10 } as const
      const kinds = Object.entries(KINDS) as ['unknown' | 'agent', number][]
      const known = kinds.map(([kind]) => usedName({ kind, action: '', name: 'known' }))
      await store.addCounts(batch(1, { instance: 'first', names: known }))
      await atOnce(GATEWAYS, both, async (one, gateway) => {
        for (let no = 1; no <= BATCHES; no += 1) {
          const names = kinds.flatMap(([kind]) =>
            Array.from({ length: 12 }, (_, i) => usedName({ kind, action: '', name: `F${gateway}-${no}-${i}` })),
          )
          const counts = batch(no, { instance: `${gateway}`, calls: [callsOf()], names: [...known, ...names] })
          // Sent again because its receipt was lost.
          for (const to of both) await to.addCounts(counts)
          await one.addCounts(counts)
        }
      })
      const all = GATEWAYS * BATCHES
      expect(await store.callCounts(['acme'], 0)).toEqual([callsOf({ calls: all })])
      const found = await other.nameCounts('acme')
      for (const [kind, most] of kinds) {
        const names = found.filter((count) => count.kind === kind)
        expect(names).toHaveLength(most + 1)
        expect(names.reduce((sum, { count }) => sum + count, 0)).toBe(1 + all * 13)
        expect(names.find(({ name }) => name === 'known')?.count).toBe(1 + all)
      }
      // The limit applies to each tenant.
      await store.addCounts(batch(9, { names: [usedName({ kind: 'agent', name: 'x', tenant: 'other' })] }))
      expect(await store.nameCounts('other')).toMatchObject([{ name: 'x' }])
    })

    test('list the tenants with their interfaces, a thousand at once and then the ones after them', async () => {
      const uses = Array.from({ length: 750 }, (_, no) =>
        ['version-1', 'version-2'].map((name) =>
          usedName({ tenant: `tenant ${1_000 + no}`, kind: 'use', action: '', name }),
        ),
      ).flat()
      await store.addCounts(batch(1, { names: [usedName(), ...uses.toReversed()] }))
      const first = await other.countedTenants()
      const second = await other.countedTenants(first.at(-1))
      expect([first.length, second.length]).toEqual([1_000, 500])
      expect([...first, ...second]).toEqual(uses)
      expect(await other.countedTenants(second.at(-1))).toEqual([])
    })
  })
}
