/** Promise: a shipment belongs to one booking, and a settled one is answered as such (contract, section 7). */

import { expect, test } from 'vitest'
import { healedBy, isReopened, quoteNumberOf, reopen, settle } from '../../src/bookings/settlement.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import { type Claim, type ClaimState, type Link, type Store, StoreDown } from '../../src/store/store.ts'
import { SETTINGS } from '../events/office.ts'
import { link, newClaim, thing } from '../store/samples.ts'

/*
 * Promise: only an unknown booking is settled, once, as one shipment that no other booking has, and a settlement can be taken back
 * (contract, section 7; test/commands/settle.slow.test.ts has the commands).
 */

const catalog = await loadMappings()
const UUID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const VIN = '1HGCM82633A004352'
const BOOKED = { shipment: UUID, number: 'TL-1' }

/** A store with a claim in a state. */
async function open(state: ClaimState = 'unknown', store: Store = createMemoryStore()) {
  const claimed = async (key: string, to: ClaimState): Promise<Claim> => {
    const { claim } = await store.claim(newClaim({ key, vin: VIN }))
    const change = {
      state: to,
      instance: 'gateway-1',
      why: 'late',
      ...(to === 'booked' && { shipment: `S of ${key}` }),
    }
    return to === 'sending' ? claim : ((await store.change(claim, change)) ?? expect.fail('not changed'))
  }
  const deps = { store, catalog, settings: SETTINGS, instance: 'operator' }
  const claim = await claimed('REF-1', state)
  const now = async () => (await store.claimByHandle(claim.handle)) ?? expect.fail('no claim')
  const linked = async (name: string) => (await store.links('acme', name)).map(({ id }) => id).sort()
  return { store, claim, deps, claimed, now, linked }
}

test.each(['sending', 'booked', 'refused', 'unknown', 'freed'] as const)('what is %s', async (state) => {
  for (const [settlement, to] of [['not-booked', 'freed'] as const, [BOOKED, 'booked'] as const]) {
    const { claim, deps, now } = await open(state)
    expect(await reopen(claim, deps)).toEqual({ outcome: 'wrong-state', state })
    const results = await Promise.all([settle(claim, settlement, deps), settle(claim, 'not-booked', deps)])
    const outcome = state === 'unknown' ? 'changed' : 'wrong-state'
    expect(results.map((result) => result.outcome)).toEqual([outcome, 'wrong-state'])
    const { state: after, version } = await now()
    expect([after, version]).toEqual([state === 'unknown' ? to : state, claim.version + Number(state === 'unknown')])
  }
})

test.each([
  ['an operator', {}, 'settled: booked', undefined],
  ['a webhook', { healedBy: 'webhook' }, 'healed: webhook', 'webhook'],
  ['a sweep', { healedBy: 'sweep' }, 'healed: sweep', 'sweep'],
] as const)('what %s settles is told so, and can be reopened', async (_, how, why, by) => {
  const { store, claim, deps, now, linked } = await open()
  await settle(claim, BOOKED, { ...deps, ...how })
  const settled = await now()
  expect(settled).toMatchObject({ state: 'booked', shipment: UUID, instance: 'operator' })
  expect(JSON.parse(settled.reply)).toMatchObject({ status: 200, body: expect.stringContaining('TL-1') })
  expect(await linked('REF-1')).toEqual([UUID])
  const trail = await store.audit(claim.handle)
  expect([trail.at(-1)?.why, healedBy(trail), isReopened(trail)]).toEqual([why, by, false])
  await reopen(settled, deps)
  expect(await now()).toMatchObject({ state: 'unknown', shipment: '', reply: '' })
  expect([await linked('REF-1'), isReopened(await store.audit(claim.handle))]).toEqual([[], true])
})

test('a shipment belongs to one booking, in whatever spelling, until that is canceled', async () => {
  const { store, claim, deps, claimed, linked } = await open()
  const other = await claimed('REF-2', 'unknown')
  await settle(other, BOOKED, deps)
  for (const shipment of [UUID, UUID.toUpperCase()]) {
    expect(await settle(claim, { ...BOOKED, shipment }, deps)).toEqual({ outcome: 'taken', by: other.handle })
  }
  expect(await linked('REF-1')).toEqual([])
  const holder = (await store.claimByHandle(other.handle)) ?? expect.fail('no claim')
  await store.change(holder, { state: 'freed', instance: 'gateway-1', why: 'canceled' })
  expect(await settle(claim, BOOKED, deps)).toMatchObject({ outcome: 'changed' })
})

test('a booking without a reference keeps its key for its time from when it is settled', async () => {
  let now = 0
  const { store, deps } = await open('unknown', createMemoryStore({ now: () => now }))
  const wanted = newClaim({ key: 'body', handle: 'bk_body', expiresInMs: 600 })
  const { claim } = await store.claim(wanted)
  const unknown = await store.change(claim, { state: 'unknown', instance: 'gateway-1', why: 'late' })
  now = 86_400_000
  await settle(unknown ?? claim, BOOKED, deps)
  now += 599
  expect(await store.claim(wanted)).toMatchObject({ won: false, claim: { state: 'booked', shipment: UUID } })
  now += 1
  expect(await store.claim(wanted)).toMatchObject({ won: true })
})

test('names are taken back where a settlement lost against a change, and after one that was interrupted', async () => {
  const inner = createMemoryStore()
  const meanwhile: (() => Promise<unknown>)[] = []
  const change: Store['change'] = async (...args) => {
    await meanwhile.shift()?.()
    return inner.change(...args)
  }
  const { claim, deps, linked, now } = await open('unknown', { ...inner, change })
  meanwhile.push(() => Promise.reject(new StoreDown('The disk is full.')))
  await expect(settle(claim, BOOKED, deps)).rejects.toThrow('The disk is full.')
  expect(await linked('REF-1')).toEqual([UUID])
  meanwhile.push(() => inner.change(claim, { state: 'refused', instance: 'gateway-1', why: 'answered 422' }))
  expect(await settle(claim, BOOKED, deps)).toEqual({ outcome: 'wrong-state', state: 'refused' })
  expect([await linked('REF-1'), (await now()).state]).toEqual([[], 'refused'])
})

test('the names of an earlier version, which kept no record of them, are those of its reply and its reference', async () => {
  const inner = createMemoryStore()
  const { claim, deps, now } = await open('unknown', { ...inner, thing: async () => undefined })
  const named = { kind: 'shipment', name: 'REF-1' } as const
  await inner.put({ links: [link({ ...named, id: 'other-vehicle' })] })
  await inner.put({ links: [link({ ...named, vin: VIN, id: 'of-the-service', givenBy: 'service' })] })
  const linked = async (name: string) => (await inner.links('acme', name)).map(({ id }) => id).sort()
  await settle(claim, BOOKED, deps)
  expect([await linked('REF-1'), await linked('TL-1')]).toEqual([[UUID, 'of-the-service', 'other-vehicle'], [UUID]])
  await reopen(await now(), deps)
  expect([await linked('REF-1'), await linked('TL-1')]).toEqual([['of-the-service', 'other-vehicle'], []])
})

interface Named {
  readonly own?: string
  readonly kind?: Link['kind']
  readonly other?: Partial<Link> & { readonly state: ClaimState }
}

test.each<[string, Named, string | undefined]>([
  ['the number of its quote', {}, 'Q-1'],
  ['none, where the quote has none', { own: '' }, undefined],
  ['none, where it is the reference', { own: 'REF-1' }, undefined],
  ['none, where the reference names no quote', { kind: 'shipment' }, undefined],
  ['none, where another booking of its VIN has the number', { other: { state: 'booked' } }, undefined],
  ['it, where that booking is canceled', { other: { state: 'freed' } }, 'Q-1'],
  ['it, where that booking has another VIN', { other: { state: 'booked', vin: 'OTHER' } }, 'Q-1'],
  ['it, where only the service calls that booking so', { other: { state: 'booked', givenBy: 'service' } }, 'Q-1'],
  ['it, where a quote has the number', { other: { state: 'booked', kind: 'quote' } }, 'Q-1'],
])('a settled booking stands for %s', async (_, { own = 'Q-1', kind = 'quote', other }, number) => {
  const { store, claim, claimed } = await open()
  await store.put({ links: [link({ kind, name: 'REF-1', id: 'quote-1' })], thing: thing({ id: 'quote-1', own }) })
  if (other) {
    const { state, ...given } = other
    const its = await claimed('REF-2', 'booked')
    await store.put({ links: [link({ kind: 'shipment', name: 'Q-1', id: its.shipment, vin: VIN, ...given })] })
    if (state === 'freed') await store.change(its, { state, instance: 'gateway-1', why: 'canceled' })
  }
  expect(await quoteNumberOf(claim, store)).toBe(number)
})
