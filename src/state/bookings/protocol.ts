import { toGatewayError } from '../../edge/answers.ts'
import type { StatusSet } from '../../language/config/values.ts'
import type { ErrorCode } from '../../language/errors.ts'
import { NoReply, type Silence } from '../../outside/service/exchange.ts'
import { SILENT_FOR_MS } from '../../outside/store/instance.ts'
import type { Claim, ClaimChange } from '../../outside/store/store.ts'
import type { Moment } from '../../runtime/time.ts'

/*
 * The decisions of the booking protocol, without a store, a service or a clock. The rules for a claim's row are in store/claim.ts.
 * test/bookings/protocol explores both, together with the code that calls them.
 */

/** Thrown if the service provably made no shipment for a booking; its claim is released. */
export class NotBooked extends Error {
  override readonly name = 'NotBooked'
  /** The error that the call is answered with. */
  readonly reason: unknown

  constructor(reason: unknown) {
    super('The service made no shipment.', { cause: reason })
    this.reason = reason
  }
}

/** How a call continues that did not get the claim of its key. */
export type Course = 'another-booking' | 'wait' | 'unknown' | 'replay' | 'claim-again'

/** Decides how a call continues that found its key claimed; `isUnrecorded` is about the claim. */
export function courseOf(claim: Claim, body: string, isUnrecorded: boolean): Course {
  const { state } = claim
  if (claim.body !== body && (state === 'sending' || state === 'booked')) return 'another-booking'
  switch (state) {
    case 'sending':
      // An unrecorded booking was made by the service, but the store could not record it yet.
      return isUnrecorded ? 'unknown' : 'wait'
    case 'booked':
      return 'replay'
    case 'unknown':
      return 'unknown'
    case 'refused':
    case 'freed':
      // The key was released after the attempt to claim it.
      return 'claim-again'
    default:
      return state satisfies never
  }
}

/** The known outcome of a booking that failed. */
export type Outcome = 'freed' | 'refused' | 'unknown'

/** Errors that prove that nothing was sent, or that the service refused the credential. */
const NOTHING_DONE: ReadonlySet<ErrorCode> = new Set(['login-refused', 'login-failed', 'circuit-open'])

/** Why a request was provably never sent. */
const NEVER_SENT: ReadonlySet<Silence> = new Set(['unsent', 'busy', 'withdrawn'])

/** Returns the outcome that a failed attempt proves. A status in `refusedStatuses` proves that nothing was booked. */
export function proofOf(error: unknown, refusedStatuses: StatusSet): { readonly state: Outcome; readonly why: string } {
  if (error instanceof NotBooked) return { state: 'freed', why: 'nothing was booked' }
  if (error instanceof NoReply) {
    return NEVER_SENT.has(error.silence)
      ? { state: 'freed', why: 'never sent' }
      : { state: 'unknown', why: error.silence }
  }
  const { serviceStatus, code } = toGatewayError(error)
  if (NOTHING_DONE.has(code)) return { state: 'freed', why: code }
  if (serviceStatus === undefined) return { state: 'unknown', why: code }
  return { state: refusedStatuses(serviceStatus) ? 'refused' : 'unknown', why: `answered ${serviceStatus}` }
}

/** Reports whether a claim has no outcome yet. Until it has, a fact that is learned late is still recorded. */
export const isOpen = ({ state }: Claim): boolean => state === 'sending' || state === 'unknown'

/**
 * Decides how to apply a change by the gateway that sent the booking after another change came first. It overrides only the assumption that
 * this gateway has died.
 */
export function afterAnother(current: Claim | undefined, change: ClaimChange): 'told-already' | 'override' | 'lost' {
  // An event of the service or an operator may have recorded the same before.
  if (current?.state === 'booked' && current.shipment === change.shipment) return 'told-already'
  return current?.state === 'unknown' && change.state !== 'unknown' ? 'override' : 'lost'
}

/** The lease of one gateway, as that gateway knows it. */
export interface Lease {
  /** When the last confirmed renewal was requested. */
  readonly confirmedAt: Moment | undefined
  /** Counts how often the lease may have lapsed: another gateway may have taken the claims of an earlier term. */
  readonly term: number
}

/** How long a renewal can be relied on: half of the time after which the lease ends. */
export const HELD_FOR_MS = SILENT_FOR_MS / 2
/** A lease confirmed longer ago is renewed before a claim relies on it. */
const FRESH_FOR_MS = 3_000

/** The lease of a gateway that has just started. */
export const NO_LEASE: Lease = { confirmedAt: undefined, term: 0 }

/** Returns the lease after a renewal. It is unbroken if the store saw the previous renewal within `HELD_FOR_MS`. */
export function renewed({ term }: Lease, confirmedAt: Moment, isUnbroken: boolean): Lease {
  return { confirmedAt, term: isUnbroken ? term : term + 1 }
}

/** Reports whether a lease must be renewed before a claim relies on it. */
export const isStale = (ageMs: number): boolean => ageMs > FRESH_FOR_MS

/** Reports whether claims taken in a term are still this gateway's. */
export function isHeldSince(term: number, lease: Lease, ageMs: number): boolean {
  return lease.term === term && ageMs <= HELD_FOR_MS
}
