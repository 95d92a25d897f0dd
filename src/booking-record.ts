import { asGatewayError } from './answers.ts'
import type { Made } from './bookings.ts'
import type { StatusSet } from './config.ts'
import type { EmergencyLog, Unrecorded } from './emergency-log.ts'
import type { Logger } from './log.ts'
import type { Claim, ClaimChange, Claims } from './store/store.ts'
import { NoReply } from './upstream.ts'
import type { Xref } from './xref.ts'

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
  /** Records what could not be recorded when it happened, here or before the last start; to be called now and then. */
  readonly catchUp: () => Promise<void>
}

export interface BookingRecordDeps {
  readonly claims: Claims
  readonly xref: Pick<Xref, 'keep'>
  readonly instance: string
  readonly log: Logger
  readonly emergencyLog: EmergencyLog
  /** Which statuses of the service prove that nothing was booked. */
  readonly refusedStatuses: StatusSet
  readonly now: () => number
}

/** Makes the record of bookings. */
export function createBookingRecord(deps: BookingRecordDeps): BookingRecord {
  const { claims, instance, log, now } = deps
  /** What is still to be recorded, by handle. */
  const late = new Map<string, () => Promise<unknown>>()
  let leftoversTaken = false

  async function made(claim: Claim, { answer, keepsake }: Made): Promise<void> {
    const entry = { booking: claim.handle, tenant: claim.tenant, answer, keepsake }
    try {
      await write(claim, entry)
    } catch (err) {
      deps.emergencyLog.write(entry)
      late.set(claim.handle, () => writeLate(entry))
      log.error({ booking: claim.handle, shipment: keepsake.id, err }, 'a booking was made and could not be recorded')
      throw err
    }
  }

  async function write(claim: Claim, { tenant, answer, keepsake }: Unrecorded): Promise<void> {
    const reply = JSON.stringify(answer)
    const change = { state: 'booked', instance, at: now(), shipment: keepsake.id, reply, why: 'made' } as const
    const [changed] = await Promise.all([claims.change(claim, change), deps.xref.keep(tenant, keepsake)])
    if (!changed) throw new Error(`the claim ${claim.handle} was changed by somebody else`)
  }

  async function writeLate(entry: Unrecorded): Promise<void> {
    const claim = await claims.claimByHandle(entry.booking)
    if (claim?.state === 'sending' || claim?.state === 'unknown') await write(claim, entry)
    else await deps.xref.keep(entry.tenant, entry.keepsake)
    log.info({ booking: entry.booking, shipment: entry.keepsake.id }, 'a booking was recorded late')
  }

  async function failed(claim: Claim, error: unknown): Promise<Outcome> {
    const { state, why } = proofOf(error)
    const change = { state, why, instance, at: now() }
    try {
      await claims.change(claim, change)
    } catch (err) {
      log.error({ booking: claim.handle, err }, 'the outcome of a booking could not be recorded yet')
      late.set(claim.handle, () => claims.change(claim, change))
    }
    if (state === 'unknown') {
      log.error({ booking: claim.handle, tenant: claim.tenant, why }, 'the outcome of a booking is not known')
    }
    return state
  }

  /** What a failed attempt proves about the booking. */
  function proofOf(error: unknown): Pick<ClaimChange, 'why'> & { readonly state: Outcome } {
    if (error instanceof NoReply) {
      return error.silence === 'unsent'
        ? { state: 'freed', why: 'never sent' }
        : { state: 'unknown', why: error.silence }
    }
    const { serviceStatus, code } = asGatewayError(error)
    if (serviceStatus === undefined) return { state: 'unknown', why: code }
    return { state: deps.refusedStatuses(serviceStatus) ? 'refused' : 'unknown', why: `answered ${serviceStatus}` }
  }

  function neverSent(handle: string): void {
    late.set(handle, async () => {
      const claim = await claims.claimByHandle(handle)
      if (claim?.state === 'sending')
        await claims.change(claim, { state: 'freed', why: 'never sent', instance, at: now() })
    })
  }

  async function catchUp(): Promise<void> {
    if (!leftoversTaken) {
      for (const entry of deps.emergencyLog.read()) late.set(entry.booking, () => writeLate(entry))
      leftoversTaken = true
    }
    if (late.size === 0) return
    for (const [handle, recordIt] of late) {
      await recordIt()
      late.delete(handle)
    }
    deps.emergencyLog.clear()
  }

  return { made, failed, neverSent, catchUp }
}
