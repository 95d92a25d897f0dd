import type { Metric, Registry } from 'prom-client'
import { programVersion } from '../language/config/version.ts'

/*
 * The metrics of one gateway. prom-client writes them at a scrape. The counting is done here, because its own counters would hash the
 * labels of every call. Labels hold only names that the gateway knows, so callers cannot create series.
 */

/** The labels of one series of a metric. */
type Labels = Readonly<Record<string, string>>

interface SeriesValue {
  readonly labels: Labels
  readonly value: number
  /** @default the name of the metric */
  readonly metricName?: string
}

/** A metric in the form that `prom-client` reports. */
export interface CountedMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram' | 'gauge'
  readonly get: () => Promise<{ readonly values: readonly SeriesValue[] }>
}

type ReadSeries = () => readonly SeriesValue[] | Promise<readonly SeriesValue[]>

function metric(name: string, help: string, type: CountedMetric['type'], read: ReadSeries): CountedMetric {
  const about = { name, help, type }
  return { ...about, get: async () => ({ ...about, values: await read() }) }
}

/** Makes a metric without labels that is read when it is scraped. */
export const gauge = (name: string, help: string, read: () => number): CountedMetric =>
  labelledGauge(name, help, () => [{ labels: {}, value: read() }])

/** Makes such a metric with labels. */
export const labelledGauge = (name: string, help: string, read: ReadSeries): CountedMetric =>
  metric(name, help, 'gauge', read)

/** Counts by labels. */
export interface Counter {
  /** Adds to the series with these label values, in the order of the labels' names. */
  readonly add: (by: number, ...labels: readonly string[]) => void
  readonly metric: CountedMetric
}

/** Makes a counter with these labels; the known series start at 0. */
export function createCounter(
  name: string,
  help: string,
  labels: readonly string[],
  known: readonly (readonly string[])[] = [],
): Counter {
  const counts = createSeries(labels, () => ({ value: 0 }))
  known.forEach(counts.of)
  return {
    add: (by, ...values) => {
      counts.of(values).value += by
    },
    metric: metric(name, help, 'counter', () => counts.all().map(([of, { value }]) => ({ labels: of, value }))),
  }
}

/** Counts durations by labels. */
export interface Histogram {
  /** Adds a duration to the series with these label values, as in `Counter`. */
  readonly observeMs: (ms: number, ...labels: readonly string[]) => void
  readonly metric: CountedMetric
}

/** Upper bounds for histograms of calls. */
const CALL_BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]
/** Upper bounds for histograms of work that usually takes less than a millisecond. */
const SHORT_BOUNDS_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5]

/** Makes a histogram with these labels and upper bounds in seconds. */
export function createHistogram(
  name: string,
  help: string,
  labels: readonly string[],
  bounds: readonly number[] = CALL_BOUNDS_SECONDS,
): Histogram {
  /** Durations per bucket: above the previous bound and at most this one; the last bucket has no bound. */
  const durations = createSeries(labels, () => ({ buckets: Array<number>(bounds.length + 1).fill(0), sum: 0 }))
  const read = () =>
    durations.all().flatMap(([of, { buckets, sum }]) => {
      let count = 0
      const cumulative = [...bounds, '+Inf'].map((le, i) => {
        count += buckets[i] ?? 0
        return { labels: { le: String(le), ...of }, value: count, metricName: `${name}_bucket` }
      })
      return [
        ...cumulative,
        { labels: of, value: sum, metricName: `${name}_sum` },
        { labels: of, value: count, metricName: `${name}_count` },
      ]
    })
  return {
    observeMs: (ms, ...values) => {
      const series = durations.of(values)
      const seconds = ms / 1000
      let bucket = 0
      while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1
      series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1
      series.sum += seconds
    },
    metric: metric(name, help, 'histogram', read),
  }
}

/**
 * The most series of a metric. Labels hold only names that the gateway knows, so this is never reached. If it were, the gateway's and
 * Prometheus' memory would still be bounded.
 */
const MAX_SERIES = 5_000
const OTHER = 'other'
/** Separates the values in a key; no label contains it. */
const SEPARATOR = '\u0000'

/** Keeps the counts of each series. A metric without labels has its only series from the start. */
function createSeries<T>(names: readonly string[], make: () => T) {
  const known = new Map<string, readonly [Labels, T]>()
  const add = (key: string, values: readonly string[]): T => {
    const series = make()
    known.set(key, [Object.fromEntries(names.map((name, i) => [name, values[i] ?? ''])), series])
    return series
  }
  if (names.length === 0) add('', [])
  return {
    of: (values: readonly string[]): T => {
      const key = values.join(SEPARATOR)
      const series = known.get(key)?.[1]
      if (series) return series
      if (known.size < MAX_SERIES) return add(key, values)
      const others = names.map(() => OTHER)
      return known.get(others.join(SEPARATOR))?.[1] ?? add(others.join(SEPARATOR), others)
    },
    all: () => [...known.values()],
  }
}

/** The metrics of one gateway. */
export interface Metrics {
  /** Returns all metrics in Prometheus' text format. */
  readonly scrape: () => Promise<{ readonly type: string; readonly text: string }>
  /** Returns the current values of one of the gateway's own metrics; none for an unknown name. */
  readonly valuesOf: (name: string) => Promise<readonly SeriesValue[]>
}

/** Opens the metrics of one gateway: its own, and Node's. */
export function createMetrics(counted: readonly CountedMetric[]): Metrics {
  let loaded: Promise<Registry> | undefined
  const registry = () => (loaded ??= openRegistry(counted))
  return {
    scrape: async () => {
      const opened = await registry()
      return { type: opened.contentType, text: withoutGaps(await opened.metrics()) }
    },
    valuesOf: async (name) => (await counted.find((metric) => metric.name === name)?.get())?.values ?? [],
  }
}

/** Loads `prom-client` at the first scrape: no call needs it, and loading it takes a tenth of the start. */
async function openRegistry(counted: readonly CountedMetric[]): Promise<Registry> {
  const { collectDefaultMetrics, Registry } = await import('prom-client')
  const registry = new Registry()
  // Its own counters would hash the labels of every call. It uses only these members of a metric.
  for (const metric of counted) registry.registerMetric(metric as unknown as Metric)
  collectDefaultMetrics({ register: registry })
  // Prometheus reserves this ending for counters. Other gauges of Node's have the same values by type.
  for (const { name } of registry.getMetricsAsArray()) {
    if (/^nodejs_active_\w+_total$/.test(name)) registry.removeSingleMetric(name)
  }
  return registry
}

/** Drops values that are not numbers, such as the delay of an event loop that was not measured yet. */
const withoutGaps = (text: string) => text.replace(/^.* Nan\n/gm, '')

/** The metrics of the gateway. */
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
      'Duration of calls, without service and store time.',
      ['action'],
      SHORT_BOUNDS_SECONDS,
    ),
    /** By status class; `none` if there was no whole reply. */
    serviceSeconds: createHistogram('transload_service_seconds', 'Duration of requests to the service.', [
      'operation',
      'status',
    ]),
    retries: createCounter('transload_service_retries_total', 'Retries of requests to the service.', []),
    tokens: createCounter('transload_tokens_total', 'Tokens requested from the service, by outcome.', ['outcome']),
    refusals: createCounter(
      'transload_credential_refusals_total',
      "Rejections by the service of the gateway's own credentials, not of callers'.",
      [],
    ),
    storeSeconds: createHistogram(
      'transload_store_seconds',
      'Duration of store operations.',
      ['operation'],
      SHORT_BOUNDS_SECONDS,
    ),
    bookings: createCounter('transload_bookings_total', 'Bookings by outcome.', ['outcome']),
    otherPrices: createCounter(
      'transload_other_prices_total',
      'Bookings whose price differs from the quoted one, by tenant.',
      ['tenant'],
    ),
    loopDelaySeconds: createHistogram(
      'transload_event_loop_delay_seconds',
      'Delay of timers on the event loop.',
      [],
      SHORT_BOUNDS_SECONDS,
    ),
  }
}

/** Makes the gauge of the gateway's version. */
export function buildInfo(): CountedMetric {
  const labels = { version: programVersion(), node: process.versions.node }
  return labelledGauge('transload_build_info', 'The version of the gateway and of Node.', () => [{ labels, value: 1 }])
}

const EVERY_MS = 100

/** Measures how late a timer of the event loop is, ten times a second, until it is stopped. */
export function measureLoopDelay({ loopDelaySeconds }: Meters): () => void {
  let dueAt = performance.now() + EVERY_MS
  const timer = setInterval(() => {
    const now = performance.now()
    loopDelaySeconds.observeMs(Math.max(0, now - dueAt))
    dueAt = now + EVERY_MS
  }, EVERY_MS).unref()
  return () => clearInterval(timer)
}
