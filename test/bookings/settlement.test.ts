import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { healedBy, isReopened, reopen, type SettlementDeps, settle } from '../../src/bookings/settlement.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Claim, type ClaimState, type Store, StoreDown } from '../../src/store/store.ts'
import { isPlainId } from '../../src/text/service-text.ts'
import { SETTINGS } from '../events/office.ts'
import { newClaim } from '../store/samples.ts'
import { STATES } from './desk.ts'

const catalog = await loadMappings()
const UUID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const BOOKED = { shipment: UUID, number: 'TL-1' }

/** A store with a claim in a state. */
async function open(state: ClaimState = 'unknown', store: Store = createMemoryStore()) {
  const claimed = async (key: string, to: ClaimState): Promise<Claim> => {
    const { claim } = await store.claim(newClaim({ key, reference: key, vin: bookingExample.VinNo }))
    if (to === 'sending') return claim
    const change = {
      state: to,
      instance: 'gateway-1',
      why: 'late',
      ...(to === 'booked' && { shipment: `S of ${key}` }),
    }
    return (await store.change(claim, change)) ?? expect.fail('not changed')
  }
  const deps: SettlementDeps = { store, catalog, settings: SETTINGS, instance: 'operator' }
  const claim = await claimed('REF-1', state)
  const now = () => store.claimByHandle(claim.handle)
  const trail = async () => (await store.audit(claim.handle)).map(({ to, why }) => `${to}: ${why}`)
  return { store, claim, deps, claimed, now, trail }
}

describe('a booking', () => {
  test('without a reference that is settled a day later keeps its key from then on', async () => {
    const DAY_MS = 86_400_000
    let now = 0
    const { store, deps } = await open('unknown', createMemoryStore({ now: () => now }))
    const wanted = newClaim({ key: 'body', handle: 'bk_body', expiresInMs: 600 })
    const { claim } = await store.claim(wanted)
    const unknown = await store.change(claim, { state: 'unknown', instance: 'gateway-1', why: 'late' })
    now = DAY_MS
    expect(await settle(unknown ?? claim, BOOKED, deps)).toMatchObject({ outcome: 'changed' })
    now += 599
    expect(await store.claim(wanted)).toMatchObject({ won: false, claim: { state: 'booked', shipment: UUID } })
    now += 1
    expect(await store.claim(wanted)).toMatchObject({ won: true })
  })

  test.each(STATES)('that is %s is settled only if its outcome is unknown', async (state) => {
    for (const settlement of ['not-booked', BOOKED] as const) {
      const { claim, deps, now } = await open(state)
      const result = await settle(claim, settlement, deps)
      const to = settlement === 'not-booked' ? 'freed' : 'booked'
      if (state === 'unknown') expect(result).toMatchObject({ outcome: 'changed', claim: { state: to, version: 3 } })
      else expect(result).toEqual({ outcome: 'wrong-state', state })
      expect(await now()).toMatchObject({ state: state === 'unknown' ? to : state })
    }
  })

  test.each([
    ['an operator', {}, 'settled: booked', undefined],
    ['a webhook', { healedBy: 'webhook' }, 'healed: webhook', 'webhook'],
    ['a sweep', { healedBy: 'sweep' }, 'healed: sweep', 'sweep'],
  ] as const)(
    'that %s settles has the shipment, its reply and its name, and can be reopened',
    async (_, how, why, by) => {
      const { store, claim, deps, now, trail } = await open()
      expect(await settle(claim, BOOKED, { ...deps, ...how })).toMatchObject({ outcome: 'changed' })
      const settled = (await now()) ?? expect.fail('no claim')
      expect(settled).toMatchObject({ state: 'booked', shipment: UUID, instance: 'operator' })
      expect(JSON.parse(settled.reply)).toMatchObject({ status: 200, body: expect.stringContaining('TL-1') })
      expect((await store.links('acme', 'REF-1')).map(({ id }) => id)).toEqual([UUID])
      expect((await trail()).at(-1)).toBe(`booked: ${why}`)
      expect(healedBy(await store.audit(claim.handle))).toBe(by)
      expect(isReopened(await store.audit(claim.handle))).toBe(false)

      expect(await reopen(settled, deps)).toMatchObject({ outcome: 'changed' })
      const reopened = (await now()) ?? expect.fail('no claim')
      expect(reopened).toMatchObject({ state: 'unknown', shipment: '', reply: '' })
      expect(await store.links('acme', 'REF-1')).toEqual([])
      expect((await trail()).at(-1)).toBe('unknown: reopened')
      expect(isReopened(await store.audit(claim.handle))).toBe(true)
      expect(await reopen(reopened, deps)).toEqual({ outcome: 'wrong-state', state: 'unknown' })
      expect(await settle(reopened, 'not-booked', deps)).toMatchObject({ outcome: 'changed' })
      expect((await trail()).at(-1)).toBe('freed: settled: not booked')
      expect(await reopen((await now()) ?? claim, deps)).toMatchObject({
        outcome: 'changed',
        claim: { state: 'unknown' },
      })
    },
  )

  test.each(STATES)('that is %s and was never settled is not reopened', async (state) => {
    const { claim, deps, now } = await open(state)
    expect(await reopen(claim, deps)).toEqual({ outcome: 'wrong-state', state })
    expect(await now()).toEqual(claim)
  })

  test('does not get a shipment that another one has, and gets it once that is canceled', async () => {
    const { store, claim, deps, claimed, now } = await open()
    const other = await claimed('REF-2', 'unknown')
    await settle(other, BOOKED, deps)
    for (const shipment of [UUID, UUID.toUpperCase()]) {
      expect(await settle(claim, { ...BOOKED, shipment }, deps)).toEqual({ outcome: 'taken', by: other.handle })
    }
    expect(await now()).toEqual(claim)
    expect(await store.links('acme', 'REF-1')).toEqual([])
    const holder = (await store.claimByHandle(other.handle)) ?? expect.fail('no claim')
    await store.change(holder, { state: 'freed', instance: 'gateway-1', why: 'canceled' })
    expect(await settle(claim, BOOKED, deps)).toMatchObject({ outcome: 'changed' })
  })

  test('has an answer without fields where no action of the mappings books', async () => {
    const { claim, deps, now } = await open()
    expect(await settle(claim, BOOKED, { ...deps, catalog: { ...catalog, actions: new Map() } })).toMatchObject({
      outcome: 'changed',
    })
    expect(JSON.parse((await now())?.reply ?? '')).toEqual({
      status: 200,
      headers: { 'Transload-Shipment-Id': UUID, 'Transload-Shipment-Number': 'TL-1' },
      body: '{}',
    })
  })

  test('that was changed since it was read stays as it is', async () => {
    const { store, claim, deps, now } = await open()
    await store.change(claim, { state: 'refused', instance: 'gateway-1', why: 'answered 422' })
    expect(await settle(claim, BOOKED, deps)).toEqual({ outcome: 'wrong-state', state: 'refused' })
    expect(await reopen(claim, deps)).toEqual({ outcome: 'wrong-state', state: 'refused' })
    expect(await now()).toMatchObject({ state: 'refused', version: 3 })
    expect(await store.links('acme', 'REF-1')).toEqual([])
  })
})

describe('the names of a settlement', () => {
  const links = async (store: Store) => (await store.links('acme', 'REF-1')).map(({ id }) => id)

  test('that was interrupted are taken back by the next one', async () => {
    const inner = createMemoryStore()
    let isDown = false
    const store: Store = {
      ...inner,
      change: (claim, change) =>
        isDown ? Promise.reject(new StoreDown('The disk is full.')) : inner.change(claim, change),
    }
    const { claim, deps } = await open('unknown', store)
    isDown = true
    await expect(settle(claim, BOOKED, deps)).rejects.toThrow('The disk is full.')
    expect(await links(store)).toEqual([UUID])
    isDown = false
    expect(await settle(claim, 'not-booked', deps)).toMatchObject({ outcome: 'changed', claim: { state: 'freed' } })
    expect(await links(store)).toEqual([])
  })

  test('of an earlier version, which kept no record of them, are those of its reply and its reference', async () => {
    const inner = createMemoryStore()
    const { claim, deps, claimed, now } = await open('unknown', { ...inner, thing: async () => undefined })
    await inner.put({
      links: [
        { tenant: 'acme', kind: 'shipment', name: 'REF-1', vin: '', id: 'other-vehicle', givenBy: 'caller' },
        { tenant: 'acme', kind: 'shipment', name: 'REF-1', vin: claim.vin, id: 'of-the-service', givenBy: 'service' },
      ],
    })
    await settle(claim, BOOKED, deps)
    const linked = async (name: string) => (await inner.links('acme', name)).map(({ id }) => id).sort()
    expect([await linked('REF-1'), await linked('TL-1')]).toEqual([[UUID, 'of-the-service', 'other-vehicle'], [UUID]])
    await reopen((await now()) ?? claim, deps)
    expect([await linked('REF-1'), await linked('TL-1')]).toEqual([['of-the-service', 'other-vehicle'], []])
    const other = await claimed('REF-2', 'unknown')
    await settle(other, 'not-booked', deps)
    expect(await reopen((await inner.claimByHandle(other.handle)) ?? other, deps)).toMatchObject({ outcome: 'changed' })
  })

  test('that lost against a change of the booking are taken back at once', async () => {
    const inner = createMemoryStore()
    let isLate = false
    const store: Store = {
      ...inner,
      change: async (claim, change) => {
        if (isLate) await inner.change(claim, { state: 'refused', instance: 'gateway-1', why: 'answered 422' })
        return inner.change(claim, change)
      },
    }
    const { claim, deps } = await open('unknown', store)
    isLate = true
    expect(await settle(claim, BOOKED, deps)).toEqual({ outcome: 'wrong-state', state: 'refused' })
    expect(await links(store)).toEqual([])
  })
})

describe('settlements at once', () => {
  test('of one booking are one after the other: the first one counts', async () => {
    const { claim, deps, trail } = await open()
    const results = await Promise.all([settle(claim, 'not-booked', deps), settle(claim, BOOKED, deps)])
    expect(results.map(({ outcome }) => outcome)).toEqual(['changed', 'wrong-state'])
    expect(await trail()).toEqual(['sending: claimed', 'unknown: late', 'freed: settled: not booked'])
  })

  test('of different bookings do not wait for each other', async () => {
    const held = Promise.withResolvers<void>()
    const inner = createMemoryStore()
    const reached = Promise.withResolvers<void>()
    let slow = ''
    const store: Store = {
      ...inner,
      change: async (claim, change) => {
        if (claim.key === slow) {
          reached.resolve()
          await held.promise
        }
        return inner.change(claim, change)
      },
    }
    const { claim, deps, claimed } = await open('unknown', store)
    const other = await claimed('REF-2', 'unknown')
    slow = claim.key
    const first = settle(claim, 'not-booked', deps)
    await reached.promise
    expect(await settle(other, 'not-booked', deps)).toMatchObject({ outcome: 'changed' })
    held.resolve()
    expect(await first).toMatchObject({ outcome: 'changed' })
  })
})

test.each([
  ['TL-100001', true],
  [UUID, true],
  ['a.b_c-1', true],
  ['x'.repeat(64), true],
  ['x'.repeat(65), false],
  ['', false],
  ['.', false],
  ['..', false],
  ['..a', true],
  ['a b', false],
  ['a/b', false],
  ['ü', false],
])('%s is a plain id: %s', (text, plain) => expect(isPlainId(text)).toBe(plain))
