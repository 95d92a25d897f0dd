import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { startGateway } from '../gateway.ts'
import { book, REFERENCE } from './desk.ts'

const NO_REFERENCE = { ReferenceNumber: '' }

/** Books once in a gateway of its own; returns the claim. */
async function claimOf(changes: object, headers: Readonly<Record<string, string>> = {}) {
  const gateway = await startGateway()
  const { status, json } = await book(gateway, changes, headers)
  expect(json.Message).toMatch(/^Transportation booked/)
  expect(status).toBe(200)
  const [claim] = await gateway.store.listClaims({})
  return claim ?? expect.fail('no claim')
}

/*
 * Gateways of several versions share a store, and a retry may reach another one than the first try did. A change of one of
 * these values would book again whatever was booked before it.
 */
describe('the key of a booking stays the same over versions', () => {
  test.each([
    ['its reference and VIN', {}, {}, 'ELGIi7ep3gIP4uzRDbQ0Mexes_E-yvBvBTwj_G_Kq8w'],
    ['its reference, without a VIN', { VinNo: '' }, {}, 'cXvAPHR5qw16ZJB9AHN5IJaRz0JZpDA5zEmDKOoA5pk'],
    ['an Idempotency-Key', {}, { 'idempotency-key': 'K-1' }, '7lXYlSjBTQHDlYbJj-rZTUnfZhrNgWeK51BEwDxkyQU'],
    ['its fields, where nothing names it', NO_REFERENCE, {}, 'fhaGBS4MSo1jMK3q9cJhVCScxPmzqop9tSl_uY3NrCQ'],
  ])('%s', async (_, changes, headers, key) => {
    const claim = await claimOf(changes, headers)
    expect({ key: claim.key }).toEqual({ key })
    expect(claim.handle).toMatch(/^bk_[0-9a-f]{12}$/)
  })
})

test('only a booking that nothing names expires', async () => {
  expect((await claimOf({})).expires).toBe(0)
  expect((await claimOf(NO_REFERENCE, { 'idempotency-key': 'K-1' })).expires).toBe(0)
  const { expires, changedAt } = await claimOf(NO_REFERENCE)
  expect(expires - changedAt).toBe(600_000)
})

test('a key, a reference and a body of the same text are three bookings', async () => {
  const keys = await Promise.all([
    claimOf({ ReferenceNumber: 'X', VinNo: '' }),
    claimOf({ ReferenceNumber: 'X', VinNo: '' }, { 'idempotency-key': 'X' }),
    claimOf({ ReferenceNumber: 'X', VinNo: bookingExample.VinNo }),
    claimOf(NO_REFERENCE),
  ])
  expect(new Set(keys.map(({ key }) => key)).size).toBe(keys.length)
  expect(new Set([REFERENCE, ...keys.map(({ handle }) => handle)]).size).toBe(keys.length + 1)
})
