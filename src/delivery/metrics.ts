import type { Events, OpenEvents, TryOutcome } from '../store/events.ts'

/** Counts deliveries. */
export interface DeliveryCounters {
  /** Counts a try; with the time since the event was received, if this delivered it. */
  readonly tried: (tenant: string, end: TryOutcome, deliveredAfterMs: number | undefined) => void
  /** Counts a warning about an event that uses up its tries. */
  readonly warned: (tenant: string, percent: number) => void
}

/** A metric in the form that `prom-client` reports. */
export interface DeliveryMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram' | 'gauge'
  /** How the values of several processes combine. */
  readonly aggregator: 'sum' | 'max'
  readonly get: () => Promise<object>
}

type Labels = Readonly<Record<string, string>>
interface Sample {
  readonly labels: Labels
  value: number
  readonly metricName?: string
}

const BOUNDS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3_600, 21_600, 86_400, 259_200]

interface Durations {
  /** Those that nothing fell into may be missing. */
  readonly buckets: number[]
  sum: number
}

/** Makes the metrics of deliveries. Tenants come from the tenants file, so callers cannot create series. */
export function createDeliveryMetrics(
  events: Pick<Events, 'openEvents' | 'endpoints'>,
  now: () => number,
): { readonly counters: DeliveryCounters; readonly metrics: readonly DeliveryMetric[] } {
  const tries = new Map<string, Sample>()
  const warnings = new Map<string, Sample>()
  const durations = new Map<string, Durations>()

  function observe(tenant: string, seconds: number): void {
    const known = durations.get(tenant) ?? { buckets: [], sum: 0 }
    durations.set(tenant, known)
    const above = BOUNDS_SECONDS.findIndex((bound) => seconds <= bound)
    const bucket = above === -1 ? BOUNDS_SECONDS.length : above
    known.buckets[bucket] = (known.buckets[bucket] ?? 0) + 1
    known.sum += seconds
  }

  const counters: DeliveryCounters = {
    tried(tenant, end, deliveredAfterMs) {
      add(tries, { tenant, outcome: end.state === 'due' ? 'failed' : end.state })
      if (deliveredAfterMs !== undefined) observe(tenant, deliveredAfterMs / 1000)
    },
    warned: (tenant, percent) => add(warnings, { tenant, percent: String(percent) }),
  }
  let counting: Promise<readonly OpenEvents[]> | undefined
  /** Two metrics of one scrape share the count. */
  const open = (): Promise<readonly OpenEvents[]> => {
    counting ??= events
      .openEvents()
      .catch(() => [])
      .finally(() => {
        counting = undefined
      })
    return counting
  }
  const metrics: readonly DeliveryMetric[] = [
    metric(
      'counter',
      'transload_delivery_tries_total',
      'Tries of deliveries by tenant and outcome.',
      'sum',
      async () => [...tries.values()],
    ),
    metric(
      'counter',
      'transload_delivery_warnings_total',
      'Events that have used 50, 70 or 90 % of their tries.',
      'sum',
      async () => [...warnings.values()],
    ),
    metric('histogram', 'transload_delivery_seconds', 'Time from the event to its delivery.', 'sum', async () =>
      [...durations].flatMap(([tenant, known]) => samplesOf('transload_delivery_seconds', tenant, known)),
    ),
    metric('gauge', 'transload_delivery_events', 'Events that are due or parked, by tenant.', 'max', async () =>
      (await open()).map(({ tenant, state, count }) => ({ labels: { tenant, state }, value: count })),
    ),
    metric(
      'gauge',
      'transload_delivery_oldest_seconds',
      'Age of the oldest event that is due or parked.',
      'max',
      async () =>
        (await open()).map(({ tenant, state, oldest }) => ({
          labels: { tenant, state },
          value: Math.max(0, now() - oldest) / 1000,
        })),
    ),
    metric('gauge', 'transload_delivery_stopped', 'Endpoints that have stopped their deliveries.', 'max', async () =>
      (await events.endpoints().catch(() => []))
        .filter(({ stopped }) => stopped)
        .map(({ tenant }) => ({ labels: { tenant }, value: 1 })),
    ),
  ]
  return { counters, metrics }
}

function add(samples: Map<string, Sample>, labels: Labels): void {
  const key = JSON.stringify(labels)
  const known = samples.get(key)
  if (known) known.value += 1
  else samples.set(key, { labels, value: 1 })
}

function metric(
  type: DeliveryMetric['type'],
  name: string,
  help: string,
  aggregator: DeliveryMetric['aggregator'],
  read: () => Promise<readonly Sample[]>,
): DeliveryMetric {
  const about = { name, help, type, aggregator } as const
  return { ...about, get: async () => ({ ...about, values: await read() }) }
}

function samplesOf(name: string, tenant: string, { buckets, sum }: Durations): readonly Sample[] {
  let count = 0
  const cumulative = [...BOUNDS_SECONDS, '+Inf'].map((le, i) => {
    count += buckets[i] ?? 0
    return { labels: { le: String(le), tenant }, value: count, metricName: `${name}_bucket` }
  })
  return [
    ...cumulative,
    { labels: { tenant }, value: sum, metricName: `${name}_sum` },
    { labels: { tenant }, value: count, metricName: `${name}_count` },
  ]
}
