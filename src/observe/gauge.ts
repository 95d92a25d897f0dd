import type { CountedMetric, Labels } from './counters.ts'

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
