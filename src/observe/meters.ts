import type { ClaimState, Claims, Store } from '../store/store.ts'
import { createBrownoutSignals, type TenantBrownouts } from './brownouts.ts'
import type { Logger } from './log.ts'
import {
  type CountedMetric,
  createCounter,
  createHistogram,
  createMetrics,
  type Gauge,
  gauge,
  labelledGauge,
  type Metrics,
  type MetricsOptions,
  SHORT_BOUNDS_SECONDS,
} from './metrics.ts'

interface SignalsDeps extends GaugeSources {
  readonly meters: Meters
  /** Metrics of other parts of the gateway. */
  readonly more: readonly CountedMetric[]
  readonly brownouts: () => readonly TenantBrownouts[]
  readonly now: () => number
  readonly log: Logger
  readonly share: MetricsOptions['share']
}

/** The signals of a running gateway for its operators, besides the lines of calls. */
interface Signals {
  readonly metrics: Metrics
  readonly stop: () => void
}

const LOOK_FOR_BROWNOUTS_EVERY_MS = 10_000

/** Opens the metrics, measures the event loop and announces brownouts, until it is stopped. */
export function openSignals(deps: SignalsDeps): Signals {
  const { meters, more, brownouts: all, now, log, share } = deps
  const brownouts = createBrownoutSignals({ all, now, log })
  brownouts.look()
  const looking = setInterval(brownouts.look, LOOK_FOR_BROWNOUTS_EVERY_MS).unref()
  const stopMeasuring = measureLoopDelay(meters)
  return {
    metrics: createMetrics({
      counted: [
        ...Object.values(meters).map(({ metric }) => metric),
        ...createGauges(deps),
        ...brownouts.gauges,
        ...more,
      ],
      share,
    }),
    stop: () => {
      clearInterval(looking)
      stopMeasuring()
    },
  }
}

/** What the gateway counts. */
export type Meters = ReturnType<typeof createMeters>

/** Makes the counters and histograms of one gateway. */
export function createMeters() {
  return {
    calls: createCounter('transload_calls_total', 'Calls by route, action, status, error code and tenant.', [
      'route',
      'action',
      'status',
      'error',
      'tenant',
    ]),
    unknownFields: createCounter('transload_unknown_fields_total', 'Fields that no mapping knows.', ['action']),
    callSeconds: createHistogram('transload_call_seconds', 'Duration of calls.', ['action']),
    gatewaySeconds: createHistogram(
      'transload_gateway_seconds',
      'Duration of calls without the time at the service and in the store.',
      ['action'],
      SHORT_BOUNDS_SECONDS,
    ),
    /** By the class of the status; `none` where there was no whole reply. */
    serviceSeconds: createHistogram('transload_service_seconds', 'Duration of requests to the service.', [
      'operation',
      'status',
    ]),
    retries: createCounter('transload_service_retries_total', 'Repeated requests to the service.', []),
    tokens: createCounter('transload_tokens_total', 'Tokens that the service was asked for, by outcome.', ['outcome']),
    storeSeconds: createHistogram(
      'transload_store_seconds',
      'Duration of store operations.',
      ['operation'],
      SHORT_BOUNDS_SECONDS,
    ),
    bookings: createCounter('transload_bookings_total', 'Bookings by outcome.', ['outcome']),
    loopDelaySeconds: createHistogram(
      'transload_event_loop_delay_seconds',
      'Delay of timers on the event loop.',
      [],
      SHORT_BOUNDS_SECONDS,
    ),
  }
}

/** The values of the gauges, read when they are scraped. */
interface GaugeSources {
  readonly version: string
  /** The current usage of all callers. */
  readonly usage: { readonly connections: number; readonly calls: number; readonly bodyBytes: number }
  /** The kept connections to the service. */
  readonly upstream: () => { readonly connections: number; readonly running: number; readonly queued: number }
  /** Each address of the service that was called, and if its circuit is open. */
  readonly circuits: () => readonly (readonly [address: string, isOpen: boolean])[]
  readonly store: Pick<Store, 'listClaims'>
}

/** Makes the gauges of a gateway. */
export function createGauges(sources: GaugeSources): readonly (Gauge | CountedMetric)[] {
  const { version, usage, upstream, circuits, store } = sources
  return [
    labelledGauge('transload_build_info', 'The version of the gateway and of Node.', () => [
      { labels: { version, node: process.versions.node }, value: 1 },
    ]),
    gauge('transload_connections', 'Connections of callers.', () => usage.connections),
    gauge('transload_calls_under_way', 'Calls under way.', () => usage.calls),
    gauge('transload_body_bytes', 'Memory that bodies take.', () => usage.bodyBytes),
    gauge('transload_service_connections', 'Kept connections to the service.', () => upstream().connections),
    gauge('transload_service_requests_under_way', 'Requests that the service answers now.', () => upstream().running),
    gauge('transload_service_requests_queued', 'Requests that wait for a connection.', () => upstream().queued),
    labelledGauge('transload_circuit_open', 'Whether the service fails and calls are refused.', () =>
      circuits().map(([service, isOpen]) => ({ labels: { service }, value: isOpen ? 1 : 0 })),
    ),
    labelledGauge('transload_bookings', 'Bookings under way and of unknown outcome.', () => countClaims(store)),
  ]
}

const PENDING: readonly ClaimState[] = ['sending', 'unknown']
/** A gauge that reads more claims would hold up the event loop. */
const MOST_CLAIMS = 1_000

/** Counts the bookings of each pending state; none while the store is down. */
async function countClaims({ listClaims }: Pick<Claims, 'listClaims'>) {
  try {
    return await Promise.all(
      PENDING.map(async (state) => ({
        labels: { state },
        value: (await listClaims({ state, limit: MOST_CLAIMS })).length,
      })),
    )
  } catch {
    return []
  }
}

const EVERY_MS = 100
const MS_PER_SECOND = 1000

/** Measures how late a timer of the event loop is, ten times a second, until it is stopped. */
function measureLoopDelay({ loopDelaySeconds }: Pick<Meters, 'loopDelaySeconds'>): () => void {
  let dueAt = performance.now() + EVERY_MS
  const timer = setInterval(() => {
    const now = performance.now()
    loopDelaySeconds.observe(Math.max(0, now - dueAt) / MS_PER_SECOND)
    dueAt = now + EVERY_MS
  }, EVERY_MS).unref()
  return () => clearInterval(timer)
}
