import type { StatusSet } from '../config/values.ts'
import type { Logger } from '../observe/log.ts'
import { type Claim, type ClaimChange, type Claims, StoreDown, type XrefWrite } from '../store/store.ts'
import { thingKey } from '../text/service-text.ts'
import type { Xref } from '../xref/xref.ts'
import { type Backlog, createBacklog, type LateWork } from './backlog.ts'
import type { Made } from './booking.ts'
import type { EmergencyLog, Unrecorded } from './emergency-log.ts'
import { afterAnother, isOpen, type Outcome, proofOf } from './protocol.ts'

/**
 * Frees the keys of the bookings whose shipment has one of these ids, in any spelling. `isGone` is asked for the id that a claim
 * holds, in its own spelling: a service that tells the case of ids apart knows no other.
 */
export type FreeKeys = (
  tenant: string,
  ids: readonly string[],
  isGone: (id: string) => Promise<boolean>,
) => Promise<void>

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
  readonly canceled: FreeKeys
  /** Does the same, and tries again with every heartbeat while the store fails. */
  readonly canceledLater: FreeKeys
  /** Records what is left over from now and from before the last start; called periodically. */
  readonly catchUp: () => Promise<void>
}

export interface BookingRecordDeps {
  readonly claims: Claims
  readonly xref: Pick<Xref, 'rowsOf' | 'write'>
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
  /**
   * The work that is not recorded yet.
   * @default none yet
   */
  readonly backlog?: Backlog
}

/** Makes the record of bookings. */
export function createBookingRecord(deps: BookingRecordDeps): BookingRecord {
  const { claims, instance, log, backlog = createBacklog() } = deps

  async function made(claim: Claim, { answer, record }: Made): Promise<void> {
    const entry = { booking: claim.handle, tenant: claim.tenant, answer, record }
    try {
      await recordMade(claim, entry)
    } catch (err) {
      deps.emergencyLog.write(entry)
      backlog.add(claim.handle, { kind: 'made', entry })
      log.error({ booking: claim.handle, shipment: record.id, err }, 'a booking was made and could not be recorded')
      throw err
    }
  }

  async function recordMade(claim: Claim, { tenant, answer, record }: Unrecorded): Promise<void> {
    // Once the claim says booked, a retry gets the names and may ask for them.
    const names = await deps.xref.rowsOf(tenant, record)
    const reply = JSON.stringify(answer)
    const change = { state: 'booked', instance, shipment: record.id, reply, why: 'made' } as const
    if (!(await changeClaim(claim, change, names)))
      throw new Error(`the claim ${claim.handle} was changed by somebody else`)
  }

  async function changeClaim(claim: Claim, change: ClaimChange, names?: XrefWrite): Promise<Claim | undefined> {
    const changed = await claims.change(claim, change, names)
    if (changed || change.state === 'unknown') return changed
    const current = await claims.claimByHandle(claim.handle)
    const course = afterAnother(current, change)
    if (!current || course === 'lost') return undefined
    return course === 'override' ? claims.change(current, change) : current
  }

  async function recordLate(entry: Unrecorded): Promise<void> {
    const { booking, tenant, record } = entry
    const claim = await claims.claimByHandle(booking)
    if (claim && isOpen(claim)) await recordMade(claim, entry)
    else await deps.xref.write(tenant, record)
    const line = { booking, shipment: record.id, was: claim?.state }
    if (claim && claim.state !== 'freed') log.info(line, 'a booking was recorded late')
    else log.error(line, 'a booking was made although its key is free: there may be a second one')
  }

  async function failed(claim: Claim, error: unknown): Promise<Outcome> {
    const { state, why } = proofOf(error, deps.refusedStatuses)
    const change = { state, why, instance }
    try {
      await recordFailed(claim, change)
    } catch (err) {
      log.error({ booking: claim.handle, err }, 'the outcome of a booking could not be recorded yet')
      backlog.add(claim.handle, { kind: 'failed', claim, change })
    }
    if (state === 'unknown') {
      log.error({ booking: claim.handle, tenant: claim.tenant, why }, 'the outcome of a booking is not known')
    }
    return state
  }

  async function recordFailed(claim: Claim, change: ClaimChange): Promise<void> {
    const changed = await changeClaim(claim, change)
    if (changed?.state === 'unknown') deps.onUnknown?.(changed)
  }

  async function recordNeverSent(handle: string): Promise<void> {
    const claim = await claims.claimByHandle(handle)
    if (claim && isOpen(claim)) await changeClaim(claim, { state: 'freed', why: 'never sent', instance })
  }

  const canceled: FreeKeys = async (tenant, ids, isGone) => {
    for (const shipment of new Set(ids.map(thingKey))) {
      for (const claim of await claims.claimsOfShipment(tenant, shipment)) {
        if (claim.state !== 'booked' || !(await isGone(claim.shipment))) continue
        await claims.change(claim, { state: 'freed', instance, why: 'canceled' })
      }
    }
  }

  const canceledLater: FreeKeys = async (tenant, ids, isGone) => {
    const free = () => canceled(tenant, ids, isGone)
    try {
      await free()
    } catch (err) {
      const booking = `canceled ${[...new Set(ids)].join(' ')}`
      log.warn({ booking, err }, 'a change of bookings could not be recorded yet')
      backlog.add(booking, { kind: 'canceled', free })
    }
  }

  function perform(work: LateWork): Promise<void> {
    switch (work.kind) {
      case 'made':
        return recordLate(work.entry)
      case 'failed':
        return recordFailed(work.claim, work.change)
      case 'never-sent':
        return recordNeverSent(work.handle)
      case 'canceled':
        return work.free()
      default:
        return work satisfies never
    }
  }

  async function catchUp(): Promise<void> {
    for (const entry of deps.emergencyLog.read()) {
      if (!backlog.find(entry.booking)) backlog.add(entry.booking, { kind: 'made', entry })
    }
    for (const [booking, work] of backlog.entries()) {
      try {
        await perform(work)
        backlog.remove(booking, work)
      } catch (err) {
        log.warn({ booking, err }, 'a change of a booking could still not be recorded')
        // If the store is down, the others would fail too; any other error concerns this change alone.
        if (err instanceof StoreDown) return
      }
    }
    if (backlog.entries().length === 0) deps.emergencyLog.clear()
  }

  return {
    made,
    failed,
    neverSent: (handle) => backlog.add(handle, { kind: 'never-sent', handle }),
    isUnrecorded: (handle) => backlog.find(handle)?.kind === 'made',
    canceled,
    canceledLater,
    catchUp,
  }
}
