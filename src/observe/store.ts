import type { Store } from '../store/store.ts'
import { type Call, currentCall } from './call.ts'
import type { Meters } from './meters.ts'
import { type Gauge, gauge } from './metrics.ts'

/** A store whose operations are timed. */
interface ObservedStore {
  readonly store: Store
  /** The operations that are waiting for the store. */
  readonly pending: Gauge
}

/** What a store says of itself, what yields pages, and what is timed by itself. */
const UNTIMED: ReadonlySet<string> = new Set(['ready', 'now', 'close', 'scan', 'exclusive'])

/** Times every operation of a store: for the metrics, and for the call that waits for it. */
export function observeStore(store: Store, { countStore }: Pick<Meters, 'countStore'>): ObservedStore {
  let pending = 0

  function ended(operation: string, startedAt: number, call: Call | undefined): void {
    pending -= 1
    const ms = performance.now() - startedAt
    countStore(operation, ms)
    if (call) call.storeMs += ms
  }

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
        ended(operation, startedAt, call)
        endSpan?.(failure)
      }
    }
  }

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
    ...(store.engine !== 'postgres' && { links: store.links, thing: store.thing }),
    // The work under the lock is not the store's time.
    exclusive: async (key, waitMs, work) => {
      const call = currentCall()
      const endSpan = call?.trace?.beginStore('lock')
      const startedAt = performance.now()
      pending += 1
      let isWaiting = true
      const over = () => {
        if (isWaiting) {
          ended('lock', startedAt, call)
          endSpan?.()
        }
        isWaiting = false
      }
      try {
        return await store.exclusive(key, waitMs, (isHeld) => {
          over()
          return work(isHeld)
        })
      } finally {
        over()
      }
    },
  }
  return {
    store: observed,
    pending: gauge('transload_store_operations_under_way', 'Operations that wait for the store.', () => pending),
  }
}
