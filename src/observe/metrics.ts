import type { Metric, MetricObjectWithValues, MetricValue } from 'prom-client'

export type ProcessMetrics = MetricObjectWithValues<MetricValue<string>>[]

/** Collects the metrics of every process, this one included. */
export type CollectMetrics = () => Promise<ProcessMetrics[]>

/** The metrics of one gateway. Labels hold only names that the gateway knows, so callers cannot create series. */
export interface Metrics {
  readonly scrape: () => Promise<Scrape>
}

/** All metrics in Prometheus' text format. */
export interface Scrape {
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
