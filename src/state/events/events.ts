import { createSourceLimits } from '../../edge/callers/limits.ts'
import type { Config } from '../../language/config/config.ts'
import type { Tenant } from '../../language/config/tenants-file.ts'
import type { Settings } from '../../language/mapping/row.ts'
import { scalarText } from '../../language/text/json.ts'
import { isPlainId } from '../../language/text/service-text.ts'
import { shipmentIfRead } from '../../outside/service/proofs.ts'
import { shipmentRead } from '../../outside/service/service.ts'
import type { StoredEvent } from '../../outside/store/events.ts'
import type { CountedMetric, Gauge } from '../../runtime/metrics.ts'
import { createResolve, endpointOf } from './callback.ts'
import { type DeliveryDeps, type DeliveryOptions, startDelivery } from './delivery.ts'
import { createHealing, type Healing, type HealingDeps } from './healing.ts'
import { createReceiveEvent, type ReceiveDeps, type ReceiveEvent } from './receive.ts'

/*
 * An event of the service is stored, and then its table is the queue: one sweep delivers it to the tenant's callback, another one reads
 * its shipment where a booking may depend on it. A new event wakes both; what it does not wake, they find by themselves.
 */

/** Receives the events of the service, and keeps bookings and callers up to date by them. */
interface ServiceEvents extends Pick<Healing, 'onUnknown'> {
  /** Begins to look for what no new event wakes. */
  readonly start: () => void
  readonly receive: ReceiveEvent
  /** To be called with the tenants of the file whenever they are read. */
  readonly setTenants: (tenants: readonly Tenant[]) => void
  readonly metrics: readonly (CountedMetric | Gauge)[]
  /** Resolves when nothing is under way, at the latest after so long. */
  readonly close: (graceMs: number) => Promise<void>
}

/**
 * The events that one source may send. The service sends some for each shipment; more than this is a flood.
 */
const EVENTS_PER_SECOND = 1_000
/** A try that is under way at a shutdown may take so long at most; it is made again later. */
const LONGEST_GRACE_MS = 5_000

interface ServiceEventsDeps
  extends Omit<HealingDeps & ReceiveDeps & DeliveryDeps, keyof DeliveryOptions | 'limitSource' | 'onStored'> {
  /** The settings of tenants that have none of their own. */
  readonly settings: Settings
  /** For tests: how callbacks are delivered. */
  readonly callbacks?: DeliveryOptions | undefined
}

/** Opens the reception, the delivery and the healing of a gateway. */
export function openServiceEvents(config: Config, deps: ServiceEventsDeps): ServiceEvents {
  const { credentials, service, settings, log, callbacks } = deps
  const timeoutMs = config.UPSTREAM_TIMEOUT_MS
  const healing = createHealing({ ...deps, timeoutMs })
  const statusOf = async ({ tenant, shipment }: StoredEvent): Promise<string | undefined> => {
    const own = credentials().ownCaller(tenant)
    if (!own || !isPlainId(shipment)) return undefined
    const sending = { account: own.account, requestId: crypto.randomUUID(), deadline: performance.now() + timeoutMs }
    // The event does not wait for a service that fails.
    const reply = await service.send(shipmentRead(shipment), sending).catch(() => undefined)
    return reply && scalarText(shipmentIfRead(reply, shipment)?.body['status'])
  }
  const delivery = startDelivery({ ...deps, statusOf, resolve: createResolve(), ...callbacks })
  const { receive, metric } = createReceiveEvent({
    ...deps,
    limitSource: createSourceLimits(EVENTS_PER_SECOND),
    onStored: ({ tenant, hasCallback }, { spelled, event }) => {
      if (hasCallback) delivery.wake(tenant)
      if (credentials().ownCaller(tenant)) healing.onEvent(tenant, spelled, event)
    },
  })

  return {
    receive,
    onUnknown: healing.onUnknown,
    setTenants: (tenants) => {
      const endpoints = tenants.flatMap((tenant) => endpointOf(tenant, settings) ?? [])
      for (const { tenant, keys } of endpoints)
        if (keys.length === 0) log.warn({ tenant }, 'deliveries are not signed: the tenant has no callback_secrets')
      delivery.setEndpoints(endpoints)
    },
    metrics: [metric, ...healing.metrics, ...delivery.metrics],
    start: () => {
      healing.start()
      delivery.start()
    },
    close: async (graceMs) => {
      await Promise.all([healing.close(graceMs), delivery.close(Math.min(graceMs, LONGEST_GRACE_MS))])
    },
  }
}
