import type { Metric, MetricObjectWithValues, MetricValue } from 'prom-client'
import type { Call } from './call.ts'
import { type Counters, createCounters } from './counters.ts'

/** The metrics of one process. */
export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[]

/** Collects the metrics of every process, this one included. */
export type CollectMetrics = () => Promise<ProcessMetrics[]>

/** What operators watch. Labels are names of ours alone: nothing that a caller sends can make a new series. */
export interface Metrics {
  readonly noteCall: (call: Call, status: number) => void
  readonly scrape: () => Promise<Scrape>
}

/** In Prometheus' text format. */
export interface Scrape {
  readonly type: string
  readonly text: string
}

export interface MetricsOptions {
  /** Only tenants that the gateway itself knows have series of their own: in the other modes anybody may call himself anything. */
  readonly knowsTenants: boolean
  /**
   * Makes one of several processes tell of all of them.
   * @default this process is alone
   */
  readonly share?: ((own: () => Promise<ProcessMetrics>) => CollectMetrics) | undefined
}

/** Opens the metrics of one gateway. */
export function createMetrics({ knowsTenants, share }: MetricsOptions): Metrics {
  const tallies = createCounters(knowsTenants)
  let opened: ReturnType<typeof openRegistry> | undefined
  const registry = () => (opened ??= openRegistry(tallies))
  const gather = share?.(async () => (await registry()).own.getMetricsAsJSON())
  return {
    noteCall: tallies.note,
    scrape: async () => {
      const { own, aggregate } = await registry()
      const whole = gather ? aggregate(await gather()) : own
      return { type: own.contentType, text: await whole.metrics() }
    },
  }
}

/** Loaded by the first scrape: no call needs it, and loading it would make the start longer by a tenth. */
async function openRegistry({ calls, seconds, unknownFields }: Counters) {
  const { AggregatorRegistry, collectDefaultMetrics, Registry } = await import('prom-client')
  const own = new Registry()
  // Its own counters would work out the labels' hash anew for every call; what it asks of a metric is this much.
  for (const metric of [calls, unknownFields, seconds]) own.registerMetric(metric as unknown as Metric)
  collectDefaultMetrics({ register: own })
  return { own, aggregate: (all: ProcessMetrics[]) => AggregatorRegistry.aggregate(all) }
}
