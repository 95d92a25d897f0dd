import { expect, test } from 'vitest'
import { quoteNumberOf } from '../../src/bookings/settlement.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { ClaimState, Link } from '../../src/store/store.ts'
import { link, newClaim, thing } from '../store/samples.ts'

const VIN = '1HGCM82633A004352'

/** A booking of a quote with the number Q-1, and what else has that number. */
async function numberOf({ own = 'Q-1', kind = 'quote', other }: Setup = {}) {
  const store = createMemoryStore()
  await store.put({ links: [link({ kind, name: 'REF-1', id: 'quote-1' })], thing: thing({ id: 'quote-1', own }) })
  if (other) {
    const { state, ...given } = other
    await store.put({ links: [link({ kind: 'shipment', name: 'Q-1', id: 'S-2', vin: VIN, ...given })] })
    const { claim } = await store.claim(newClaim({ key: 'REF-2' }))
    await store.change(claim, { state, instance: 'gateway-1', why: 'test', shipment: 'S-2' })
  }
  const { claim } = await store.claim(newClaim({ key: 'REF-1', vin: VIN }))
  return quoteNumberOf(claim, store)
}

interface Setup {
  readonly own?: string
  readonly kind?: Link['kind']
  readonly other?: Partial<Link> & { readonly state: ClaimState }
}

test.each<[string, Setup, string | undefined]>([
  ['the number of its quote', {}, 'Q-1'],
  ['none, where the quote has none', { own: '' }, undefined],
  ['none, where it is the reference', { own: 'REF-1' }, undefined],
  ['none, where the reference names no quote', { kind: 'shipment' }, undefined],
  ['none, where another booking of its VIN has the number', { other: { state: 'booked' } }, undefined],
  ['it, where that booking is canceled', { other: { state: 'freed' } }, 'Q-1'],
  ['it, where that booking has another VIN', { other: { state: 'booked', vin: 'OTHER' } }, 'Q-1'],
  ['it, where only the service calls that booking so', { other: { state: 'booked', givenBy: 'service' } }, 'Q-1'],
  ['it, where a quote has the number', { other: { state: 'booked', kind: 'quote' } }, 'Q-1'],
])('a booking stands for %s', async (_, setup, number) => {
  expect(await numberOf(setup)).toBe(number)
})
