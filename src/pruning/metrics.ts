import { type Gauge, labelledGauge } from '../observe/metrics.ts'
import type { StoreSize } from '../store/pruning.ts'
import type { Store } from '../store/store.ts'

/** The size is read once in this time, however often metrics are scraped. */
const SAMPLED_EVERY_MS = 60_000
const SECOND_MS = 1_000

/** Makes the gauges of the store's size; without values while the store is down. */
export function sizeGauges(store: Pick<Store, 'size' | 'now'>): readonly Gauge[] {
  let sampledAt = Number.NEGATIVE_INFINITY
  let sample: Promise<StoreSize | undefined> = Promise.resolve(undefined)
  const read = (): Promise<StoreSize | undefined> => {
    if (performance.now() - sampledAt < SAMPLED_EVERY_MS) return sample
    sampledAt = performance.now()
    sample = store.size().catch(() => {
      sampledAt = Number.NEGATIVE_INFINITY
      return undefined
    })
    return sample
  }
  const tables = async () => (await read())?.tables ?? []
  return [
    labelledGauge('transload_store_bytes', 'The size of the store.', async () => {
      const size = await read()
      if (!size) return []
      return [
        { labels: { state: 'used' }, value: size.bytes - size.freeBytes },
        { labels: { state: 'free' }, value: size.freeBytes },
      ]
    }),
    labelledGauge('transload_store_rows', 'Rows of the big tables of the store, about.', async () =>
      (await tables()).map(({ table, rows }) => ({ labels: { table }, value: rows })),
    ),
    labelledGauge('transload_store_oldest_seconds', 'The age of the oldest row of a table.', async () =>
      (await tables()).flatMap(({ table, oldest }) =>
        oldest === undefined ? [] : [{ labels: { table }, value: Math.max(0, store.now() - oldest) / SECOND_MS }],
      ),
    ),
  ]
}
