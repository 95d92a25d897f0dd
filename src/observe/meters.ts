import { type Call, gatewayMs } from './call.ts'
import { type CountedMetric, createCounter, createHistogram, SHORT_BOUNDS_SECONDS } from './counters.ts'

const MS_PER_SECOND = 1000

/** Counts what the gateway does, in numbers that are collected when they are scraped. */
export interface Meters {
  readonly countCall: (call: Call, status: number) => void
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
    countCall: (call, status) => {
      const { route, action = '', error = '', startedAt, tenant, unknownFields: unknown } = call
      calls.add(1, route, action, String(status), error, (knowsTenants && tenant) || '')
      const ms = performance.now() - startedAt
      seconds.observe(ms / MS_PER_SECOND, action)
      own.observe(gatewayMs(call, ms) / MS_PER_SECOND, action)
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
