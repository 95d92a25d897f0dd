import type { Credentials } from '../callers/caller.ts'
import { endOfTurn } from '../http/middleware.ts'
import type { Logger } from '../observe/log.ts'
import { type Claim, LockTimeout, type Store, StoreDown } from '../store/store.ts'
import { isPlainId } from '../text/service-text.ts'
import type { Healing } from './healing.ts'
import { ALL } from './unknown-bookings.ts'

/** Looks for the shipments of unknown bookings where the service can be asked without guessing. */
export interface Sweep {
  /** Sweeps now, and then after every interval. */
  readonly start: () => void
  /** Looks at the shipments that events told of since a booking was claimed; rejects if the store fails. */
  readonly lookAtEvents: (claim: Claim, look: (shipment: string) => void) => Promise<void>
  /** Ends the sweep that is under way, and starts no more. */
  readonly close: () => Promise<void>
}

export interface SweepDeps {
  readonly store: Store
  readonly healing: Healing
  readonly credentials: Pick<Credentials, 'ownCaller'>
  readonly intervalMs: number
  readonly log: Logger
}

/** Bookings of one sweep. The next one continues with those that were not looked at for the longest time. */
const MOST_BOOKINGS = 1_000
/** Shipments that are looked at for one booking: the event of a new shipment comes soon after the booking. */
const MOST_SHIPMENTS = 1_000
/** Shipments of one sweep. */
const MOST_LOOKS = 50_000
const SECOND_MS = 1_000
/** A service that fails so often in a row is asked again by the next sweep. */
const MOST_FAILURES = 3
/** Another gateway that is sweeping does the work of this one, too. */
const LOCK_WAIT_MS = 100

/** Makes the sweep of one gateway; among the gateways of a store, one sweeps at a time. */
export function createSweep({ store, healing, credentials, intervalMs, log }: SweepDeps): Sweep {
  /** The unknown bookings that were looked at, longest ago first. */
  let lookedAt = new Set<string>()
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  async function sweep(): Promise<void> {
    const unknown = (await store.listClaims({ state: 'unknown', limit: ALL })).filter(isAskable)
    if (unknown.length === 0) return
    await store.exclusive('sweep of unknown bookings', LOCK_WAIT_MS, (isHeld) => sweepAll(unknown, isHeld))
  }

  const isAskable = ({ tenant, reference }: Claim) => reference !== '' && credentials.ownCaller(tenant) !== undefined

  async function sweepAll(unknown: readonly Claim[], isHeld: () => boolean): Promise<void> {
    lookedAt = lookedAt.intersection(new Set(unknown.map(({ handle }) => handle)))
    const order = [...unknown.filter(({ handle }) => !lookedAt.has(handle)), ...inOrder(unknown, lookedAt)]
    const failures = new Map<string, number>()
    const look = createLook()
    for (const claim of order.slice(0, MOST_BOOKINGS)) {
      // Reads of the embedded store do not wait: callers come first.
      await endOfTurn()
      if (isClosed || !isHeld() || look.isSpent()) return
      const failed = failures.get(claim.tenant) ?? 0
      if (failed >= MOST_FAILURES) continue
      lookedAt.delete(claim.handle)
      lookedAt.add(claim.handle)
      failures.set(claim.tenant, (await sweepOne(claim, look.at)) ? 0 : failed + 1)
    }
  }

  /** Returns false if the service could not be asked. */
  async function sweepOne(claim: Claim, lookAtEvents: (claim: Claim) => Promise<void>): Promise<boolean> {
    const { handle, tenant } = claim
    try {
      await lookAtEvents(claim)
      const isOpen = !isClosed && (await store.claimByHandle(handle))?.state === 'unknown'
      if (isOpen && isPlainId(claim.reference)) await healing.byReference(claim)
      return true
    } catch (err) {
      if (err instanceof StoreDown) throw err
      log.warn({ booking: handle, tenant, err }, 'the shipment of an unknown booking could not be looked for')
      return false
    }
  }

  /** Makes the look at the shipments with events since a booking was claimed, each once in a sweep. */
  function createLook(): { readonly at: (claim: Claim) => Promise<void>; readonly isSpent: () => boolean } {
    const looked = new Set<string>()
    const isNew = (...names: readonly unknown[]) => {
      const before = looked.size
      return looked.add(JSON.stringify(names)).size > before
    }
    const at = async ({ tenant, createdAt }: Claim) => {
      // Bookings of one second share a look: an outage makes thousands of them unknown.
      const since = Math.floor(createdAt / SECOND_MS) * SECOND_MS
      if (!isNew(tenant, since)) return
      for (const shipment of await store.shipmentsWithEvents(tenant, since, MOST_SHIPMENTS)) {
        if (!isNew(tenant, shipment)) continue
        if (isClosed) return
        if (!(await healing.isKnownStranger(tenant, shipment))) await healing.byShipment(tenant, shipment, 'sweep')
      }
    }
    return { at, isSpent: () => looked.size > MOST_LOOKS }
  }

  function run(): void {
    running ??= sweep()
      .catch((err: unknown) => {
        if (!(err instanceof LockTimeout)) log.warn({ err }, 'the sweep of unknown bookings failed')
      })
      .finally(() => {
        running = undefined
      })
  }

  return {
    start: () => {
      timer = setInterval(run, intervalMs)
      run()
    },
    lookAtEvents: async ({ tenant, createdAt }, look) => {
      if (credentials.ownCaller(tenant) === undefined) return
      for (const shipment of await store.shipmentsWithEvents(tenant, createdAt, MOST_SHIPMENTS)) look(shipment)
    },
    close: async () => {
      isClosed = true
      clearInterval(timer)
      await running
    },
  }
}

/** Returns claims in the order of their handles in a set. */
function inOrder(claims: readonly Claim[], handles: ReadonlySet<string>): readonly Claim[] {
  const byHandle = new Map(claims.map((claim) => [claim.handle, claim]))
  return [...handles].flatMap((handle) => byHandle.get(handle) ?? [])
}
