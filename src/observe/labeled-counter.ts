import type { CountedMetric } from './counters.ts'

/** A counter of what happens less often than calls. Its labels come from lists of the gateway, never from outside. */
export interface LabeledCounter<Label extends string> {
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
