import { hash, randomUUID } from 'node:crypto'
import { twoDecimals } from '../../../mappings/codecs.ts'
import type { Answer } from '../../language/answer.ts'
import type { Config } from '../../language/config/config.ts'
import { type GatewayError, gatewayError, RETRY_SOON } from '../../language/errors.ts'
import { scalarText } from '../../language/text/json.ts'
import { textOfHeader } from '../../language/text/service-text.ts'
import { isOtherVehicle } from '../../outside/store/claim.ts'
import type { Doubt } from '../../outside/store/doubt.ts'
import { newInstance } from '../../outside/store/instance.ts'
import { updateLock } from '../../outside/store/locks.ts'
import {
  type Claim,
  type Claims,
  type NamesWrite,
  type NewClaim,
  type ShipmentState,
  type Store,
  StoreDown,
  type StoredShipment,
  type Vehicle,
} from '../../outside/store/store.ts'
import { createBoundedCache, createUnorderedList, type ListItem } from '../../runtime/collections.ts'
import type { Logger } from '../../runtime/log.ts'
import { createLeases, type IsHeld } from './leases.ts'
import { type Course, courseOf, NotBooked } from './protocol.ts'
import { type BookingRecord, createBookingRecord, openEmergencyLog, SHOWN_AS_GONE } from './record.ts'

/** The values that decide whether two bookings are the same. */
export interface BookingIdentity {
  readonly tenant: string
  readonly reference: string
  readonly vin: string
  /** The caller's `Idempotency-Key`, used instead of the reference. */
  readonly idempotencyKey: string | undefined
  readonly vehicle: Vehicle
  /** The caller's fields as version-2 values. Two bookings are the same if these are equal, however they were spelled. */
  readonly body: unknown
}

/** A booking's call, as its claim keeps it. */
interface BookingRequest {
  readonly id: string
  /** Where the vehicle is picked up and delivered. */
  readonly route: readonly string[]
  /** The id of the quote that it refers to; empty if there is none. */
  readonly quote: string
  /** The headers of its answer that do not depend on the reply. */
  readonly headers: Answer['headers']
}

/** A booking to be sent. */
export interface Booking extends BookingIdentity {
  /** The credential that books, if only the service can verify it. It is not stored. */
  readonly credential: string | undefined
  /** When the call times out, in milliseconds of `performance.now()`. */
  readonly deadline: number
  readonly request: BookingRequest
  /**
   * Thrown instead of sending the booking; an earlier call's answer still counts.
   * @default the booking may be sent
   */
  readonly refusal?: Error | undefined
  /** The age from which a booking's shipment is read before its answer is repeated. */
  readonly replayCheckAfterMs: number
  /** Reads a shipment, and frees the key of its booking if it is gone. */
  readonly look: (shipment: string) => Promise<ShipmentState>
}

/** A booking that the service has made. */
export interface MadeBooking {
  readonly answer: Answer
  /** The service's id of the shipment. */
  readonly shipment: string
  /** Makes the numbers of the shipment resolve. */
  readonly record: NamesWrite
}

/** Why a booking is not sent: an earlier answer is repeated, or the booking is refused. */
type Obstacle =
  | (EarlierBooking & { readonly is: 'replay'; readonly answer: Answer })
  | (Partial<EarlierBooking> & { readonly is: 'error'; readonly error: GatewayError })

/** A shipment that was last shown with other vehicles. Whether it has this one since, only a read shows. */
interface InDoubt {
  readonly is: 'in-doubt'
  readonly shipment: string
}

/** A booking that stands, and how long ago it was made. */
interface EarlierBooking {
  readonly claim: Claim
  readonly ageMs: number
}

/** A booking that a call has claimed and sends. The call ends it with `made` or `failed`. */
interface ClaimedBooking {
  readonly claim: Claim
  /** Checked right before the request is written. If it returns false, nothing may be written. */
  readonly isHeld: IsHeld
  /** True if the call met another claim first, so that much may have changed since it began. */
  readonly isLate: boolean
  readonly underWay: ListItem<CallUnderWay>
}

/** A call that books or waits, even if its caller has hung up. */
interface CallUnderWay {
  /** The handle of the claim that the call wants. */
  readonly handle: string
  readonly over: PromiseWithResolvers<void>
  /** The booking that the call sends; undefined until it has the claim. */
  sends: string | undefined
}

/** Sends bookings once: claims them durably, and records their outcome, even if the caller hangs up. */
export type Bookings = ReturnType<typeof createBookings>

/** Counts bookings. */
interface BookingCounter {
  readonly add: (by: number, outcome: 'made' | 'replayed' | 'refused' | 'unknown' | 'freed') => void
}

/** The parts that a gateway's bookings need. */
interface BookingParts {
  readonly claims: Store
  readonly record: BookingRecord
  readonly instance: string
  /** Resolves when this gateway holds its lease. Without the lease, others treat its claims as abandoned. */
  readonly holdLease: () => Promise<IsHeld>
  /** The time within which two bookings with the same body and no reference count as one. */
  readonly dedupeWindowMs: number
  /** Returns the doubt about bookings that the store does not know. */
  readonly doubt: () => Doubt | undefined
  /** Called with a claim that was in doubt and is now unknown. */
  readonly onUnknown: (claim: Claim) => void
  readonly outcomes: BookingCounter
  /** @default random */
  readonly handle?: () => string
  /** @default setTimeout */
  readonly wait?: (ms: number) => Promise<void>
}

/** How often a call that waits for another gateway's booking looks at it again. */
const LOOK_AGAIN_MS = 200

/** Makes the claims and records by which a booking is sent once. */
export function createBookings(deps: BookingParts) {
  const { claims, record, instance, holdLease, dedupeWindowMs, doubt: doubtNow, onUnknown, outcomes } = deps
  const { handle = newHandle, wait = waited } = deps
  const calls = createUnorderedList<CallUnderWay>()
  const makers = createMakers()
  let draining = false

  async function claim(booking: Booking): Promise<ClaimedBooking | { readonly answer: Answer }> {
    const { credential, refusal } = booking
    const request = JSON.stringify(booking.request)
    const wanted = { ...claimFor(booking, handle(), instance, dedupeWindowMs), request }
    const underWay = calls.add({ handle: wanted.handle, over: Promise.withResolvers(), sends: undefined })
    let isClaimed = false
    let looked = ''
    try {
      for (let tries = 1; ; tries += 1) {
        const isHeld = await holdLease()
        await record.changesRecorded(booking.tenant)
        if (draining) throw gatewayError('draining/booking', {}, RETRY_SOON)
        if (refusal && !(await claims.holderOf(wanted))) throw refusal
        const doubt = doubtNow()
        const { won, claim } = await take(doubt ? await inDoubt(wanted, doubt, claims) : wanted)
        if (won) {
          if (claim.state === 'unknown') throw announcedUnknown(claim)
          if (credential !== undefined) makers.note(claim.handle, credential)
          // The other calls of this gateway wait for this one.
          underWay.item.sends = idOf(claim)
          isClaimed = true
          return { claim, isHeld, isLate: tries > 1, underWay }
        }
        const course = courseOf(claim, wanted.body, record.isUnrecorded(claim.handle))
        const shipmentOfOther = course === 'another-booking' ? await otherVehicles(wanted, claim) : undefined
        const isOther = shipmentOfOther?.state === 'in-doubt'
        // The doubt for which the store held this claim against the booking has ended meanwhile.
        if (shipmentOfOther && !isOther) continue
        if (course === 'wait' || (isOther && (await claims.isLocked(updateLock(claim.tenant, claim.shipment))))) {
          await waitFor(claim, booking.deadline)
          continue
        }
        // Another update may have begun since the look.
        if ((isOther || claim.shipment !== looked) && (await isOutdated(claim, course, booking, isOther))) {
          looked = claim.shipment
          continue
        }
        const met = obstacleIn(claim, course)
        if (met?.is === 'error') throw met.error
        if (met) {
          outcomes.add(1, 'replayed')
          return { answer: met.answer }
        }
      }
    } finally {
      if (!isClaimed) end(underWay)
    }
  }

  async function foresee(booking: BookingIdentity): Promise<Obstacle | InDoubt | undefined> {
    const wanted = claimFor(booking, NEW_KEY, instance, dedupeWindowMs)
    const held = await claims.holderOf(wanted)
    if (!held) {
      const doubt = doubtNow()
      const isDoubtful = doubt && (await inDoubt(wanted, doubt, claims)).doubtSince !== undefined
      return isDoubtful ? { is: 'error', error: outcomeUnknown(NEW_KEY) } : undefined
    }
    if ((await otherVehicles(wanted, held))?.state === 'in-doubt') return { is: 'in-doubt', shipment: held.shipment }
    return obstacleIn(held, courseOf(held, wanted.body, record.isUnrecorded(held.handle)))
  }

  /** Returns what a claim means for a call that wanted its key; undefined if the call may claim the key now. */
  function obstacleIn(claim: Claim, course: Course): Obstacle | undefined {
    const earlier = { claim, ageMs: claims.now() - claim.changedAt }
    switch (course) {
      case 'another-booking':
        return { is: 'error', error: otherBooking(claim), ...(claim.state === 'booked' && earlier) }
      case 'wait':
        return { is: 'error', error: bookingUnderWay(claim) }
      case 'unknown':
        return { is: 'error', error: outcomeUnknown(claim.handle) }
      case 'replay':
        return { is: 'replay', ...earlier, answer: replay(claim) }
      case 'claim-again':
        return undefined
      default:
        return course satisfies never
    }
  }

  function end(underWay: ListItem<CallUnderWay>): void {
    calls.take(underWay)
    underWay.item.over.resolve()
  }

  async function made({ claim, underWay }: ClaimedBooking, result: MadeBooking): Promise<Answer> {
    try {
      await record.made(claim, result)
    } catch (error) {
      outcomes.add(1, 'unknown')
      throw outcomeUnknown(claim.handle, error)
    } finally {
      end(underWay)
    }
    outcomes.add(1, 'made')
    return result.answer
  }

  async function failed({ claim, underWay }: ClaimedBooking, error: unknown): Promise<unknown> {
    try {
      const outcome = await record.failed(claim, error)
      outcomes.add(1, outcome)
      if (outcome === 'unknown') return outcomeUnknown(claim.handle, error)
      return error instanceof NotBooked ? error.reason : error
    } finally {
      end(underWay)
    }
  }

  /**
   * Reports whether a look may have changed what a claim means: it shows that the booking's shipment is gone, which frees the key, or
   * settles a doubt about it. An old booking's shipment is looked at too, but there a failed look changes nothing. The look must succeed
   * for a credential that did not make the booking, and if the shipment is in doubt, or was shown as gone before the booking was recorded.
   */
  async function isOutdated(
    { state, changedAt, handle, shipment }: Claim,
    course: Course,
    { tenant, credential, replayCheckAfterMs, look }: Booking,
    isInDoubt: boolean,
  ): Promise<boolean> {
    if (state !== 'booked') return false
    const isOfAnother = course === 'replay' && credential !== undefined && !makers.isMaker(handle, credential)
    // A look by another call may have ended the doubt since.
    const mayBeGone = isInDoubt || !(await isStoredAsLive(tenant, shipment))
    const mustRead = isOfAnother || mayBeGone
    // A clock that was ahead may have been set back since.
    if (!mustRead && Math.abs(claims.now() - changedAt) < replayCheckAfterMs) return false
    const shown = await look(shipment).catch((error: unknown) => {
      if (mustRead) throw error
      return 'live'
    })
    // The look may have shown other vehicles.
    if (shown === 'live') return mayBeGone
    // The look frees the key. Until the store has done so, the old answer is no longer true and a new booking is not safe.
    if (await isBooked(tenant, shipment)) throw new StoreDown('the key of a canceled booking is not freed yet')
    return true
  }

  /**
   * Returns the shipment of a claim that the store held against a booking of another vehicle: it does so only while an update may have
   * changed its vehicle. Undefined if the vehicle may be the same.
   */
  async function otherVehicles(wanted: NewClaim, held: Claim): Promise<StoredShipment | undefined> {
    const shipment = await claims.shipment(held.tenant, held.shipment)
    return wanted.isOfReference && isOtherVehicle(wanted, held, shipment) ? shipment : undefined
  }

  const isStoredAsLive = async (tenant: string, shipment: string) =>
    ((await claims.shipment(tenant, shipment))?.state ?? 'live') === 'live'

  const isBooked = async (tenant: string, shipment: string, besides?: string) =>
    (await holdersOf(tenant, shipment, claims)).some(({ handle: one }) => one !== besides)

  async function take(wanted: NewClaim): ReturnType<Claims['claim']> {
    try {
      return await claims.claim(wanted)
    } catch (error) {
      // The store may have kept the claim although it failed. Nothing is sent, so the claim must go. A claim in doubt stays, because once
      // freed it would count as certain.
      if (wanted.doubtSince === undefined) record.neverSent(wanted.handle)
      throw error
    }
  }

  /** Reports a booking that may have been made before the store was restored, and returns its error. */
  function announcedUnknown(claim: Claim): GatewayError {
    outcomes.add(1, 'unknown')
    onUnknown(claim)
    return outcomeUnknown(claim.handle)
  }

  /** Waits until the claim may have changed; throws when the call times out. */
  async function waitFor(claim: Claim, deadline: number): Promise<void> {
    const leftMs = deadline - performance.now()
    if (leftMs <= 0) throw bookingUnderWay(claim)
    const look = wait(Math.min(LOOK_AGAIN_MS, leftMs))
    const id = idOf(claim)
    const sender = calls.items().find(({ sends }) => sends === id)
    await Promise.race([look, sender?.over.promise ?? look])
  }

  return {
    /** Claims a booking durably for a call that sends it now, or returns the answer of the call that sent it. */
    claim,
    /**
     * Returns what a call with this booking would meet by the rules of `claim`, without claiming anything; undefined if it would be sent.
     */
    foresee,
    /** Records a booking that the service made. Only then may it be answered. */
    made,
    /**
     * Records what a booking's error proves, and returns the error that the call is answered with. `NotBooked` says that the service made
     * nothing.
     */
    failed,
    freeLater: record.freeLater,
    later: record.later,
    /** Resolves once everything that `later` keeps for a tenant is recorded; rejects if the store cannot record it. */
    changesRecorded: record.changesRecorded,
    /** Reports whether a booking has this shipment, other than the one with a given handle. */
    isBooked,
    /** Frees claims that the store kept although it reported a failure: nothing is sent for them. */
    freeStrays: async () => {
      const sending = await claims.listClaims({ state: 'sending' })
      const handles = new Set(calls.items().map(({ handle }) => handle))
      for (const claim of sending)
        if (claim.instance === instance && !handles.has(claim.handle) && !record.isWaiting(claim.handle))
          await claims.change(claim, { state: 'freed', why: 'never sent', instance })
    },
    /** Starts no more bookings; resolves when this gateway has none under way. */
    drain: async () => {
      draining = true
      await Promise.all(calls.items().map(({ over }) => over.promise))
    },
  }
}

/**
 * Returns a claim that is in doubt if the booking may have been made before the store was restored: the store has no claim for its key, or
 * only knows from before the restore that the key was free. Everything that the store has learned since then is certain.
 */
async function inDoubt(wanted: NewClaim, doubt: Doubt, claims: Store): Promise<NewClaim> {
  const { vin, expiresInMs } = wanted
  // A booking without a reference is a new one once the time for duplicates has passed.
  if (expiresInMs !== undefined && claims.now() >= doubt.declaredAt + expiresInMs) return wanted
  const known = await claimsBeside(wanted, claims)
  for (const claim of known) {
    if (claim.vin !== vin || claim.changedAt < doubt.declaredAt) continue
    // A shipment that was gone before the restore does not tell whether the same was booked again, also before the restore.
    const isOld = claim.createdAt < doubt.declaredAt && claim.state === 'freed'
    if (!isOld || (await claims.audit(claim.handle)).at(-1)?.why !== SHOWN_AS_GONE) return wanted
  }
  return { ...wanted, doubtSince: doubt.since }
}

/** Returns the claims that a wanted one may meet: those with its reference, or the one with its key. */
async function claimsBeside(
  { tenant, key, reference, isOfReference }: NewClaim,
  claims: Claims,
): Promise<readonly Claim[]> {
  if (isOfReference)
    return (await claims.claimsOfReference(tenant, reference)).filter((claim) => claim.reference === reference)
  const claim = await claims.findClaim(tenant, key)
  return claim ? [claim] : []
}

/** Returns the bookings that hold a shipment. */
export async function holdersOf(tenant: string, shipment: string, store: Claims): Promise<readonly Claim[]> {
  return (await store.claimsOfShipment(tenant, shipment)).filter(({ state }) => state === 'booked')
}

/** Returns the call that made a claim, as far as it is known. Only this program writes its JSON. */
export const requestOf = ({ request }: Claim): Partial<BookingRequest> => (request === '' ? {} : JSON.parse(request))

/** A placeholder for the key that only the live call makes. */
export const NEW_KEY = 'bk_…'

const idOf = ({ tenant, key }: Claim) => `${tenant}\n${key}`

const waited = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Returns a new handle for a claim: 48 random bits. Node keeps the bits of many UUIDs ready, but not small amounts of random bytes. */
function newHandle(): string {
  const [first = '', second = ''] = randomUUID().split('-', 2)
  return `bk_${first}${second}`
}

/** Returns the claim that a booking needs before it is sent. */
function claimFor(booking: BookingIdentity, handle: string, instance: string, dedupeWindowMs: number): NewClaim {
  const { tenant, reference, vin, idempotencyKey } = booking
  const { year, make, model } = booking.vehicle
  const body = digest(booking.body)
  const byBody = reference === '' && idempotencyKey === undefined
  const key =
    idempotencyKey !== undefined ? ['key', idempotencyKey] : byBody ? ['body', body] : ['reference', reference]
  return {
    tenant,
    key: digest(key),
    handle,
    body,
    instance,
    reference,
    vin,
    vehicle: JSON.stringify({ year, make, model }),
    request: '',
    isOfReference: !byBody && idempotencyKey === undefined,
    expiresInMs: byBody ? dedupeWindowMs : undefined,
  }
}

function digest(value: unknown): string {
  return hash('sha256', JSON.stringify(value), 'base64url')
}

const BOOKINGS_KEPT = 10_000

/**
 * Remembers which credential made which booking, by keyed hashes. The key exists only in this process, so the hashes are useless elsewhere.
 */
function createMakers() {
  const key = randomUUID()
  const made = createBoundedCache<string, string>(BOOKINGS_KEPT)
  return {
    note: (booking: string, credential: string) => made.set(booking, digest([key, credential])),
    isMaker: (booking: string, credential: string) => made.get(booking) === digest([key, credential]),
  }
}

/** The header of an answer that was given to an earlier call. */
export const REPLAYED_HEADER = 'Idempotent-Replayed'

/** Returns a booking's stored answer, marked as repeated. */
export function replay(claim: Claim): Answer {
  // Only the record of bookings and an operator's settlement write this, in the same form.
  const answer = JSON.parse(claim.reply) as Answer
  return { ...answer, headers: { ...answer.headers, [REPLAYED_HEADER]: 'true' } }
}

/** The header with the service's number. */
export const NUMBER_HEADER = 'Transload-Shipment-Number'

/** Returns the service's number from a booking's stored answer. */
export function numberIn({ reply }: Claim): string | undefined {
  if (reply === '') return undefined
  // Only the record of bookings and an operator's settlement write this.
  const { headers }: Partial<Answer> = JSON.parse(reply)
  const number = headers?.[NUMBER_HEADER]
  return number && textOfHeader(number)
}

/** The error of a call that timed out while it waited for the same booking. */
export function bookingUnderWay({ handle: key }: Claim): GatewayError {
  return gatewayError('booking-under-way', { key }, { ...RETRY_SOON, mayHaveBooked: true })
}

/** The error of a booking whose key another booking holds. */
function otherBooking({ state, handle: key }: Claim): GatewayError {
  // `No` would make the caller book again, and `Yes` would confirm details that were never booked.
  const details = { mayHaveBooked: true }
  return gatewayError(state === 'sending' ? 'booking-conflict/under-way' : 'booking-conflict', { key }, details)
}

/** The error of a booking that may or may not have been made. */
export function outcomeUnknown(key: string, cause?: unknown): GatewayError {
  return gatewayError('outcome-unknown', { key }, { cause })
}

/** Makes a gateway's bookings with their record, and the lease that their claims rely on. Nothing is claimed before `start`. */
export function openBookings(
  { config, store, log }: { readonly config: Config; readonly store: Store; readonly log: Logger },
  outcomes: BookingCounter,
) {
  const instance = newInstance()
  let tell = (_claim: Claim) => {}
  const onUnknown = (claim: Claim) => tell(claim)
  const record = createBookingRecord({
    claims: store,
    instance,
    log,
    emergencyLog: openEmergencyLog(config.EMERGENCY_LOG_FILE),
    refusedStatuses: config.BOOKING_REFUSED_STATUSES,
    onUnknown,
  })
  const catchUp = async () => {
    await record.catchUp()
    await bookings.freeStrays()
  }
  const leases = createLeases(instance, { store, log, catchUp, onUnknown })
  const bookings: Bookings = createBookings({
    claims: store,
    record,
    instance,
    holdLease: leases.hold,
    dedupeWindowMs: config.DEDUPE_WINDOW,
    doubt: leases.doubt,
    onUnknown,
    outcomes,
  })
  return {
    bookings,
    leases,
    /** Takes the lease, settles what earlier runs left, and from then on reports each claim that becomes unknown. */
    start: (listener: (claim: Claim) => void) => {
      tell = listener
      record.load()
      return leases.start()
    },
  }
}

/** The header of a booking whose shipment has a different price than its quote. */
export const PRICE_HEADER = 'Transload-Price'

/** Returns the header with both prices; none if they are equal or one of them is unknown. */
export function priceHeader(quoted: string | undefined, shipment: unknown): Readonly<Record<string, string>> {
  const asked = twoDecimals(quoted ?? '')
  const booked = twoDecimals(scalarText(Object(shipment).price) ?? '')
  return asked === undefined || booked === undefined || asked === booked
    ? {}
    : { [PRICE_HEADER]: `quoted=${asked}, booked=${booked}` }
}
