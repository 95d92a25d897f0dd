/** Promise: only an unknown booking is settled, as one shipment that no other booking has, and it is answered as such (contract, section 7). */

import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { type ClaimState, type Link, type Store, StoreDown } from '../../src/outside/store/store.ts'
import { reopen } from '../../src/state/bookings/settlement.ts'
import { link, newClaim, thing } from '../store/samples.ts'
import { settleAs } from './desk.ts'

const UUID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const VIN = '1HGCM82633A004352'
const BOOKED = { shipment: UUID, number: 'TL-1' }

/** A store with a claim in a state. */
async function open(state: ClaimState = 'unknown', store: Store = createMemoryStore()) {
  const claimed = async (key: string, to: ClaimState) => {
    const { claim } = await store.claim(newClaim({ key, vin: VIN }))
    const shipment = to === 'booked' ? `S of ${key}` : ''
    const change = { state: to, instance: 'gateway-1', why: 'late', shipment }
    return to === 'sending' ? claim : ((await store.change(claim, change)) ?? expect.fail('not changed'))
  }
  const linked = async (name: string) => (await store.links('acme', name)).map(({ id }) => id)
  return { store, claim: await claimed('REF-1', state), claimed, linked }
}

test.each(['sending', 'booked', 'refused', 'freed'] as const)('what is %s is not settled', async (state) => {
  const { store, claim } = await open(state)
  const wrong = { outcome: 'wrong-state', state }
  for (const settlement of ['not-booked', BOOKED] as const) {
    expect(await settleAs(store, claim, settlement)).toEqual(wrong)
  }
  expect(await reopen(claim, { store, instance: 'operator' })).toEqual(wrong)
  expect(await store.claimByHandle(claim.handle)).toEqual(claim)
})

test('a shipment belongs to one booking, in whatever spelling, until that is canceled', async () => {
  const { store, claim, claimed, linked } = await open()
  const other = await claimed('REF-2', 'unknown')
  await settleAs(store, other, BOOKED)
  for (const shipment of [UUID, UUID.toUpperCase()]) {
    expect(await settleAs(store, claim, { ...BOOKED, shipment })).toEqual({ outcome: 'taken', by: other.handle })
  }
  expect(await linked('REF-1')).toEqual([])
  const holder = (await store.claimByHandle(other.handle)) ?? expect.fail('no claim')
  await store.change(holder, { state: 'freed', instance: 'gateway-1', why: 'canceled' })
  expect(await settleAs(store, claim, BOOKED)).toMatchObject({ outcome: 'changed' })
})

test('a booking without a reference keeps its key for its time from when it is settled', async () => {
  let now = 0
  const store = createMemoryStore({ now: () => now })
  const wanted = newClaim({ key: 'body', handle: 'bk_body', expiresInMs: 600 })
  const { claim } = await store.claim(wanted)
  const unknown = await store.change(claim, { state: 'unknown', instance: 'gateway-1', why: 'late' })
  now = 86_400_000
  await settleAs(store, unknown ?? claim, BOOKED)
  now += 599
  expect(await store.claim(wanted)).toMatchObject({ won: false, claim: { state: 'booked', shipment: UUID } })
  now += 1
  expect(await store.claim(wanted)).toMatchObject({ won: true })
})

test('names are taken back after a settlement that was interrupted, or came after another change', async () => {
  const inner = createMemoryStore()
  const { claim, linked } = await open('unknown', inner)
  const change: Store['change'] = () => Promise.reject(new StoreDown('The disk is full.'))
  await expect(settleAs({ ...inner, change }, claim, BOOKED)).rejects.toThrow('The disk is full.')
  expect(await linked('REF-1')).toEqual([UUID])
  await settleAs({ ...inner, change: async () => undefined }, claim, BOOKED)
  expect(await linked('REF-1')).toEqual([])
})

interface Given {
  readonly own?: string
  readonly kind?: Link['kind']
  /** Another booking, and its link to the number. */
  readonly state?: ClaimState
  readonly other?: Partial<Link>
}

test.each<[boolean, string, Given]>([
  [true, 'that is given', {}],
  [false, 'that its quote does not have', { own: '' }],
  [false, 'where its reference names no quote', { kind: 'shipment' }],
  [false, 'where another booking of its VIN has the number', { state: 'booked' }],
  [true, 'where that booking is canceled', { state: 'freed' }],
  [true, 'where that booking has another VIN', { state: 'booked', other: { vin: 'OTHER' } }],
  [true, 'where only the service calls that booking so', { state: 'booked', other: { givenBy: 'service' } }],
  [true, 'where a quote has the number', { state: 'booked', other: { kind: 'quote' } }],
])('a settled booking is known (%s) by the number of its quote %s', async (isKnown, _, given) => {
  const { own = 'Q-1', kind = 'quote', state, other } = given
  const { store, claim, claimed, linked } = await open()
  await store.put({ links: [link({ kind, name: 'REF-1', id: 'quote-1' })], thing: thing({ id: 'quote-1', own }) })
  if (state) {
    const its = await claimed('REF-2', 'booked')
    await store.put({ links: [link({ kind: 'shipment', name: 'Q-1', id: its.shipment, vin: VIN, ...other })] })
    if (state === 'freed') await store.change(its, { state, instance: 'gateway-1', why: 'canceled' })
  }
  await settleAs(store, claim, BOOKED)
  expect((await linked('Q-1')).includes(UUID)).toBe(isKnown)
})
