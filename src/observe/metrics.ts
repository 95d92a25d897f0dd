import type { Metric, MetricObjectWithValues, MetricValue } from 'prom-client'

export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[]

/** Collects the metrics of every process, this one included. */
export type CollectMetrics = () => Promise<ProcessMetrics[]>

/** The metrics of one gateway. Labels hold only names that the gateway knows, so callers cannot create series. */
export interface Metrics {
  readonly scrape: () => Promise<Scrape>
}

/** All metrics in Prometheus' text format. */
interface Scrape {
  readonly type: string
  readonly text: string
}

/** A metric in the form that `prom-client` reports, as far as all of them have it. */
export interface ReportedMetric {
  readonly name: string
  readonly get: () => Promise<object>
}

export interface MetricsOptions {
  readonly counted: readonly ReportedMetric[]
  /**
   * Collects the metrics of all processes of this gateway.
   * @default this is the only process
   */
  readonly share?: ((own: () => Promise<ProcessMetrics>) => CollectMetrics) | undefined
}

/** Opens the metrics of one gateway. */
export function createMetrics({ counted, share }: MetricsOptions): Metrics {
  let opened: ReturnType<typeof openRegistry> | undefined
  const registry = () => (opened ??= openRegistry(counted))
  const own = async () => {
    const { collect } = await registry()
    return (await collect()).filter(isWellNamed).map(withoutGaps)
  }
  const collectAll = share?.(own) ?? (async () => [await own()])
  return {
    scrape: async () => {
      const { type, aggregate } = await registry()
      return { type, text: await aggregate(await collectAll()).metrics() }
    },
  }
}

/** Loads `prom-client` at the first scrape: no call needs it, and loading takes a tenth of the start. */
async function openRegistry(counted: MetricsOptions['counted']) {
  const { AggregatorRegistry, collectDefaultMetrics, Registry } = await import('prom-client')
  const own = new Registry()
  // Its own counters would hash the labels of every call. It uses only these members of a metric.
  for (const metric of counted) own.registerMetric(metric as unknown as Metric)
  collectDefaultMetrics({ register: own })
  return {
    type: own.contentType,
    collect: (): Promise<ProcessMetrics> => own.getMetricsAsJSON(),
    aggregate: (all: ProcessMetrics[]) => AggregatorRegistry.aggregate(all),
  }
}

/** Prometheus reserves `_total` for counters, and Node has gauges of that name beside those with the same values by type. */
const isWellNamed = ({ name, type }: ProcessMetrics[number]) => String(type) !== 'gauge' || !name.endsWith('_total')

/**
 * Drops values that are no number: the delay of an event loop that was not measured yet. The start of the newest process
 * is that of the gateway, which several processes would leave out.
 */
function withoutGaps(metric: ProcessMetrics[number]): ProcessMetrics[number] {
  const aggregator = metric.aggregator === 'omit' ? 'max' : metric.aggregator
  return { ...metric, aggregator, values: metric.values.filter(({ value }) => !Number.isNaN(value)) }
}

/** The labels of one series of a metric. */
type Labels = Readonly<Record<string, string>>

/** A metric in the form that `prom-client` reports. */
export interface CountedMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram'
  readonly aggregator: 'sum'
  readonly get: () => Promise<object>
}

/** Counts by labels. A known series costs one look-up for each label and no allocation. */
interface Counter {
  /** Adds to the series with these values of its labels, in the order of their names. */
  readonly add: (by: number, ...labels: readonly string[]) => void
  readonly metric: CountedMetric
}

/** Counts durations by labels. */
interface Histogram {
  /** Adds a duration to the series with these values of its labels, as in `Counter`. */
  readonly observe: (seconds: number, ...labels: readonly string[]) => void
  readonly metric: CountedMetric
}

/**
 * The most series of a metric. Labels hold only names that the gateway knows, so this is never reached; if it were, the
 * memory of the gateway and of Prometheus would still be bounded.
 */
export const MAX_SERIES = 5_000
const OTHER = 'other'

/** Upper bounds of the histograms of calls. */
export const CALL_BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]
/** Upper bounds of the histograms of what usually takes less than a millisecond. */
export const SHORT_BOUNDS_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5]

/** Makes a counter with these labels. */
export function createCounter(name: string, help: string, labels: readonly string[]): Counter {
  const counts = createSeries(labels, () => ({ value: 0 }))
  const about = { name, help, type: 'counter', aggregator: 'sum' } as const
  return {
    add: (by, ...labels) => {
      counts.of(labels).value += by
    },
    metric: {
      ...about,
      get: async () => ({ ...about, values: counts.all().map(([of, { value }]) => ({ labels: of, value })) }),
    },
  }
}

interface Durations {
  /** Durations per bucket: above the previous bound and at most this one; the last bucket has no bound. */
  readonly buckets: number[]
  sum: number
}

/** Makes a histogram with these labels and upper bounds in seconds. */
export function createHistogram(
  name: string,
  help: string,
  labels: readonly string[],
  bounds: readonly number[] = CALL_BOUNDS_SECONDS,
): Histogram {
  const durations = createSeries(labels, (): Durations => ({ buckets: Array(bounds.length + 1).fill(0), sum: 0 }))
  const about = { name, help, type: 'histogram', aggregator: 'sum' } as const
  const valuesOf = ([of, { buckets, sum }]: readonly [Labels, Durations]) => {
    let count = 0
    const cumulative = [...bounds, '+Inf'].map((le, i) => {
      count += buckets[i] ?? 0
      return { labels: { le, ...of }, value: count, metricName: `${name}_bucket` }
    })
    return [
      ...cumulative,
      { labels: of, value: sum, metricName: `${name}_sum` },
      { labels: of, value: count, metricName: `${name}_count` },
    ]
  }
  return {
    observe: (seconds, ...labels) => {
      const { buckets } = add(durations.of(labels), seconds)
      let bucket = 0
      while (bucket < bounds.length && seconds > (bounds[bucket] ?? 0)) bucket += 1
      buckets[bucket] = (buckets[bucket] ?? 0) + 1
    },
    metric: { ...about, get: async () => ({ ...about, values: durations.all().flatMap(valuesOf) }) },
  }
}

function add(durations: Durations, seconds: number): Durations {
  durations.sum += seconds
  return durations
}

/** The series below the values of some labels, by the value of the next one. */
type Level<T> = Map<string, { readonly series?: T; readonly next: Level<T> }>

/** Keeps what is counted for each series. One key of all values would be made, and hashed, for every call. */
function createSeries<T>(names: readonly string[], make: () => T) {
  const root: Level<T> = new Map()
  const known: (readonly [Labels, T])[] = []
  const others = names.map(() => OTHER)

  function find(values: readonly string[]): T | undefined {
    let level = root
    let found: T | undefined
    for (let i = 0; i < names.length; i += 1) {
      const entry = level.get(values[i] ?? '')
      if (!entry) return undefined
      found = entry.series
      level = entry.next
    }
    return found
  }

  function added(values: readonly string[]): T {
    const kept = known.length < MAX_SERIES ? values : others
    const found = find(kept)
    if (found !== undefined) return found
    const series = make()
    known.push([Object.fromEntries(names.map((name, i) => [name, kept[i] ?? ''])), series])
    let level = root
    for (let i = 0; i < names.length; i += 1) {
      const value = kept[i] ?? ''
      const entry = level.get(value) ?? { next: new Map() }
      level.set(value, i === names.length - 1 ? { ...entry, series } : entry)
      level = entry.next
    }
    return series
  }

  if (names.length > 0) return { of: (values: readonly string[]): T => find(values) ?? added(values), all: () => known }
  // The only series of a metric without labels is there from the start.
  const only = make()
  return { of: () => only, all: () => [[{}, only] as const] }
}

/** A counter of what happens less often than calls. Its labels come from lists of the gateway, never from outside. */
interface LabeledCounter<Label extends string> {
  /** Counts one, or more. */
  readonly count: (labels: Readonly<Record<Label, string>>, more?: number) => void
  readonly metric: CountedMetric
}

/** Makes a counter; a series begins at 0 if it is named here. */
export function createLabeledCounter<Label extends string>(
  name: string,
  help: string,
  known: readonly Readonly<Record<Label, string>>[] = [],
): LabeledCounter<Label> {
  const about = { name, help, type: 'counter', aggregator: 'sum' } as const
  const counts = new Map<string, { readonly labels: Readonly<Record<Label, string>>; value: number }>()
  const add = (labels: Readonly<Record<Label, string>>, more: number) => {
    const key = JSON.stringify(labels)
    const counted = counts.get(key)
    if (counted) counted.value += more
    else counts.set(key, { labels, value: more })
  }
  for (const labels of known) add(labels, 0)
  return {
    count: (labels, more = 1) => add(labels, more),
    metric: { ...about, get: async () => ({ ...about, values: [...counts.values()].map((one) => ({ ...one })) }) },
  }
}

/** A gauge in the form that `prom-client` reports. */
export interface Gauge extends Omit<CountedMetric, 'type' | 'aggregator'> {
  readonly type: 'gauge'
  /** How the values of several processes become one. */
  readonly aggregator: 'sum' | 'max'
}

interface GaugeValue {
  readonly labels: Labels
  readonly value: number
}

/** Makes a gauge that is read when it is scraped; processes add up. */
export function gauge(name: string, help: string, read: () => number): Gauge {
  const about = { name, help, type: 'gauge', aggregator: 'sum' } as const
  return { ...about, get: async () => ({ ...about, values: [{ labels: {}, value: read() }] }) }
}

/** Makes a gauge with labels, of something that all processes see alike unless they add up. */
export function labelledGauge(
  name: string,
  help: string,
  read: () => readonly GaugeValue[] | Promise<readonly GaugeValue[]>,
  aggregator: Gauge['aggregator'] = 'max',
): Gauge {
  const about = { name, help, type: 'gauge', aggregator } as const
  return { ...about, get: async () => ({ ...about, values: await read() }) }
}
