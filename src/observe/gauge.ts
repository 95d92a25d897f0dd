import type { CountedMetric } from './counters.ts'

/** A gauge in the form that `prom-client` reports. */
export interface Gauge extends Omit<CountedMetric, 'type'> {
  readonly type: 'gauge'
}

/** Makes a gauge that is read when it is scraped. */
export function gauge(name: string, help: string, read: () => number): Gauge {
  const about = { name, help, type: 'gauge', aggregator: 'sum' } as const
  return { ...about, get: async () => ({ ...about, values: [{ labels: {}, value: read() }] }) }
}
