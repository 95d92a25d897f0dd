import type { Tenant } from '../../language/config/tenants-file.ts'
import type { Settings } from '../../language/mapping/row.ts'
import { scalarText } from '../../language/text/json.ts'
import { isPlainId } from '../../language/text/service-text.ts'
import { shipmentIfRead } from '../../outside/service/proofs.ts'
import { sendingOf, shipmentRead } from '../../outside/service/service.ts'
import type { StoredEvent } from '../../outside/store/events.ts'
import { callbackOf, createResolve } from './callback.ts'
import { type DeliveryOptions, startDelivery } from './delivery.ts'
import { createHealing, type HealingRooms } from './healing.ts'
import { openReception } from './receive.ts'

/*
 * Events from the service are stored, and their table is the queue. One sweep delivers each event to the tenant's callback; another one
 * reads its shipment if a booking may depend on it. A new event wakes both sweeps. Whatever it does not wake, they find by themselves.
 */

/** Receives the service's events, and uses them to keep bookings and callers up to date. */
export type ServiceEvents = ReturnType<typeof openEvents>

/** The most time that a try may take during a shutdown; it is repeated later. */
const LONGEST_GRACE_MS = 5_000

/** Opens a gateway's reception, delivery and healing. */
export function openEvents(
  rooms: HealingRooms & {
    /** The settings of tenants without their own. */
    readonly settings: Settings
    /** For tests: how callbacks are delivered. */
    readonly callbacks?: DeliveryOptions | undefined
  },
) {
  const { config, callers, service, settings, log, callbacks } = rooms
  const healing = createHealing(rooms)
  const statusOf = async ({ tenant, shipment }: StoredEvent): Promise<string | undefined> => {
    const own = callers.ownCaller(tenant)
    if (!own || !isPlainId(shipment)) return undefined
    // A failing service must not hold up the event.
    const sent = service.send(shipmentRead(shipment), sendingOf(own.account, config.UPSTREAM_TIMEOUT_MS))
    const reply = await sent.catch(() => undefined)
    return reply && scalarText(shipmentIfRead(reply, shipment)?.body['status'])
  }
  const delivery = startDelivery({ ...rooms, statusOf, resolve: createResolve(), ...callbacks })
  const reception = openReception({
    ...rooms,
    onStored: ({ tenant, hasCallback }, { spelled, event, fault }) => {
      if (hasCallback && !fault) delivery.wake(tenant)
      if (spelled !== '' && callers.ownCaller(tenant)) healing.onEvent(tenant, spelled, event)
    },
  })
  let closing: Promise<unknown> | undefined

  return {
    reception,
    /** Looks for the shipment of a booking that became unknown: its event may have come before that. */
    onUnknown: healing.onUnknown,
    /** To be called with the tenants whenever their file is read. */
    setTenants: (tenants: readonly Tenant[]): void => {
      const endpoints = tenants.flatMap((tenant) => callbackOf(tenant, settings) ?? [])
      for (const { tenant, keys } of endpoints)
        if (keys.length === 0) log.warn({ tenant }, 'deliveries are not signed: the tenant has no callback_secrets')
      delivery.setEndpoints(endpoints)
    },
    callbacks: delivery.callbacks,
    metrics: [...reception.metrics, ...healing.metrics, ...delivery.metrics],
    /** Starts to look for work that no new event wakes. */
    start: (): void => {
      healing.start()
      delivery.start()
    },
    /** Resolves when nothing is under way, at the latest after a shutdown's grace period. */
    close: async (): Promise<void> => {
      const graceMs = config.SHUTDOWN_GRACE_MS
      closing ??= Promise.all([healing.close(graceMs), delivery.close(Math.min(graceMs, LONGEST_GRACE_MS))])
      await closing
    },
  }
}
