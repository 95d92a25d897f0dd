/** Promise: only an unknown booking is settled, as one shipment that no other booking has, and is answered accordingly (contract, section 7). */

import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { type ClaimState, type Store, StoreDown } from '../../src/outside/store/store.ts'
import { reopen } from '../../src/state/bookings/settlement.ts'
import { newClaim, newName } from '../store/samples.ts'
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
  const linked = async (name: string) => (await store.named('acme', name)).map(({ id }) => id)
  return { store, claim: await claimed('REF-1', state), claimed, linked }
}

test('a shipment belongs to one booking, in any spelling, until it is canceled', async () => {
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

test('if two bookings are settled at once, only one gets the shipment', async () => {
  const { store, claim, claimed } = await open()
  const other = await claimed('REF-2', 'unknown')
  const outcomes = await Promise.all([claim, other].map(async (one) => (await settleAs(store, one, BOOKED)).outcome))
  expect(outcomes.sort()).toEqual(['changed', 'taken'])
})

test('names stay if the gateway of the booking has meanwhile recorded the same shipment', async () => {
  const inner = createMemoryStore()
  const { claim, linked } = await open('unknown', inner)
  const booked = { state: 'booked', instance: 'gateway-1', why: 'made', shipment: UUID } as const
  const change: Store['change'] = async () => void (await inner.change(claim, booked))
  expect(await settleAs({ ...inner, change }, claim, BOOKED)).toMatchObject({ outcome: 'wrong-state' })
  expect(await linked('REF-1')).toEqual([UUID])
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

test('the shipment of an approved quote keeps its names and its quote after a settlement that is taken back', async () => {
  const { store, claim, linked } = await open()
  const { tenant, reference } = claim
  const approved = { tenant, id: UUID, own: reference, approval: 'approved' } as const
  await store.put({ names: [newName({ name: reference, id: UUID, kind: 'shipment' })], quote: approved })
  await store.put({
    names: [newName({ name: reference, id: 'newer' })],
    quote: { tenant, id: 'newer', own: reference },
  })
  await settleAs(store, claim, BOOKED)
  const settled = (await store.claimByHandle(claim.handle)) ?? expect.fail('no claim')
  expect(await reopen(settled, { store, instance: 'operator' })).toMatchObject({ outcome: 'changed' })
  expect(await linked(reference)).toContain(UUID)
  expect(await store.shipment(tenant, UUID)).toMatchObject({ quote: UUID })
})

test('so does one with an id of its own that the approval named', async () => {
  const { store, claim, linked } = await open()
  const { tenant, reference } = claim
  const quote = { tenant, id: 'quote-1', own: reference, approval: 'approved', idsInApproval: [UUID] } as const
  await store.put({ names: [newName({ name: reference, id: quote.id })], quote })
  const shipment = { tenant, id: UUID, quote: quote.id } as const
  await store.put({ names: [newName({ name: reference, id: UUID, kind: 'shipment' })], shipment })
  await settleAs(store, claim, BOOKED)
  const settled = (await store.claimByHandle(claim.handle)) ?? expect.fail('no claim')
  expect(await reopen(settled, { store, instance: 'operator' })).toMatchObject({ outcome: 'changed' })
  expect(await linked(reference)).toContain(UUID)
  expect(await store.shipment(tenant, UUID)).toMatchObject({ quote: quote.id })
})

test("a claim of an earlier version, which does not tell its quote, is of its reference's", async () => {
  const { store, claim } = await open()
  const quote = { tenant: claim.tenant, id: 'quote-1', own: 'Q-1' }
  await store.put({ names: [newName({ name: claim.reference, id: quote.id })], quote })
  await settleAs(store, claim, BOOKED)
  expect(await store.shipment(claim.tenant, UUID)).toMatchObject({ own: quote.own, quote: quote.id })
})
