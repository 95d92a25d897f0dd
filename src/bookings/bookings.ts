import { createHash, randomBytes } from 'node:crypto'
import type { Caller } from '../callers/caller.ts'
import { GatewayError } from '../errors.ts'
import type { Answer } from '../http/answers.ts'
import type { Claim, Claims, NewClaim } from '../store/store.ts'
import type { Keepsake } from '../xref/xref.ts'
import { createMakers } from './makers.ts'
import type { BookingRecord } from './record.ts'

/** A booking that is about to be made, and what tells it from others. */
export interface Booking {
  readonly caller: Caller
  readonly reference: string
  readonly vin: string
  /** The caller's `Idempotency-Key`, used instead of the reference. */
  readonly idempotencyKey: string | undefined
  /** The documented fields as they were read: the same body means the same fields, not the same bytes. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  /** When the caller's patience ends, in milliseconds of `performance.now()`. */
  readonly deadline: number
}

/** A booking that the service has made. */
export interface Made {
  readonly answer: Answer
  /** What makes its numbers resolve. */
  readonly keepsake: Keepsake
}

/** Sends bookings once. */
export interface Bookings {
  /**
   * Claims the booking durably, makes it, records it and only then answers; or answers as the one that did.
   * `make` is called at most once, and runs to its end whatever becomes of the caller.
   */
  readonly once: (
    booking: Booking,
    make: () => Promise<Made>,
    mayRead: (shipment: string) => Promise<void>,
  ) => Promise<Answer>
  /** Frees the key of a shipment that is canceled. */
  readonly free: (tenant: string, shipment: string) => Promise<void>
  /** Begins no more bookings; resolves when none is under way in this gateway. */
  readonly drain: () => Promise<void>
}

export interface BookingsDeps {
  readonly claims: Claims
  readonly record: BookingRecord
  readonly instance: string
  /** Resolves when this gateway holds its lease, so that nobody takes its claims for abandoned. */
  readonly holdLease: () => Promise<void>
  /** How long a booking without a reference is told from a new one by its body. */
  readonly dedupeWindowMs: number
  readonly now: () => number
}

/** How often a call that waits for another gateway's booking looks whether it is done. */
const LOOK_AGAIN_MS = 200
const RETRY_AFTER_SECONDS = 5
const HANDLE_BYTES = 6

/** Makes the keeper of the rule that a booking happens once. */
export function createBookings({ claims, record, instance, holdLease, dedupeWindowMs, now }: BookingsDeps): Bookings {
  /** Every call that books or waits, whether or not its caller is still there. */
  const calls = new Set<Promise<Answer>>()
  /** The calls that send, by their keys. */
  const senders = new Map<string, Promise<void>>()
  const makers = createMakers()
  let draining = false

  const answer: Bookings['once'] = async (booking, make, mayRead) => {
    const { credential } = booking.caller
    const wanted = newClaim(booking)
    for (;;) {
      await holdLease()
      if (draining) throw shuttingDown()
      const { won, claim } = await take(wanted)
      if (won) {
        if (credential !== undefined) makers.note(claim.handle, credential)
        return await announced(claim, send(claim, make))
      }
      if (claim.body !== wanted.body && holds(claim)) throw otherBooking(claim)
      switch (claim.state) {
        case 'sending':
          // It was made, and could not be written down yet.
          if (record.isUnrecorded(claim.handle)) throw outcomeUnknown(claim.handle)
          await waitFor(claim, booking.deadline)
          break
        case 'booked':
          if (credential !== undefined && !makers.isMaker(claim.handle, credential)) await mayRead(claim.shipment)
          return replay(claim)
        case 'unknown':
          throw outcomeUnknown(claim.handle)
        case 'refused':
        case 'freed':
          // Let go between the claim and this look at it: try again.
          break
        default:
          return claim.state satisfies never
      }
    }
  }

  function newClaim({ caller, reference, vin, idempotencyKey, fields }: Booking): NewClaim {
    const body = digest(fields)
    const byBody = reference === '' && idempotencyKey === undefined
    const key =
      idempotencyKey !== undefined ? ['key', idempotencyKey] : byBody ? ['body', body] : ['reference', reference, vin]
    return {
      tenant: caller.tenant,
      key: digest(key),
      handle: `bk_${randomBytes(HANDLE_BYTES).toString('hex')}`,
      body,
      instance,
      // Nothing of a credential is stored (docs/decisions/0016).
      credential: '',
      reference,
      vin,
      expires: byBody ? now() + dedupeWindowMs : 0,
      createdAt: now(),
    }
  }

  async function take(wanted: NewClaim): ReturnType<Claims['claim']> {
    try {
      return await claims.claim(wanted)
    } catch (error) {
      // The store may have taken it all the same; nothing is sent for it, so that it must not stand.
      record.neverSent(wanted.handle)
      throw error
    }
  }

  /** Sends a claimed booking; whatever happens, the claim says afterwards what is known of it. */
  async function send(claim: Claim, make: () => Promise<Made>): Promise<Answer> {
    let made: Made
    try {
      made = await make()
    } catch (error) {
      const outcome = await record.failed(claim, error)
      throw outcome === 'unknown' ? outcomeUnknown(claim.handle, error) : error
    }
    try {
      await record.made(claim, made)
    } catch (error) {
      throw outcomeUnknown(claim.handle, error)
    }
    return made.answer
  }

  /** Lets the other calls of this gateway wait for the one that sends. */
  async function announced(claim: Claim, sent: Promise<Answer>): Promise<Answer> {
    const id = idOf(claim)
    const over = sent.then(
      () => undefined,
      () => undefined,
    )
    senders.set(id, over)
    try {
      return await sent
    } finally {
      // Once a claim is let go, the next call may have taken it already.
      if (senders.get(id) === over) senders.delete(id)
    }
  }

  /** Waits until the claim may have changed, or gives up when the caller's time is over. */
  async function waitFor(claim: Claim, deadline: number): Promise<void> {
    const leftMs = deadline - performance.now()
    if (leftMs <= 0) throw underWayStill(claim)
    const look = new Promise<void>((resolve) => setTimeout(resolve, Math.min(LOOK_AGAIN_MS, leftMs)))
    await Promise.race([look, senders.get(idOf(claim)) ?? look])
  }

  return {
    once: (booking, make, mayRead) => {
      const call = answer(booking, make, mayRead).finally(() => calls.delete(call))
      calls.add(call)
      return call
    },
    free: async (tenant, shipment) => {
      for (const claim of await claims.claimsOfShipment(tenant, shipment)) {
        if (claim.state === 'booked')
          await claims.change(claim, { state: 'freed', instance, at: now(), why: 'canceled' })
      }
    },
    drain: async () => {
      draining = true
      await Promise.allSettled(calls)
    },
  }
}

const idOf = ({ tenant, key }: Claim) => `${tenant}\n${key}`

/** Whether the key is taken by a booking that is known to be, or to become, one. */
const holds = ({ state }: Claim) => state === 'sending' || state === 'booked'

/** The stored answer of a booking, marked as one that was given before. */
function replay(claim: Claim): Answer {
  // What stands there was written by the record of bookings, or by an operator's settlement in the same form.
  const answer = JSON.parse(claim.reply) as Answer
  return { ...answer, headers: { ...answer.headers, 'Idempotent-Replayed': 'true' } }
}

function underWayStill({ handle }: Claim): GatewayError {
  const message = `The same booking (${handle}) is under way. Try again in a few seconds.`
  return new GatewayError('booking-under-way', message, { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } })
}

function otherBooking({ state, handle }: Claim): GatewayError {
  const message =
    state === 'sending'
      ? `A different booking with this reference (${handle}) is under way. Use another reference.`
      : `This reference is already booked with other details (${handle}). Use /updateShipment.php to change the shipment.`
  return new GatewayError('booking-conflict', message)
}

function shuttingDown(): GatewayError {
  const message = 'The gateway is shutting down, and this booking was not sent. Send it again.'
  return new GatewayError('draining', message, { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } })
}

function outcomeUnknown(handle: string, cause?: unknown): GatewayError {
  const message = `The outcome of this booking is not known, and it is not sent again. Give ${handle} to the operator of the gateway, who can settle it.`
  return new GatewayError('outcome-unknown', message, { cause })
}

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}

/** A claim without what is nobody's business: the hashes of the credential and of the body. */
export function publicView({ handle, state, tenant, reference, vin, shipment, createdAt, changedAt, instance }: Claim) {
  return {
    key: handle,
    state,
    tenant,
    reference,
    vin,
    shipment,
    created: new Date(createdAt).toISOString(),
    changed: new Date(changedAt).toISOString(),
    instance,
  }
}
