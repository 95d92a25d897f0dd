import { currentWaits } from '../../runtime/call.ts'
import { type CountedMetric, gauge, type Histogram, labelledGauge } from '../../runtime/metrics.ts'
import type { Store } from './store.ts'

/** The verbs that are about the store itself, yield pages, or are timed separately. */
const UNTIMED: ReadonlySet<string> = new Set(['ready', 'now', 'close', 'scan', 'exclusive'])

/** Times every operation of a store: for the metrics, and for the call that waits for it. */
export function observeStore(store: Store, seconds: Histogram) {
  let pending = 0

  function timed<Args extends readonly unknown[], Result>(
    operation: string,
    work: (...args: Args) => Promise<Result>,
  ): (...args: Args) => Promise<Result> {
    return (...args) => {
      const waits = currentWaits()
      const endSpan = waits?.trace?.beginStore(operation)
      const startedAt = performance.now()
      pending += 1
      const end = (failure?: unknown) => {
        pending -= 1
        const ms = performance.now() - startedAt
        seconds.observeMs(ms, operation)
        if (waits) waits.storeMs += ms
        endSpan?.(failure)
      }
      const done = work(...args)
      // Asked for first, so it ends before the caller goes on.
      done.then(() => end(), end)
      return done
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
    // Each verb keeps its arguments and its result.
  ) as unknown as Store
  const observed: Store = {
    ...timedVerbs,
    // These wait only for a server; other engines answer them at once, in this thread.
    ...(store.engine !== 'postgres' && { quote: store.quote, shipment: store.shipment, approvals: store.approvals }),
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
    pending: gauge('transload_store_operations_under_way', 'Store operations in progress.', () => pending),
  }
}

/** Makes the gauge of the store's size; it has no values while the store is down. */
export const sizeGauge = (store: Store): CountedMetric =>
  labelledGauge('transload_store_bytes', 'The size of the store.', async () => {
    const size = await store.size().catch(() => undefined)
    if (!size) return []
    return [
      { labels: { state: 'used' }, value: size.bytes - size.freeBytes },
      { labels: { state: 'free' }, value: size.freeBytes },
    ]
  })
