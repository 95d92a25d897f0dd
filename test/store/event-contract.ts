import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { NewEvent, StoredEvent } from '../../src/outside/store/events.ts'
import type { Store } from '../../src/outside/store/store.ts'
import type { Place } from './places.ts'

const MINUTE_MS = 60_000
const START = 1_000_000

/* Ends of a try */
const DELIVERED = { state: 'delivered', outcome: 'answered 200' } as const
const FAILED = { state: 'due', outcome: 'answered 500' } as const
const PARKED = { ...FAILED, state: 'parked' } as const

/** Returns an event with defaults for what a test does not care about. */
export function newEvent(given: Partial<NewEvent> = {}): NewEvent {
  return {
    tenant: 'acme',
    shipment: 's-1',
    event: 'shipment.created',
    date: '2024-08-10T08:00:00+0000',
    digest: 'digest',
    payload: '{}',
    deliver: true,
    ...given,
  }
}

/** Tests the events of an engine, with two stores on one database. */
export function eventContract(newPlace: () => Promise<Place>): void {
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

  const take = (given: Partial<NewEvent> = {}) => store.takeEvent(newEvent(given))
  const lease = (limit = 10, by = store) => by.leaseEvents('acme', limit, MINUTE_MS)
  const ids = (events: readonly StoredEvent[]) => events.map(({ event }) => event)

  async function leaseOne(): Promise<StoredEvent> {
    const [event] = await lease(1)
    if (!event) throw new Error('nothing is due')
    return event
  }

  describe('the record', () => {
    test('are stored as they were told', async () => {
      const told = newEvent({ digest: 'other', payload: '{"a":"ü\\u0000"}' })
      const { taken, id } = await store.takeEvent(told)
      const { deliver, ...stored } = told
      expect(taken).toBe(true)
      expect(id).toMatch(/^msg_[0-9a-f]{32}$/)
      expect(await other.findEvent(id)).toEqual({
        ...stored,
        id,
        no: expect.any(Number),
        receivedAt: START,
        state: 'due',
        version: 1,
        failures: 0,
        retryAt: START,
        changedAt: START,
        outcome: '',
        body: undefined,
      })
      expect(await store.findEvent('msg_none')).toBeUndefined()
    })

    test('are stored once, by tenant, shipment, event, date and digest, however many stores take them at once', async () => {
      const copies = Array.from({ length: 20 }, (_, i) => newEvent({ payload: `${i}` }))
      const taken = await Promise.all(copies.map((copy, i) => (i % 2 ? store : other).takeEvent(copy)))
      expect(taken.filter((one) => one.taken)).toHaveLength(1)
      expect(new Set(taken.map(({ id }) => id)).size).toBe(1)
      const others = [{ tenant: 'b' }, { shipment: 's-2' }, { event: 'x' }, { date: 'x' }, { digest: 'x' }]
      for (const given of others) expect((await take(given)).taken).toBe(true)
      expect(await store.listEvents({})).toHaveLength(1 + others.length)
    })

    test('are found by shipment, and shipments by time: those of the first events, four for each', async () => {
      for (const event of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await take({ event })
      await place.setClock(START + MINUTE_MS)
      await take({ event: 'i', shipment: 's-2' })
      await take({ event: 'j', tenant: 'other' })
      expect(ids(await store.eventsOfShipment('acme', 's-2'))).toEqual(['i'])
      expect(await store.shipmentsWithEvents('acme', 0)).toEqual(['s-1', 's-2'])
      expect(await store.shipmentsWithEvents('acme', 0, 2)).toEqual(['s-1'])
      expect(await store.shipmentsWithEvents('acme', 0, 3)).toEqual(['s-1', 's-2'])
      expect(await store.shipmentsWithEvents('acme', START + 1)).toEqual(['s-2'])
    })

    test('are listed by tenant, state, time and page', async () => {
      await take({ event: 'a' })
      await take({ event: 'b', tenant: 'other', deliver: false })
      await place.setClock(START + MINUTE_MS)
      await take({ event: 'c', shipment: 's-2' })
      const listed = async (filter: Parameters<Store['listEvents']>[0]) => ids(await store.listEvents(filter))
      expect(await listed({})).toEqual(['a', 'b', 'c'])
      expect(await listed({ tenant: 'acme' })).toEqual(['a', 'c'])
      expect(await listed({ state: 'recorded' })).toEqual(['b'])
      expect(await listed({ since: START + 1 })).toEqual(['c'])
      expect(await listed({ until: START + 1, tenant: 'acme' })).toEqual(['a'])
      expect(await listed({ limit: 2 })).toEqual(['a', 'b'])
      const [first] = await store.listEvents({})
      expect(await listed({ after: first?.no })).toEqual(['b', 'c'])
    })
  })

  describe('deliveries', () => {
    test('are leased in order, one of a shipment at a time', async () => {
      await take({ event: 'a' })
      await take({ event: 'b' })
      await take({ event: 'c', shipment: 's-2' })
      expect(await store.tenantsWithDue(['acme', 'other'])).toEqual(['acme'])
      const leased = await lease()
      expect(ids(leased)).toEqual(['a', 'c'])
      expect(leased.map(({ version }) => version)).toEqual([2, 2])
      expect(await lease(10, other)).toEqual([])
      expect(await other.tenantsWithDue(['acme'])).toEqual([])
      const [first = expect.fail()] = leased
      expect(await store.finishTry(first, DELIVERED)).toBe(true)
      expect(ids(await lease(10, other))).toEqual(['b'])
      expect(await store.findEvent(first.id)).toMatchObject({ state: 'delivered', failures: 0, version: 3 })
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

    test('of a lost lease are leased again with their body, and its late end changes nothing', async () => {
      await take()
      const late = await leaseOne()
      const body = { text: 'Event=a&Message=ü', format: 'form' } as const
      expect(await store.keepBody(late, body)).toBe(true)
      await place.setClock(START + MINUTE_MS)
      const [again] = await lease(1, other)
      expect(again).toMatchObject({ version: late.version + 1, body })
      expect(await store.keepBody(late, { text: 'late', format: 'json' })).toBe(false)
      expect(await store.finishTry(late, DELIVERED)).toBe(false)
      expect(await store.findEvent(late.id)).toMatchObject({ state: 'due', body })
    })

    test('that fail are due later, hold up their shipment only, and count', async () => {
      await take({ event: 'a' })
      await take({ event: 'b' })
      const first = await leaseOne()
      await store.finishTry(first, { ...FAILED, retryInMs: MINUTE_MS })
      await take({ event: 'c', shipment: 's-2' })
      const third = await leaseOne()
      expect(third.event).toBe('c')
      await store.finishTry(third, DELIVERED)
      expect(await store.findEvent(first.id)).toMatchObject({
        state: 'due',
        failures: 1,
        retryAt: START + MINUTE_MS,
        outcome: 'answered 500',
      })
      await place.setClock(START + MINUTE_MS)
      const again = await leaseOne()
      expect(again.event).toBe('a')
      await store.finishTry(again, { state: 'due', outcome: 'put off', isFailure: false })
      expect(await store.findEvent(first.id)).toMatchObject({ failures: 1, outcome: 'put off' })
      await store.finishTry(await leaseOne(), PARKED)
      expect(ids(await lease())).toEqual(['b'])
    })

    test('that were stored while a try ended are not missed', async () => {
      await take({ event: '0' })
      for (let i = 1; i <= 30; i += 1) {
        const event = await leaseOne()
        const end = store.finishTry(event, DELIVERED)
        await Promise.all([end, other.takeEvent(newEvent({ event: String(i) }))])
      }
      expect(ids(await lease())).toEqual(['30'])
    })

    test('of an endpoint that stops or pauses wait', async () => {
      await take({ event: 'a' })
      await take({ event: 'b', shipment: 's-2' })
      await take({ event: 'c', tenant: 'other' })
      await store.finishTry(await leaseOne(), { ...FAILED, endpoint: { pauseMs: MINUTE_MS } })
      const pause = { tenant: 'acme', stopped: false, pausedUntil: START + MINUTE_MS, changedAt: START }
      expect(await other.endpoints()).toEqual([pause])
      expect(await store.tenantsWithDue(['acme', 'other'])).toEqual(['other'])
      expect(await lease()).toEqual([])
      await place.setClock(START + MINUTE_MS)
      expect(await store.endpoints()).toEqual([])
      const event = await leaseOne()
      await store.finishTry(event, { ...FAILED, endpoint: { stop: true } })
      await place.setClock(START + 1_000 * MINUTE_MS)
      expect(await lease()).toEqual([])
      expect(await store.endpoints()).toMatchObject([{ tenant: 'acme', stopped: true }])
      expect(await store.resumeEndpoint('acme')).toBe(true)
      expect(await store.resumeEndpoint('acme')).toBe(false)
      expect(ids(await lease()).sort()).toEqual(['a', 'b'])
    })

    test('can be replayed and skipped', async () => {
      const a = await take({ event: 'a' })
      const b = await take({ event: 'b' })
      const recorded = await take({ event: 'r', shipment: 's-2', deliver: false })
      await store.finishTry(await leaseOne(), PARKED)
      expect(await other.skipEvents([b.id, recorded.id, 'msg_none'])).toBe(1)
      expect(await store.findEvent(b.id)).toMatchObject({ state: 'skipped', outcome: 'skipped by an operator' })
      expect(await lease()).toEqual([])
      expect(await other.replayEvents([b.id, a.id, recorded.id, 'msg_none'])).toBe(3)
      const leased = await lease()
      expect(ids(leased).sort()).toEqual(['a', 'r'])
      expect(leased.map(({ failures }) => failures)).toEqual([0, 0])
    })

    test('that are skipped free their shipment, and are not changed by the end of a try', async () => {
      await take({ event: 'a' })
      await take({ event: 'b' })
      const first = await leaseOne()
      await store.finishTry(first, { ...FAILED, retryInMs: MINUTE_MS })
      await other.skipEvents([first.id])
      const second = await leaseOne()
      expect(second.event).toBe('b')
      await other.skipEvents([second.id])
      expect(await store.finishTry(second, PARKED)).toBe(false)
      expect(await store.findEvent(second.id)).toMatchObject({ state: 'skipped' })
    })

    test('are counted while they are due or parked', async () => {
      await take({ event: 'a' })
      await store.finishTry(await leaseOne(), PARKED)
      await place.setClock(START + MINUTE_MS)
      await take({ event: 'b' })
      await take({ event: 'c' })
      await take({ event: 'd', deliver: false })
      const open = await store.openEvents()
      expect(open).toHaveLength(2)
      expect(open).toContainEqual({ tenant: 'acme', state: 'due', count: 2, oldest: START + MINUTE_MS })
      expect(open).toContainEqual({ tenant: 'acme', state: 'parked', count: 1, oldest: START })
    })
  })
}
