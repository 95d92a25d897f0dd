import type { Config } from '../config/config.ts'
import type { Logger } from '../observe/log.ts'
import type { Meters } from '../observe/meters.ts'
import type { Claim, Store } from '../store/store.ts'
import type { Xref } from '../xref/xref.ts'
import { type Bookings, createBookings } from './bookings.ts'
import { createKnownDoubt } from './doubts.ts'
import { openEmergencyLog } from './emergency-log.ts'
import { keepLeases, type Leases } from './leases.ts'
import { createBookingRecord } from './record.ts'

export interface OpenBookingsDeps {
  readonly store: Store
  readonly xref: Xref
  readonly instance: string
  readonly log: Logger
  /** Called with each claim that becomes unknown. */
  readonly onUnknown: (claim: Claim) => void
  readonly countBooking: Meters['countBooking']
}

/** Makes the bookings of a gateway with their record, and keeps the gateway's lease. */
export async function openBookings(
  config: Pick<Config, 'EMERGENCY_LOG_FILE' | 'BOOKING_REFUSED_STATUSES' | 'DEDUPE_WINDOW'>,
  { store, xref, instance, log, onUnknown, countBooking }: OpenBookingsDeps,
): Promise<{ readonly bookings: Bookings; readonly leases: Leases }> {
  const record = createBookingRecord({
    claims: store,
    xref,
    instance,
    log,
    emergencyLog: openEmergencyLog(config.EMERGENCY_LOG_FILE),
    refusedStatuses: config.BOOKING_REFUSED_STATUSES,
    onUnknown,
  })
  const doubt = createKnownDoubt(store, log)
  const leases = await keepLeases(instance, {
    store,
    log,
    onRenewed: doubt.refresh,
    catchUp: record.catchUp,
    onUnknown,
  })
  const bookings = createBookings({
    claims: store,
    record,
    instance,
    holdLease: leases.hold,
    dedupeWindowMs: config.DEDUPE_WINDOW,
    doubt: doubt.current,
    onUnknown,
    countBooking,
  })
  return { bookings, leases }
}
