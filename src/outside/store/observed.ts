import { currentCall } from '../../runtime/call.ts'
import { type CountedMetric, gauge, type Histogram, labelledGauge } from '../../runtime/metrics.ts'
import type { StoreSize } from './pruning.ts'
import type { Store } from './store.ts'

/** The verbs that tell of the store itself, yield pages, or are timed by themselves. */
const UNTIMED: ReadonlySet<string> = new Set(['ready', 'now', 'close', 'scan', 'exclusive'])

/** Times every operation of a store: for the metrics, and for the call that waits for it. */
export function observeStore(store: Store, seconds: Histogram) {
  let pending = 0

  function timed<Args extends readonly unknown[], Result>(
    operation: string,
    work: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result> {
    return async (...args) => {
      const call = currentCall()
      const endSpan = call?.trace?.beginStore(operation)
      const startedAt = performance.now()
      pending += 1
      let failure: unknown
      try {
        return await work(...args)
      } catch (error) {
        failure = error
        throw error
      } finally {
        pending -= 1
        const ms = performance.now() - startedAt
        seconds.observe(ms / MS_PER_SECOND, operation)
        if (call) call.storeMs += ms
        endSpan?.(failure)
      }
    }
  }

  const waitForLock = timed('lock', (got: Promise<void>) => got)
  const timedVerbs = Object.fromEntries(
    Object.entries(store).map(([name, verb]) => [
      name,
      typeof verb === 'function' && !UNTIMED.has(name)
        ? timed(
            name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
            verb,
          )
        : verb,
    ]),
    // Each verb has the arguments and the result that it had.
  ) as unknown as Store
  const observed: Store = {
    ...timedVerbs,
    // Only a server makes these wait; other engines answer them at once, in this thread.
    ...(store.engine !== 'postgres' && { quote: store.quote, shipment: store.shipment }),
    exclusive: (key, waitMs, work) => {
      const got = Promise.withResolvers<void>()
      const timing = waitForLock(got.promise).catch(() => undefined)
      const done = store.exclusive(key, waitMs, async (isHeld) => {
        got.resolve()
        // The work under the lock is not the store's time.
        await timing
        return work(isHeld)
      })
      done.catch(got.reject)
      return done
    },
  }
  return {
    store: observed,
    pending: gauge('transload_store_operations_under_way', 'Operations that wait for the store.', () => pending),
  }
}

/** The size is read once in this time, however often metrics are scraped. */
const SAMPLED_EVERY_MS = 60_000
const MS_PER_SECOND = 1_000

/** Makes the gauges of the store's size; without values while the store is down. */
export function sizeGauges(store: Store): readonly CountedMetric[] {
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
        oldest === undefined ? [] : [{ labels: { table }, value: Math.max(0, store.now() - oldest) / MS_PER_SECOND }],
      ),
    ),
  ]
}
