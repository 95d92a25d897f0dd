import type { ClaimState, Claims, Store } from '../store/store.ts'
import { createBrownoutSignals, type TenantBrownouts } from './brownouts.ts'
import type { Call } from './call.ts'
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
    metrics: createMetrics({ counted: [...meters.all, ...createGauges(deps), ...brownouts.gauges, ...more], share }),
    stop: () => {
      clearInterval(looking)
      stopMeasuring()
    },
  }
}

const MS_PER_SECOND = 1000

/** Counts what the gateway does, in numbers that are collected when they are scraped. */
export interface Meters {
  /** Counts a call that took `ms`, of which `ownMs` were neither the service's nor the store's. */
  readonly countCall: (call: Call, status: number, ms: number, ownMs: number) => void
  /** Counts a request to the service. Its status is undefined if there was no whole reply. */
  readonly countRequest: (operation: string, status: number | undefined, ms: number) => void
  readonly countRetry: () => void
  readonly countToken: (outcome: 'given' | 'refused' | 'failed') => void
  readonly countStore: (operation: string, ms: number) => void
  readonly countBooking: (outcome: 'made' | 'replayed' | 'refused' | 'unknown' | 'freed') => void
  readonly countLoopDelay: (ms: number) => void
  readonly all: readonly CountedMetric[]
}

/** Makes the meters of one gateway. Tenants have series of their own only where the gateway verifies them. */
export function createMeters(knowsTenants: boolean): Meters {
  const calls = createCounter('transload_calls_total', 'Calls by route, action, status, error code and tenant.', [
    'route',
    'action',
    'status',
    'error',
    'tenant',
  ])
  const unknownFields = createCounter('transload_unknown_fields_total', 'Fields that no mapping knows.', ['action'])
  const seconds = createHistogram('transload_call_seconds', 'Duration of calls.', ['action'])
  const own = createHistogram(
    'transload_gateway_seconds',
    'Duration of calls without the time at the service and in the store.',
    ['action'],
    SHORT_BOUNDS_SECONDS,
  )
  const service = createHistogram('transload_service_seconds', 'Duration of requests to the service.', [
    'operation',
    'status',
  ])
  const retries = createCounter('transload_service_retries_total', 'Repeated requests to the service.', [])
  const tokens = createCounter('transload_tokens_total', 'Tokens that the service was asked for, by outcome.', [
    'outcome',
  ])
  const store = createHistogram(
    'transload_store_seconds',
    'Duration of store operations.',
    ['operation'],
    SHORT_BOUNDS_SECONDS,
  )
  const bookings = createCounter('transload_bookings_total', 'Bookings by outcome.', ['outcome'])
  const loopDelay = createHistogram(
    'transload_event_loop_delay_seconds',
    'Delay of timers on the event loop.',
    [],
    SHORT_BOUNDS_SECONDS,
  )

  return {
    countCall: ({ route, action = '', error = '', tenant, unknownFields: unknown }, status, ms, ownMs) => {
      calls.add(1, route, action, String(status), error, (knowsTenants && tenant) || '')
      seconds.observe(ms / MS_PER_SECOND, action)
      own.observe(ownMs / MS_PER_SECOND, action)
      if (unknown > 0) unknownFields.add(unknown, action)
    },
    countRequest: (operation, status, ms) => service.observe(ms / MS_PER_SECOND, operation, statusClass(status)),
    countRetry: () => retries.add(1),
    countToken: (outcome) => tokens.add(1, outcome),
    countStore: (operation, ms) => store.observe(ms / MS_PER_SECOND, operation),
    countBooking: (outcome) => bookings.add(1, outcome),
    countLoopDelay: (ms) => loopDelay.observe(ms / MS_PER_SECOND),
    all: [calls, unknownFields, seconds, own, service, retries, tokens, store, bookings, loopDelay].map(
      ({ metric }) => metric,
    ),
  }
}

const STATUSES_PER_CLASS = 100
const CLASSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx', '6xx', '7xx', '8xx', '9xx']

function statusClass(status: number | undefined): string {
  return status === undefined ? 'none' : (CLASSES[Math.floor(status / STATUSES_PER_CLASS)] ?? 'none')
}

/** The values of the gauges, read when they are scraped. */
export interface GaugeSources {
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

/** Measures how late a timer of the event loop is, ten times a second, until it is stopped. */
function measureLoopDelay({ countLoopDelay }: Pick<Meters, 'countLoopDelay'>): () => void {
  let dueAt = performance.now() + EVERY_MS
  const timer = setInterval(() => {
    const now = performance.now()
    countLoopDelay(Math.max(0, now - dueAt))
    dueAt = now + EVERY_MS
  }, EVERY_MS).unref()
  return () => clearInterval(timer)
}
