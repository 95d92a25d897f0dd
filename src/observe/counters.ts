import type { Call } from './call.ts'

export type Labels = Readonly<Record<string, string>>

/** A metric in the form that `prom-client` reports. */
export interface CountedMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram'
  readonly aggregator: 'sum'
  readonly get: () => Promise<object>
}

/** Counts calls. */
export interface Counters {
  readonly count: (call: Call, status: number) => void
  readonly calls: CountedMetric
  readonly seconds: CountedMetric
  readonly unknownFields: CountedMetric
}

/** Upper bounds of the histogram. */
const BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15]

interface Count {
  readonly labels: Labels
  value: number
}

interface Durations {
  readonly labels: Labels
  /** Calls per bucket: above the previous bound and at most this one; the last bucket has no bound. */
  readonly buckets: number[]
  sum: number
}

/** Makes counters. A call costs one or two look-ups and no allocation. */
export function createCounters(knowsTenants: boolean): Counters {
  const calls = new Map<string, Count>()
  const unknownFields = new Map<string, Count>()
  const seconds = new Map<string, Durations>()

  return {
    count: ({ route, action = '', error = '', startedAt, tenant: caller, unknownFields: unknown }, status) => {
      const tenant = (knowsTenants && caller) || ''
      const key = `${route} ${action} ${status} ${error} ${tenant}`
      const counted = calls.get(key)
      if (counted) counted.value += 1
      else calls.set(key, { labels: { route, action, status: String(status), error, tenant }, value: 1 })

      let durations = seconds.get(action)
      if (!durations) {
        durations = { labels: { action }, buckets: Array(BOUNDS_SECONDS.length + 1).fill(0), sum: 0 }
        seconds.set(action, durations)
      }
      const took = (performance.now() - startedAt) / 1000
      let bucket = 0
      while (bucket < BOUNDS_SECONDS.length && took > (BOUNDS_SECONDS[bucket] ?? 0)) bucket += 1
      durations.buckets[bucket] = (durations.buckets[bucket] ?? 0) + 1
      durations.sum += took

      if (unknown === 0) return
      const fields = unknownFields.get(action)
      if (fields) fields.value += unknown
      else unknownFields.set(action, { labels: { action }, value: unknown })
    },
    calls: counter('transload_calls_total', 'Calls by route, action, status, error code and tenant.', calls),
    unknownFields: counter('transload_unknown_fields_total', 'Fields that no mapping knows.', unknownFields),
    seconds: histogram('transload_call_seconds', 'Duration of calls.', seconds),
  }
}

function counter(name: string, help: string, counts: ReadonlyMap<string, Count>): CountedMetric {
  const about = { name, help, type: 'counter', aggregator: 'sum' } as const
  const get = async () => ({ ...about, values: [...counts.values()].map(({ labels, value }) => ({ labels, value })) })
  return { ...about, get }
}

function histogram(name: string, help: string, all: ReadonlyMap<string, Durations>): CountedMetric {
  const about = { name, help, type: 'histogram', aggregator: 'sum' } as const
  const valuesOf = ({ labels, buckets, sum }: Durations) => {
    let count = 0
    const cumulative = [...BOUNDS_SECONDS, '+Inf'].map((le, i) => {
      count += buckets[i] ?? 0
      return { labels: { le, ...labels }, value: count, metricName: `${name}_bucket` }
    })
    return [
      ...cumulative,
      { labels, value: sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ]
  }
  return { ...about, get: async () => ({ ...about, values: [...all.values()].flatMap(valuesOf) }) }
}
