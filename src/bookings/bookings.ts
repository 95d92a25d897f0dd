import { createHash, randomBytes } from 'node:crypto'
import type { GatewayError } from '../errors.ts'
import type { Meters } from '../observe/meters.ts'
import type { Doubt } from '../store/doubt.ts'
import type { Claim, Claims, NewClaim, Store } from '../store/store.ts'
import { otherBooking, outcomeUnknown, replay, shuttingDown, underWayStill } from './answers.ts'
import { type Booked, type Booking, type Made, NotBooked } from './booking.ts'
import { inDoubt } from './doubts.ts'
import type { IsHeld } from './leases.ts'
import { createMakers } from './makers.ts'
import type { BookingRecord } from './record.ts'

/** Sends bookings once. */
export interface Bookings {
  /**
   * Claims the booking durably, sends it and records it, in this order, or returns the answer of the call that did.
   * `send` is called at most once, and runs to its end even if the caller hangs up. It asks `isHeld` right before the
   * request is written, and writes nothing if that is false. It throws `NotBooked` where it knows that the service made
   * nothing.
   */
  readonly once: (booking: Booking, send: (isHeld: IsHeld) => Promise<Made>) => Promise<Booked>
  /** Frees the key of a shipment that is canceled. */
  readonly free: (tenant: string, shipment: string) => Promise<void>
  /** Does the same, and tries again with every heartbeat while the store fails. */
  readonly freeLater: (tenant: string, shipment: string) => Promise<void>
  /** Returns true if a booking has this shipment. */
  readonly isBooked: (tenant: string, shipment: string) => Promise<boolean>
  /** Returns the bookings of a tenant that are under way or whose outcome is not known. */
  readonly pending: (tenant: string) => Promise<readonly Claim[]>
  /** Starts no more bookings; resolves when none is under way in this gateway. */
  readonly drain: () => Promise<void>
}

export interface BookingsDeps {
  readonly claims: Claims & Pick<Store, 'now'>
  readonly record: BookingRecord
  readonly instance: string
  /** Resolves when this gateway holds its lease, without which others take its claims for abandoned. */
  readonly holdLease: () => Promise<IsHeld>
  /** The time within which two bookings without a reference and with the same body are one. */
  readonly dedupeWindowMs: number
  /** Returns the doubt about bookings that the store does not know. */
  readonly doubt: () => Doubt | undefined
  /** Called with a claim that was in doubt, and is unknown. */
  readonly onUnknown: (claim: Claim) => void
  readonly countBooking: Meters['countBooking']
}

/** The pause after which a call that waits for another gateway's booking looks at it again. */
const LOOK_AGAIN_MS = 200
const HANDLE_BYTES = 6
/** More than the bookings of one tenant that are ever under way or in doubt. */
const ALL = 1_000_000

/** Makes the function that sends a booking once, with its claims. */
export function createBookings(deps: BookingsDeps): Bookings {
  const { claims, record, instance, holdLease, dedupeWindowMs, doubt: doubtNow, onUnknown, countBooking } = deps
  /** Every call that books or waits, even if its caller has hung up. */
  const calls = new Set<Promise<Booked>>()
  /** The calls that send, by their keys. */
  const senders = new Map<string, Promise<void>>()
  const makers = createMakers()
  let draining = false

  const once: Bookings['once'] = async (booking, send) => {
    const { credential, refusal } = booking
    const wanted = newClaim(booking)
    for (;;) {
      const isHeld = await holdLease()
      if (draining) throw shuttingDown()
      if (refusal && !(await isTaken(wanted))) throw refusal
      const doubt = doubtNow()
      const { won, claim } = await take(doubt ? await inDoubt(wanted, doubt, claims) : wanted)
      if (won) {
        if (claim.state === 'unknown') throw announcedUnknown(claim)
        if (credential !== undefined) makers.note(claim.handle, credential)
        const sent = sendClaimed(claim, () => send(isHeld))
        return await announced(claim, sent)
      }
      if (claim.body !== wanted.body && holds(claim)) throw otherBooking(claim)
      switch (claim.state) {
        case 'sending':
          // The service made it, and the store could not record it yet.
          if (record.isUnrecorded(claim.handle)) throw outcomeUnknown(claim.handle)
          await waitFor(claim, booking.deadline)
          break
        case 'booked':
          countBooking('replayed')
          return {
            answer: replay(claim),
            ...(credential !== undefined &&
              !makers.isMaker(claim.handle, credential) && { requiresReadOf: claim.shipment }),
          }
        case 'unknown':
          throw outcomeUnknown(claim.handle)
        case 'refused':
        case 'freed':
          // Released since the attempt to claim it: try again.
          break
        default:
          return claim.state satisfies never
      }
    }
  }

  function newClaim({ tenant, reference, vin, idempotencyKey, fields }: Booking): NewClaim {
    const body = digest(fields)
    const byBody = reference === '' && idempotencyKey === undefined
    const key =
      idempotencyKey !== undefined ? ['key', idempotencyKey] : byBody ? ['body', body] : ['reference', reference, vin]
    return {
      tenant,
      key: digest(key),
      handle: `bk_${randomBytes(HANDLE_BYTES).toString('hex')}`,
      body,
      instance,
      reference,
      vin,
      expiresInMs: byBody ? dedupeWindowMs : undefined,
    }
  }

  /** Returns true if an earlier call has the key: then nothing is sent for this one. */
  async function isTaken({ tenant, key }: NewClaim): Promise<boolean> {
    const claim = await claims.findClaim(tenant, key)
    if (!claim) return false
    const isExpired = claim.expires > 0 && claim.expires <= claims.now()
    return claim.state === 'unknown' || claim.state === 'sending' || (claim.state === 'booked' && !isExpired)
  }

  async function take(wanted: NewClaim): ReturnType<Claims['claim']> {
    try {
      return await claims.claim(wanted)
    } catch (error) {
      // The store may have kept the claim although it failed. Nothing is sent, so the claim must go.
      record.neverSent(wanted.handle)
      throw error
    }
  }

  /** Announces a booking that may have been made before the store was restored. */
  function announcedUnknown(claim: Claim): GatewayError {
    countBooking('unknown')
    onUnknown(claim)
    return outcomeUnknown(claim.handle)
  }

  /** Sends a claimed booking, and records its outcome in the claim. */
  async function sendClaimed(claim: Claim, send: () => Promise<Made>): Promise<Booked> {
    let made: Made
    try {
      made = await send()
    } catch (error) {
      const outcome = await record.failed(claim, error)
      countBooking(outcome)
      if (outcome === 'unknown') throw outcomeUnknown(claim.handle, error)
      throw error instanceof NotBooked ? error.reason : error
    }
    try {
      await record.made(claim, made)
    } catch (error) {
      countBooking('unknown')
      throw outcomeUnknown(claim.handle, error)
    }
    countBooking('made')
    return { answer: made.answer }
  }

  /** Lets the other calls of this gateway wait for the one that sends. */
  async function announced(claim: Claim, sent: Promise<Booked>): Promise<Booked> {
    const id = idOf(claim)
    const over = sent.then(
      () => undefined,
      () => undefined,
    )
    senders.set(id, over)
    try {
      return await sent
    } finally {
      // The next call may have taken the released claim already.
      if (senders.get(id) === over) senders.delete(id)
    }
  }

  /** Waits until the claim may have changed; throws when the call times out. */
  async function waitFor(claim: Claim, deadline: number): Promise<void> {
    const leftMs = deadline - performance.now()
    if (leftMs <= 0) throw underWayStill(claim)
    const look = new Promise<void>((resolve) => setTimeout(resolve, Math.min(LOOK_AGAIN_MS, leftMs)))
    await Promise.race([look, senders.get(idOf(claim)) ?? look])
  }

  async function free(tenant: string, shipment: string): Promise<void> {
    for (const claim of await claims.claimsOfShipment(tenant, shipment)) {
      if (claim.state === 'booked') await claims.change(claim, { state: 'freed', instance, why: 'canceled' })
    }
  }

  return {
    once: (booking, send) => {
      const call = once(booking, send).finally(() => calls.delete(call))
      calls.add(call)
      return call
    },
    free,
    freeLater: async (tenant, shipment) => {
      try {
        await free(tenant, shipment)
      } catch (err) {
        record.retry(`canceled ${shipment}`, err, () => free(tenant, shipment))
      }
    },
    isBooked: async (tenant, shipment) =>
      (await claims.claimsOfShipment(tenant, shipment)).some(({ state }) => state === 'booked'),
    pending: async (tenant) => {
      const states = ['sending', 'unknown'] as const
      return (await Promise.all(states.map((state) => claims.listClaims({ state, tenant, limit: ALL })))).flat()
    },
    drain: async () => {
      draining = true
      await Promise.allSettled(calls)
    },
  }
}

const idOf = ({ tenant, key }: Claim) => `${tenant}\n${key}`

/** Returns true for a key that a booking holds, or is about to hold. */
const holds = ({ state }: Claim) => state === 'sending' || state === 'booked'

function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('base64url')
}

/** Returns a claim without the hash of the body. */
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
