import type { StatusSet } from '../config/values.ts'
import type { ErrorCode } from '../errors.ts'
import { toGatewayError } from '../http/gateway-error.ts'
import type { Logger } from '../observe/log.ts'
import { NoReply, type Silence } from '../service/exchange.ts'
import { type Claim, type ClaimChange, type Claims, StoreDown } from '../store/store.ts'
import type { Xref } from '../xref/xref.ts'
import { type Made, NotBooked } from './booking.ts'
import type { EmergencyLog, Unrecorded } from './emergency-log.ts'

/** Without a token nothing is sent, a refused one proves that nothing was done, and an open circuit lets nothing through. */
const NOTHING_DONE: ReadonlySet<ErrorCode> = new Set(['login-refused', 'login-failed', 'circuit-open'])

/** Why a request was provably never sent. */
const NEVER_SENT: ReadonlySet<Silence> = new Set(['unsent', 'busy', 'withdrawn'])

/** What is known of a booking that failed. */
export type Outcome = 'freed' | 'refused' | 'unknown'

/** Writes down what became of claimed bookings; what cannot be written now is written later. */
export interface BookingRecord {
  /** The service has made it: rejects if that could not be recorded, and then the answer must not say so. */
  readonly made: (claim: Claim, made: Made) => Promise<void>
  /** It failed: says what that proves. */
  readonly failed: (claim: Claim, error: unknown) => Promise<Outcome>
  /** The claim could not be made for sure, and nothing is sent for it. */
  readonly neverSent: (handle: string) => void
  /** Whether a booking was made whose record is still to be written. */
  readonly isUnrecorded: (handle: string) => boolean
  /** Runs work that has failed again with every heartbeat, until it succeeds. */
  readonly retry: (key: string, error: unknown, work: () => Promise<unknown>) => void
  /** Records what could not be recorded when it happened, here or before the last start; to be called now and then. */
  readonly catchUp: () => Promise<void>
}

export interface BookingRecordDeps {
  readonly claims: Claims
  readonly xref: Pick<Xref, 'write'>
  readonly instance: string
  readonly log: Logger
  readonly emergencyLog: EmergencyLog
  /** Which statuses of the service prove that nothing was booked. */
  readonly refusedStatuses: StatusSet
}

/** Makes the record of bookings. */
export function createBookingRecord(deps: BookingRecordDeps): BookingRecord {
  const { claims, instance, log } = deps
  /** What is still to be recorded, by handle. */
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
    // The numbers first: once the claim says booked, a retry is told of them and may ask for them.
    await deps.xref.write(tenant, record)
    const reply = JSON.stringify(answer)
    const change = { state: 'booked', instance, shipment: record.id, reply, why: 'made' } as const
    if (!(await changeClaim(claim, change))) throw new Error(`the claim ${claim.handle} was changed by somebody else`)
  }

  /** Changes a claim; what is known of it counts more than the guess of others that this gateway is gone. */
  async function changeClaim(claim: Claim, change: ClaimChange): Promise<Claim | undefined> {
    const changed = await claims.change(claim, change)
    if (changed || change.state === 'unknown') return changed
    const current = await claims.claimByHandle(claim.handle)
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
    const change = { state, why, instance }
    try {
      await changeClaim(claim, change)
    } catch (err) {
      log.error({ booking: claim.handle, err }, 'the outcome of a booking could not be recorded yet')
      late.set(claim.handle, () => changeClaim(claim, change))
    }
    if (state === 'unknown') {
      log.error({ booking: claim.handle, tenant: claim.tenant, why }, 'the outcome of a booking is not known')
    }
    return state
  }

  /** What a failed attempt proves about the booking. */
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
        log.warn({ booking, err }, 'what became of a booking could not be recorded yet')
        // The next ones would fail too; anything else is the matter of this one alone.
        if (err instanceof StoreDown) return
      }
    }
    if (late.size === 0) deps.emergencyLog.clear()
  }

  return { made, failed, neverSent, retry, isUnrecorded: (handle) => unrecorded.has(handle), catchUp }
}
