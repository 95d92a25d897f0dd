import { expect, test } from 'vitest'
import {
  type Booking,
  claimFor,
  createMakers,
  isReplay,
  newHandle,
  publicView,
  replay,
} from '../../src/bookings/bookings.ts'
import type { Claim } from '../../src/store/store.ts'

const booking: Booking = {
  tenant: 'acme',
  credential: undefined,
  reference: 'REF-1',
  vin: 'VIN1',
  idempotencyKey: undefined,
  fields: [['PickupName', 'Pat']],
  deadline: 0,
}
const OTHER_FIELDS = [['PickupName', 'Robin']] as const
const claim = (given: Partial<Booking> = {}) =>
  claimFor({ ...booking, ...given }, { handle: 'bk_1', instance: 'me', dedupeWindowMs: 1_000 })
const keyOf = (given: Partial<Booking>) => claim(given).key

test('a claim has the values of its booking, and hashes of its key and of its body', () => {
  expect(claim()).toEqual({
    tenant: 'acme',
    key: expect.stringMatching(/^[\w-]{43}$/),
    handle: 'bk_1',
    body: expect.stringMatching(/^[\w-]{43}$/),
    instance: 'me',
    reference: 'REF-1',
    vin: 'VIN1',
    expiresInMs: undefined,
  })
  expect(claim({ fields: OTHER_FIELDS }).body).not.toBe(claim().body)
})

test('the key of a booking is the caller’s, else its reference and VIN, else its body for a time', () => {
  const byReference = keyOf({})
  expect(keyOf({ fields: OTHER_FIELDS })).toBe(byReference)
  expect(keyOf({ vin: 'VIN2' })).not.toBe(byReference)
  expect(keyOf({ reference: 'REF-2' })).not.toBe(byReference)

  const given = keyOf({ idempotencyKey: 'mine' })
  expect(keyOf({ idempotencyKey: 'mine', reference: '', vin: '', fields: OTHER_FIELDS })).toBe(given)
  expect(claim({ idempotencyKey: 'mine', reference: '' }).expiresInMs).toBeUndefined()
  expect(keyOf({ idempotencyKey: 'other' })).not.toBe(given)

  const byBody = claim({ reference: '' })
  expect(byBody.expiresInMs).toBe(1_000)
  expect(keyOf({ reference: '', vin: 'VIN2' })).toBe(byBody.key)
  expect(keyOf({ reference: '', fields: OTHER_FIELDS })).not.toBe(byBody.key)
  expect(new Set([byReference, given, byBody.key, keyOf({ idempotencyKey: 'REF-1' })]).size).toBe(4)
})

test('a handle is for people, and each is another', () => {
  expect(newHandle()).toMatch(/^bk_[0-9a-f]{12}$/)
  expect(newHandle()).not.toBe(newHandle())
})

test('only the credential that made a booking is its maker', () => {
  const makers = createMakers()
  expect(makers.isMaker('bk_1', 'mine')).toBe(false)
  makers.note('bk_1', 'mine')
  expect(makers.isMaker('bk_1', 'mine')).toBe(true)
  expect(makers.isMaker('bk_1', 'other')).toBe(false)
  expect(makers.isMaker('bk_2', 'mine')).toBe(false)
})

test('a stored answer keeps its status, headers and body when it is given again', () => {
  const reply = JSON.stringify({ status: 201, headers: { a: 'b' }, body: '{}' })
  const stored = {
    ...claim(),
    state: 'booked',
    version: 2,
    shipment: 's',
    expires: 0,
    createdAt: 1,
    changedAt: 1,
  } as const
  expect(isReplay(replay({ ...stored, reply }))).toBe(true)
  expect(isReplay(JSON.parse(reply))).toBe(false)
  expect(replay({ ...stored, reply })).toEqual({
    status: 201,
    headers: { a: 'b', 'Idempotent-Replayed': 'true' },
    body: '{}',
  })
})

test('a claim is shown with its times as text, and without the hash of the body', () => {
  const claim: Claim = {
    tenant: 'acme',
    key: 'k',
    handle: 'bk_1',
    state: 'booked',
    version: 2,
    body: 'hash',
    instance: 'me',
    reference: 'REF-1',
    vin: 'VIN1',
    shipment: 's-1',
    reply: '{}',
    expires: 0,
    createdAt: Date.UTC(2026, 0, 1),
    changedAt: Date.UTC(2026, 0, 2),
  }
  expect(publicView(claim)).toEqual({
    key: 'bk_1',
    state: 'booked',
    tenant: 'acme',
    reference: 'REF-1',
    vin: 'VIN1',
    shipment: 's-1',
    created: '2026-01-01T00:00:00.000Z',
    changed: '2026-01-02T00:00:00.000Z',
    instance: 'me',
  })
})
