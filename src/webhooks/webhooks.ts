import { setTimeout as pause } from 'node:timers/promises'
import { HEALED_BY } from '../bookings/settlement.ts'
import { createSourceLimits } from '../callers/limits.ts'
import type { Config } from '../config/config.ts'
import { type CountedMetric, createLabeledCounter, type Gauge, gauge } from '../observe/metrics.ts'
import type { Claim, Store } from '../store/store.ts'
import { CANCELLATIONS, createFreeCanceled } from './cancellations.ts'
import { EVENT_NAMES } from './event.ts'
import { createEventBatches } from './event-batches.ts'
import { createHealing, type HealingDeps } from './healing.ts'
import { createReadQueue } from './read-queue.ts'
import { createReceiveEvent, RECEIPTS, type ReceiveDeps, type ReceiveEvent } from './receive.ts'
import { createSweep, type SweepDeps } from './sweep.ts'
import { createUnknownBookings } from './unknown-bookings.ts'

/** Receives the events of the service, and keeps bookings and callers up to date by them. */
export interface Webhooks {
  readonly receive: ReceiveEvent
  /** Looks for the shipment of a booking that became unknown, because its event may have come first. */
  readonly onUnknown: (claim: Claim) => void
  readonly metrics: readonly (CountedMetric | Gauge)[]
  /** Begins to sweep. */
  readonly start: () => void
  /** Resolves when nothing is under way, at the latest after so long: a read may wait for the service. */
  readonly close: (graceMs: number) => Promise<void>
}

type Own =
  | 'unknownBookings'
  | 'onHealed'
  | 'healing'
  | 'onStored'
  | 'onReceipt'
  | 'timeoutMs'
  | 'intervalMs'
  | 'limitSource'

/**
 * The events that one source may send. The service sends some for each shipment; more than this is a flood.
 */
const EVENTS_PER_SECOND = 1_000

export interface WebhooksDeps extends Omit<HealingDeps & SweepDeps & ReceiveDeps, Own> {
  readonly store: Store
}

/** Opens the reception of events, and the healing of unknown bookings. */
export function createWebhooks(config: Config, deps: WebhooksDeps): Webhooks {
  const { store, credentials, log } = deps
  const events = createLabeledCounter(
    'transload_webhook_events_total',
    'Deliveries of the service by event and result.',
    RECEIPTS.map((result) => ({ event: '', result })),
  )
  const healed = createLabeledCounter(
    'transload_bookings_healed_total',
    'Bookings with an unknown outcome whose shipment was found.',
    HEALED_BY.map((how) => ({ how })),
  )
  const unknownBookings = createUnknownBookings(store)
  const timeoutMs = config.UPSTREAM_TIMEOUT_MS
  const healing = createHealing({ ...deps, timeoutMs, unknownBookings, onHealed: (how) => healed.count({ how }) })
  const onFull = () => log.warn('too many shipments of events wait to be read; the sweep looks at the others')
  const reads = createReadQueue({
    read: (tenant, shipment) => healing.byShipment(tenant, shipment, 'webhook'),
    onGivenUp: ({ tenant, shipment }, err) =>
      log.warn({ tenant, shipment, err }, 'the shipment of an event was not read; the sweep looks at it'),
    onFull,
  })
  const cancellations = createReadQueue({
    read: createFreeCanceled({ ...deps, timeoutMs }),
    onGivenUp: ({ tenant, shipment }, err) => log.warn({ tenant, shipment, err }, 'a canceled shipment was not read'),
    onFull: () => log.warn('too many canceled shipments wait to be read'),
  })
  const batches = createEventBatches({
    // The bookings that were unknown before the event are in the list; those after it look at the events by themselves.
    process: async (tenant, shipments) => {
      try {
        if ((await unknownBookings.now(tenant)).size === 0) return
        for (const shipment of shipments) reads.add(tenant, shipment)
      } catch (err) {
        log.warn({ tenant, err }, 'unknown bookings could not be looked up')
      }
    },
    onFull,
  })
  const sweep = createSweep({ ...deps, healing, intervalMs: config.SWEEP_INTERVAL })

  return {
    receive: createReceiveEvent({
      ...deps,
      limitSource: createSourceLimits(EVENTS_PER_SECOND, config.TRUST_PROXY),
      onReceipt: (result, event = '') =>
        events.count({ event: event === '' || EVENT_NAMES.includes(event) ? event : 'other', result }),
      onStored: ({ tenant }, { spelled, event }) => {
        if (!credentials.ownCaller(tenant)) return
        batches.add(tenant, spelled)
        if (CANCELLATIONS.has(event)) cancellations.add(tenant, spelled)
      },
    }),
    onUnknown: (claim) => {
      unknownBookings.changed(claim.tenant)
      sweep
        .lookAtEvents(claim, (shipment) => reads.add(claim.tenant, shipment))
        .catch((err: unknown) => log.warn({ booking: claim.handle, err }, 'events could not be looked up'))
    },
    metrics: [
      events.metric,
      healed.metric,
      gauge(
        'transload_webhook_reads_waiting',
        'Shipments of events that wait to be read.',
        () => reads.waiting() + cancellations.waiting(),
      ),
    ],
    start: sweep.start,
    close: async (graceMs) => {
      const over = new AbortController()
      const late = pause(graceMs, undefined, { signal: over.signal }).catch(() => undefined)
      await Promise.race([Promise.all([batches, reads, cancellations, sweep].map((work) => work.close())), late])
      over.abort()
    },
  }
}
