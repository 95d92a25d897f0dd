import type { Metric, MetricObjectWithValues, MetricValue } from 'prom-client'
import type { Call } from './call.ts'
import { type CountedMetric, type Counters, createCounters } from './counters.ts'
import type { Gauge } from './gauge.ts'

/** The metrics of one process. */
export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[]

/** Collects the metrics of every process, this one included. */
export type CollectMetrics = () => Promise<ProcessMetrics[]>

/** The metrics of one gateway. Labels hold only names that the gateway knows, so callers cannot create series. */
export interface Metrics {
  readonly countCall: (call: Call, status: number) => void
  readonly scrape: () => Promise<Scrape>
}

/** All metrics in Prometheus' text format. */
export interface Scrape {
  readonly type: string
  readonly text: string
}

/** A metric of another folder. */
export interface ReportedMetric {
  readonly name: string
  readonly get: () => Promise<object>
}

export interface MetricsOptions {
  /**
   * True if tenants have their own series: only if the gateway verifies them, because elsewhere callers name
   * themselves.
   */
  readonly knowsTenants: boolean
  /** @default none */
  readonly gauges?: readonly (Gauge | CountedMetric)[]
  /** More metrics, in the form that `prom-client` reports. @default none */
  readonly more?: readonly ReportedMetric[]
  /**
   * Collects the metrics of all processes of this gateway.
   * @default this is the only process
   */
  readonly share?: ((own: () => Promise<ProcessMetrics>) => CollectMetrics) | undefined
}

/** Opens the metrics of one gateway. */
export function createMetrics({ knowsTenants, gauges = [], more = [], share }: MetricsOptions): Metrics {
  const counters = createCounters(knowsTenants)
  let opened: ReturnType<typeof openRegistry> | undefined
  const registry = () => (opened ??= openRegistry(counters, [...gauges, ...more]))
  const collect = share?.(async () => (await registry()).own.getMetricsAsJSON())
  return {
    countCall: counters.count,
    scrape: async () => {
      const { own, aggregate } = await registry()
      const whole = collect ? aggregate(await collect()) : own
      return { type: own.contentType, text: await whole.metrics() }
    },
  }
}

/** Loads `prom-client` at the first scrape: no call needs it, and loading takes a tenth of the start. */
async function openRegistry({ calls, seconds, unknownFields }: Counters, more: readonly ReportedMetric[]) {
  const { AggregatorRegistry, collectDefaultMetrics, Registry } = await import('prom-client')
  const own = new Registry()
  // Its own counters would hash the labels of every call. It uses only these members of a metric.
  for (const metric of [calls, unknownFields, seconds, ...more]) own.registerMetric(metric as unknown as Metric)
  collectDefaultMetrics({ register: own })
  return { own, aggregate: (all: ProcessMetrics[]) => AggregatorRegistry.aggregate(all) }
}
