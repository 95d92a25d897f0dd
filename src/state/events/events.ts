import type { Credentials } from '../../edge/callers/caller.ts'
import type { Config } from '../../language/config/config.ts'
import type { Tenant } from '../../language/config/tenants-file.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import type { Settings } from '../../language/mapping/row.ts'
import { scalarText } from '../../language/text/json.ts'
import { isPlainId } from '../../language/text/service-text.ts'
import { shipmentIfRead } from '../../outside/service/proofs.ts'
import { type Service, shipmentRead } from '../../outside/service/service.ts'
import type { StoredEvent } from '../../outside/store/events.ts'
import type { Claim, Store } from '../../outside/store/store.ts'
import type { Logger } from '../../runtime/log.ts'
import type { CountedMetric } from '../../runtime/metrics.ts'
import type { Leases } from '../bookings/leases.ts'
import { createResolve, endpointOf } from './callback.ts'
import { type CallbackState, type DeliveryOptions, startDelivery } from './delivery.ts'
import { createHealing } from './healing.ts'
import { openReception, type Reception } from './receive.ts'

/*
 * An event of the service is stored, and then its table is the queue: one sweep delivers it to the tenant's callback, another one reads
 * its shipment where a booking may depend on it. A new event wakes both; what it does not wake, they find by themselves.
 */

/** Receives the events of the service, and keeps bookings and callers up to date by them. */
export interface ServiceEvents {
  readonly reception: Reception
  /** Begins to look for what no new event wakes. */
  readonly start: () => void
  /** Looks for the shipment of a booking that became unknown, because its event may have come first. */
  readonly onUnknown: (claim: Claim) => void
  /** To be called with the tenants of the file whenever they are read. */
  readonly setTenants: (tenants: readonly Tenant[]) => void
  readonly callbacks: () => readonly CallbackState[]
  readonly metrics: readonly CountedMetric[]
  /** Resolves when nothing is under way, at the latest after the grace of a shutdown. */
  readonly close: () => Promise<void>
}

/** A try that is under way at a shutdown may take so long at most; it is made again later. */
const LONGEST_GRACE_MS = 5_000

/** The dependencies of the events. */
interface EventRooms {
  readonly config: Config
  readonly catalog: Catalog
  /** The settings of tenants that have none of their own. */
  readonly settings: Settings
  readonly store: Store
  readonly service: Service
  readonly credentials: Credentials
  readonly leases: Leases
  readonly log: Logger
  /** For tests: how callbacks are delivered. */
  readonly callbacks?: DeliveryOptions | undefined
  readonly sweepEveryMs?: number | undefined
}

/** Opens the reception, the delivery and the healing of a gateway. */
export function openEvents(rooms: EventRooms): ServiceEvents {
  const { config, credentials, service, settings, leases, log, callbacks } = rooms
  const timeoutMs = config.UPSTREAM_TIMEOUT_MS
  const healing = createHealing(rooms)
  const statusOf = async ({ tenant, shipment }: StoredEvent): Promise<string | undefined> => {
    const own = credentials.ownCaller(tenant)
    if (!own || !isPlainId(shipment)) return undefined
    const sending = { account: own.account, requestId: crypto.randomUUID(), deadline: performance.now() + timeoutMs }
    // The event does not wait for a service that fails.
    const reply = await service.send(shipmentRead(shipment), sending).catch(() => undefined)
    return reply && scalarText(shipmentIfRead(reply, shipment)?.body['status'])
  }
  const { instance, hold } = leases
  const delivery = startDelivery({ ...rooms, instance, hold, statusOf, resolve: createResolve(), ...callbacks })
  const reception = openReception({
    ...rooms,
    onStored: ({ tenant, hasCallback }, { spelled, event, fault }) => {
      if (hasCallback && !fault) delivery.wake(tenant)
      if (spelled !== '' && credentials.ownCaller(tenant)) healing.onEvent(tenant, spelled, event)
    },
  })
  let closing: Promise<unknown> | undefined

  return {
    reception,
    onUnknown: healing.onUnknown,
    setTenants: (tenants) => {
      const endpoints = tenants.flatMap((tenant) => endpointOf(tenant, settings) ?? [])
      for (const { tenant, keys } of endpoints)
        if (keys.length === 0) log.warn({ tenant }, 'deliveries are not signed: the tenant has no callback_secrets')
      delivery.setEndpoints(endpoints)
    },
    callbacks: delivery.callbacks,
    metrics: [...reception.metrics, ...healing.metrics, ...delivery.metrics],
    start: () => {
      healing.start()
      delivery.start()
    },
    close: async () => {
      const graceMs = config.SHUTDOWN_GRACE_MS
      closing ??= Promise.all([healing.close(graceMs), delivery.close(Math.min(graceMs, LONGEST_GRACE_MS))])
      await closing
    },
  }
}
