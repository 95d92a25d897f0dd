import type { Doubt, StoreOrigin } from '../../outside/store/doubt.ts'
import { isAlive, SILENT_FOR_MS } from '../../outside/store/instance.ts'
import { type Claim, type Claims, type Store, StoreDown } from '../../outside/store/store.ts'
import type { Logger } from '../../runtime/log.ts'
import { currentMoment, elapsedSince, type Moment, oneAtATime } from '../../runtime/time.ts'
import { HELD_FOR_MS, isHeldSince, isStale, type Lease, NO_LEASE, renewed } from './protocol.ts'

/** Reports whether this gateway's claims are still its own. Costs no store lookup. */
export type IsHeld = () => boolean

/** This gateway's lease among the gateways of one store. */
export type Leases = ReturnType<typeof createLeases>

const HEARTBEAT_EVERY_MS = 2_500

/** The rooms of a heartbeat. */
interface HeartbeatRooms {
  readonly store: Store
  readonly log: Logger
  /** Runs with every heartbeat. */
  readonly catchUp: () => Promise<void>
  /**
   * Called with a claim that became unknown because its gateway is gone.
   * @default does nothing
   */
  readonly onUnknown?: (claim: Claim) => void
}

/**
 * Keeps this gateway's lease. With every renewal, it also refreshes what is known about the store, before a claim may rely on the renewal.
 * Turns the claims of gateways that are gone into unknown ones.
 */
export function createLeases(instance: string, rooms: HeartbeatRooms) {
  const { store, log } = rooms
  const known = createKnownDoubt(store, log)
  const lease = createLease(instance, store, known.refresh)
  const beat = createHeartbeat(lease, rooms)
  let areEnded = false
  const heartbeats = oneAtATime(async () => {
    // A store that does not answer at the start is asked again.
    if (!areEnded) areEnded = await endDeadLeases(rooms)
    await beat()
  })
  let timer: NodeJS.Timeout | undefined
  return {
    ...lease,
    doubt: known.doubt,
    isWhole: known.isWhole,
    /** Ends the leases of earlier runs, takes this one, and renews it from now on. */
    start: async () => {
      await heartbeats.run()
      // A store that hangs must not be met by a queue of heartbeats when it is back.
      timer = setInterval(heartbeats.run, HEARTBEAT_EVERY_MS)
    },
    /** Ends the lease. Claims still under way then belong to no gateway. */
    end: async () => {
      clearInterval(timer)
      await heartbeats.current()
      await store.endLease(instance).catch((err: unknown) => log.warn({ err }, 'the lease could not be ended'))
    },
  }
}

/** Makes the work of a heartbeat, which never rejects. */
export function createHeartbeat(
  { instance, renew }: ReturnType<typeof createLease>,
  { store, log, catchUp, onUnknown }: HeartbeatRooms,
): () => Promise<void> {
  return async () => {
    try {
      await renew()
      for (const claim of await store.orphanClaims(SILENT_FOR_MS, instance)) {
        const { handle, tenant } = claim
        onUnknown?.(claim)
        log.error({ booking: handle, tenant, why: 'its gateway is gone' }, 'the outcome of a booking is not known')
      }
      await catchUp()
    } catch (err) {
      log.warn({ err }, 'the lease could not be renewed')
    }
  }
}

/**
 * Ends the leases of gateways that are gone, and with them the leases of their events; never rejects. On the embedded store, every gateway
 * is a process on this machine, so a restart knows at once which are gone. Returns false if the store fails.
 */
export async function endDeadLeases(
  { store, log }: { readonly store: Store; readonly log: Logger },
  isRunning: (instance: string) => boolean = isAlive,
): Promise<boolean> {
  if (store.engine !== 'sqlite') return true
  try {
    for (const instance of await store.liveInstances()) if (!isRunning(instance)) await store.endLease(instance)
    return true
  } catch (err) {
    log.warn({ err }, 'the leases of earlier runs could not be ended')
    return false
  }
}

/** A lease's clock and state. */
interface LeaseState {
  lease: Lease
  readonly now: () => Moment
  readonly elapsedSince: (moment: Moment) => number
}

/** Creates a gateway's lease, not confirmed by the store yet. `onRenewed` runs before a claim may rely on a renewal. */
export function createLease(
  instance: string,
  store: Claims,
  onRenewed: () => Promise<void>,
  state: LeaseState = { lease: NO_LEASE, now: currentMoment, elapsedSince },
) {
  async function renew(): Promise<void> {
    const asked = state.now()
    const isUnbroken = await store.renewLease(instance, HELD_FOR_MS)
    const next = renewed(state.lease, asked, isUnbroken)
    // A term that is over stays over even if the rest fails.
    state.lease = { ...state.lease, term: next.term }
    await onRenewed()
    state.lease = { ...state.lease, confirmedAt: next.confirmedAt }
  }
  const age = () => {
    const { confirmedAt } = state.lease
    return confirmedAt ? state.elapsedSince(confirmedAt) : Number.POSITIVE_INFINITY
  }
  return {
    instance,
    renew,
    /**
     * Resolves when the store has confirmed the lease recently. The returned function reports whether claims taken from now on are still
     * this gateway's. It is false once the lease may have lapsed, even if it was renewed afterwards.
     */
    hold: async (): Promise<IsHeld> => {
      if (isStale(age())) await renew()
      const { term } = state.lease
      return () => isHeldSince(term, state.lease, age())
    },
  }
}

/** Keeps the doubt about a store. Logs the doubt, and whether the store is a copy, once the store answers. */
function createKnownDoubt(store: Store, log: Logger) {
  let current: Doubt | undefined
  let isOriginKnown = false
  let isWhole = true
  return {
    /** Asks the store. Runs with every renewal of the lease, and rejects if the store fails. */
    async refresh(): Promise<void> {
      isWhole = (await store.copiedFrom()) === undefined
      if (!isOriginKnown) {
        const origin = await store.origin().catch((err: unknown) => {
          if (err instanceof StoreDown) throw err
          log.warn({ err }, 'the stamp beside the store cannot be read')
        })
        isOriginKnown = true
        const text = origin && originText(origin)
        if (text !== undefined) log.warn({}, text)
      }
      const before = current
      current = await store.doubt()
      if (current?.declaredAt === before?.declaredAt && current?.until === before?.until) return
      if (current) log.warn(doubtView(current), 'bookings that the store does not know are in doubt')
      else log.info('bookings are no longer in doubt')
    },
    /** Returns the current doubt. Costs nothing: no booking relies on a lease that is older than this answer. */
    doubt: () => current,
    /** False for a store that was copied to another one, or that an unfinished copy is filling: it takes no bookings. */
    isWhole: () => isWhole,
  }
}

/** Returns a doubt with its times as text. */
export function doubtView({ since, declaredAt, until }: Doubt) {
  return {
    since: new Date(since).toISOString(),
    declared: new Date(declaredAt).toISOString(),
    ...(until !== 0 && { until: new Date(until).toISOString() }),
  }
}

const REMEDY = 'bookings that were made after the copy can be booked again; see “Restore” in docs/data.md'

/** Returns a sentence about a store that is a copy; undefined for any other store. */
export function originText(origin: StoreOrigin): string | undefined {
  switch (origin.kind) {
    case 'own':
      return undefined
    case 'backup':
      return `the store is a backup of ${new Date(origin.at).toISOString()} that was put in place without "transload store restore": ${REMEDY}`
    case 'moved':
      return `the store was copied or moved here without its stamp: if it is a copy, ${REMEDY}`
    case 'other':
      return `the store is not the one that stood here, which was replaced or deleted: its bookings can be booked again; see “A changed store” in docs/data.md`
    case 'older':
      return `the store is an old copy of the one that stood here: ${REMEDY}`
    default:
      return origin satisfies never
  }
}
