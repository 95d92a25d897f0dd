import type { GatewayError } from '../errors.ts'
import type { Meters } from '../observe/meters.ts'
import { isFree } from '../store/claim.ts'
import type { Doubt } from '../store/doubt.ts'
import type { Claim, Claims, NewClaim, Store } from '../store/store.ts'
import { otherBooking, outcomeUnknown, replay, shuttingDown, underWayStill } from './answers.ts'
import { type Booked, type Booking, type Made, NotBooked } from './booking.ts'
import { inDoubt } from './doubts.ts'
import type { IsHeld } from './lease.ts'
import { createMakers } from './makers.ts'
import { claimFor, newHandle } from './new-claim.ts'
import { courseOf } from './protocol.ts'
import type { BookingRecord, FreeKeys } from './record.ts'

/** Sends bookings once. */
export interface Bookings {
  /**
   * Claims the booking durably, sends it and records it, in this order, or returns the answer of the call that did.
   * `send` is called at most once, and runs to its end even if the caller hangs up. It asks `isHeld` right before the
   * request is written, and writes nothing if that is false. It throws `NotBooked` where it knows that the service made
   * nothing.
   */
  readonly once: (booking: Booking, send: (isHeld: IsHeld) => Promise<Made>) => Promise<Booked>
  /** Frees the keys of the bookings whose shipment has one of these ids, in any spelling, and is gone. */
  readonly free: FreeKeys
  /** Does the same, and tries again with every heartbeat while the store fails. */
  readonly freeLater: FreeKeys
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
  /** @default random */
  readonly handle?: () => string
  /** @default setTimeout */
  readonly wait?: (ms: number) => Promise<void>
}

/** The pause after which a call that waits for another gateway's booking looks at it again. */
const LOOK_AGAIN_MS = 200
/** More than the bookings of one tenant that are ever under way or in doubt. */
const ALL = 1_000_000

/** Makes the function that sends a booking once, with its claims. */
export function createBookings(deps: BookingsDeps): Bookings {
  const { claims, record, instance, holdLease, dedupeWindowMs, doubt: doubtNow, onUnknown, countBooking } = deps
  const { handle = newHandle, wait = waited } = deps
  /** Every call that books or waits, even if its caller has hung up. */
  const calls = new Set<Promise<Booked>>()
  /** The calls that send, by their keys. */
  const senders = new Map<string, Promise<void>>()
  const makers = createMakers()
  let draining = false

  const once: Bookings['once'] = async (booking, send) => {
    const { credential, refusal } = booking
    const wanted = claimFor(booking, { handle: handle(), instance, dedupeWindowMs })
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
      const course = courseOf(claim, wanted.body, record.isUnrecorded(claim.handle))
      switch (course) {
        case 'another-booking':
          throw otherBooking(claim)
        case 'wait':
          await waitFor(claim, booking.deadline)
          break
        case 'replay':
          countBooking('replayed')
          return {
            answer: replay(claim),
            ...(credential !== undefined &&
              !makers.isMaker(claim.handle, credential) && { requiresReadOf: claim.shipment }),
          }
        case 'unknown':
          throw outcomeUnknown(claim.handle)
        case 'claim-again':
          break
        default:
          return course satisfies never
      }
    }
  }

  /** Returns true if an earlier call has the key: then nothing is sent for this one. */
  async function isTaken({ tenant, key }: NewClaim): Promise<boolean> {
    const claim = await claims.findClaim(tenant, key)
    return claim !== undefined && !isFree(claim, claims.now())
  }

  async function take(wanted: NewClaim): ReturnType<Claims['claim']> {
    try {
      return await claims.claim(wanted)
    } catch (error) {
      // The store may have kept the claim although it failed. Nothing is sent, so the claim must go. One in doubt stays: freed, it
      // would count as certain.
      if (wanted.doubtSince === undefined) record.neverSent(wanted.handle)
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
    const look = wait(Math.min(LOOK_AGAIN_MS, leftMs))
    await Promise.race([look, senders.get(idOf(claim)) ?? look])
  }

  return {
    once: (booking, send) => {
      const call = once(booking, send).finally(() => calls.delete(call))
      calls.add(call)
      return call
    },
    free: record.canceled,
    freeLater: record.canceledLater,
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

const waited = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

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
