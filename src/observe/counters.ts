/** The labels of one series of a metric. */
export type Labels = Readonly<Record<string, string>>

/** A metric in the form that `prom-client` reports. */
export interface CountedMetric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'histogram'
  readonly aggregator: 'sum'
  readonly get: () => Promise<object>
}

/** Counts by labels. A known series costs one look-up and no allocation. */
export interface Counter {
  /** Adds to the series with these values of its labels, which are joined by line breaks in the order of their names. */
  readonly add: (series: string, by?: number) => void
  readonly metric: CountedMetric
}

/** Counts durations by labels. */
export interface Histogram {
  /** Adds a duration to the series with these values of its labels, as in `Counter`. */
  readonly observe: (series: string, seconds: number) => void
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
    add: (series, by = 1) => {
      counts.of(series).value += by
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
    observe: (series, seconds) => {
      const { buckets } = add(durations.of(series), seconds)
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

/** Keeps what is counted for each series. */
function createSeries<T>(names: readonly string[], make: () => T) {
  const known = new Map<string, T>()
  const labelsOf = (series: string): Labels => {
    const values = series.split('\n')
    return Object.fromEntries(names.map((name, i) => [name, values[i] ?? '']))
  }
  const added = (series: string): T => {
    const kept = known.size < MAX_SERIES ? series : names.map(() => OTHER).join('\n')
    const found = known.get(kept)
    if (found) return found
    const made = make()
    known.set(kept, made)
    return made
  }
  // The only series of a metric without labels is there from the start.
  if (names.length === 0) added('')
  return {
    of: (series: string): T => known.get(series) ?? added(series),
    all: () => [...known].map(([series, counted]) => [labelsOf(series), counted] as const),
  }
}
