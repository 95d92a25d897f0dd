import type { StatusSet } from '../config/values.ts'
import type { ErrorCode } from '../errors.ts'
import { toGatewayError } from '../http/gateway-error.ts'
import type { Logger } from '../observe/log.ts'
import { NoReply, type Silence } from '../service/exchange.ts'
import { type Claim, type ClaimChange, type Claims, StoreDown } from '../store/store.ts'
import type { Xref } from '../xref/xref.ts'
import { type Made, NotBooked } from './booking.ts'
import type { EmergencyLog, Unrecorded } from './emergency-log.ts'

/** Errors that prove that nothing was sent, or that the service refused the credential. */
const NOTHING_DONE: ReadonlySet<ErrorCode> = new Set(['login-refused', 'login-failed', 'circuit-open'])

/** Why a request was provably never sent. */
const NEVER_SENT: ReadonlySet<Silence> = new Set(['unsent', 'busy', 'withdrawn'])

/** The known facts of a booking that failed. */
export type Outcome = 'freed' | 'refused' | 'unknown'

/** Records the outcome of claimed bookings; retries later what the store cannot record now. */
export interface BookingRecord {
  /** The service made the booking. Rejects if that could not be recorded; then the answer must not report success. */
  readonly made: (claim: Claim, made: Made) => Promise<void>
  /** The booking failed; returns the outcome that the error proves. */
  readonly failed: (claim: Claim, error: unknown) => Promise<Outcome>
  /** The claim may or may not be stored, and nothing is sent for it. */
  readonly neverSent: (handle: string) => void
  /** Returns true for a booking that was made and is not recorded yet. */
  readonly isUnrecorded: (handle: string) => boolean
  /** Retries failed work with every heartbeat, until it succeeds. */
  readonly retry: (key: string, error: unknown, work: () => Promise<unknown>) => void
  /** Records what is left over from now and from before the last start; called periodically. */
  readonly catchUp: () => Promise<void>
}

export interface BookingRecordDeps {
  readonly claims: Claims
  readonly xref: Pick<Xref, 'write'>
  readonly instance: string
  readonly log: Logger
  readonly emergencyLog: EmergencyLog
  /** The statuses of the service that prove that nothing was booked. */
  readonly refusedStatuses: StatusSet
  /**
   * Called with a claim whose outcome was recorded as unknown.
   * @default does nothing
   */
  readonly onUnknown?: (claim: Claim) => void
}

/** Makes the record of bookings. */
export function createBookingRecord(deps: BookingRecordDeps): BookingRecord {
  const { claims, instance, log } = deps
  /** Changes that are not recorded yet, by handle. */
  const late = new Map<string, () => Promise<unknown>>()
  const unrecorded = new Set<string>()

  async function made(claim: Claim, { answer, record }: Made): Promise<void> {
    const entry = { booking: claim.handle, tenant: claim.tenant, answer, record }
    try {
      await recordMade(claim, entry)
    } catch (err) {
      deps.emergencyLog.write(entry)
      late.set(claim.handle, () => recordLate(entry))
      unrecorded.add(claim.handle)
      log.error({ booking: claim.handle, shipment: record.id, err }, 'a booking was made and could not be recorded')
      throw err
    }
  }

  async function recordMade(claim: Claim, { tenant, answer, record }: Unrecorded): Promise<void> {
    // The names come first: once the claim says booked, a retry gets them and may ask for them.
    await deps.xref.write(tenant, record)
    const reply = JSON.stringify(answer)
    const change = { state: 'booked', instance, shipment: record.id, reply, why: 'made' } as const
    if (!(await changeClaim(claim, change))) throw new Error(`the claim ${claim.handle} was changed by somebody else`)
  }

  /** Changes a claim. The facts override another gateway's assumption that this gateway has died. */
  async function changeClaim(claim: Claim, change: ClaimChange): Promise<Claim | undefined> {
    const changed = await claims.change(claim, change)
    if (changed || change.state === 'unknown') return changed
    const current = await claims.claimByHandle(claim.handle)
    // An event of the service, or an operator, may have told the same before.
    if (current?.state === 'booked' && current.shipment === change.shipment) return current
    return current?.state === 'unknown' ? claims.change(current, change) : undefined
  }

  async function recordLate(entry: Unrecorded): Promise<void> {
    const { booking, tenant, record } = entry
    const claim = await claims.claimByHandle(booking)
    if (claim?.state === 'sending' || claim?.state === 'unknown') await recordMade(claim, entry)
    else await deps.xref.write(tenant, record)
    const line = { booking, shipment: record.id, was: claim?.state }
    if (claim && claim.state !== 'freed') log.info(line, 'a booking was recorded late')
    else log.error(line, 'a booking was made although its key is free: there may be a second one')
  }

  async function failed(claim: Claim, error: unknown): Promise<Outcome> {
    const { state, why } = proofOf(error)
    const recorded = async () => {
      const changed = await changeClaim(claim, { state, why, instance })
      if (changed?.state === 'unknown') deps.onUnknown?.(changed)
    }
    try {
      await recorded()
    } catch (err) {
      log.error({ booking: claim.handle, err }, 'the outcome of a booking could not be recorded yet')
      late.set(claim.handle, recorded)
    }
    if (state === 'unknown') {
      log.error({ booking: claim.handle, tenant: claim.tenant, why }, 'the outcome of a booking is not known')
    }
    return state
  }

  /** Returns the outcome that a failed attempt proves. */
  function proofOf(error: unknown): Pick<ClaimChange, 'why'> & { readonly state: Outcome } {
    if (error instanceof NotBooked) return { state: 'freed', why: 'nothing was booked' }
    if (error instanceof NoReply) {
      return NEVER_SENT.has(error.silence)
        ? { state: 'freed', why: 'never sent' }
        : { state: 'unknown', why: error.silence }
    }
    const { serviceStatus, code } = toGatewayError(error)
    if (NOTHING_DONE.has(code)) return { state: 'freed', why: code }
    if (serviceStatus === undefined) return { state: 'unknown', why: code }
    return { state: deps.refusedStatuses(serviceStatus) ? 'refused' : 'unknown', why: `answered ${serviceStatus}` }
  }

  function neverSent(handle: string): void {
    late.set(handle, async () => {
      const claim = await claims.claimByHandle(handle)
      if (claim?.state !== 'sending' && claim?.state !== 'unknown') return
      await changeClaim(claim, { state: 'freed', why: 'never sent', instance })
    })
  }

  function retry(key: string, err: unknown, work: () => Promise<unknown>): void {
    log.warn({ booking: key, err }, 'a change of bookings could not be recorded yet')
    late.set(key, work)
  }

  async function catchUp(): Promise<void> {
    for (const entry of deps.emergencyLog.read()) {
      if (!late.has(entry.booking)) late.set(entry.booking, () => recordLate(entry))
    }
    for (const [booking, recordIt] of late) {
      try {
        await recordIt()
        late.delete(booking)
        unrecorded.delete(booking)
      } catch (err) {
        log.warn({ booking, err }, 'a change of a booking could still not be recorded')
        // If the store is down, the others would fail too; any other error concerns this change alone.
        if (err instanceof StoreDown) return
      }
    }
    if (late.size === 0) deps.emergencyLog.clear()
  }

  return { made, failed, neverSent, retry, isUnrecorded: (handle) => unrecorded.has(handle), catchUp }
}
