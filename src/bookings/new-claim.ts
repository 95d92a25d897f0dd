import { hash, randomUUID } from 'node:crypto'
import type { NewClaim } from '../store/store.ts'
import type { Booking } from './booking.ts'

/** Returns a new handle of a claim: 48 random bits. Node keeps the bits of many UUIDs ready, but not small random bytes. */
export function newHandle(): string {
  const [first = '', second = ''] = randomUUID().split('-', 2)
  return `bk_${first}${second}`
}

/** The values of a claim that the booking does not choose. */
export interface ClaimOrigin {
  readonly handle: string
  readonly instance: string
  /** The time within which two bookings without a reference and with the same body are one. */
  readonly dedupeWindowMs: number
}

/** Returns the claim that a booking needs before it is sent. */
export function claimFor(
  { tenant, reference, vin, idempotencyKey, fields }: Booking,
  { handle, instance, dedupeWindowMs }: ClaimOrigin,
): NewClaim {
  const body = digest(fields)
  const byBody = reference === '' && idempotencyKey === undefined
  const key =
    idempotencyKey !== undefined ? ['key', idempotencyKey] : byBody ? ['body', body] : ['reference', reference, vin]
  return {
    tenant,
    key: digest(key),
    handle,
    body,
    instance,
    reference,
    vin,
    expiresInMs: byBody ? dedupeWindowMs : undefined,
  }
}

function digest(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url')
}
