import type { Shape } from '../mapping/shape.ts'
import { type Drift, type DriftList, driftKey } from '../store/drift.ts'
import { DAY_MS } from '../store/scoreboard.ts'
import { StoreDown } from '../store/store.ts'
import { createSentinel, type Sentinel } from './sentinel.ts'

/** How often differences are stored, and new ones told. */
const STORE_EVERY_MS = 10_000
/** How long the end of a process waits for its last differences. */
const LAST_WAIT_MS = 5_000

export interface DriftRecorderDeps {
  readonly store: DriftList & { readonly now: () => number }
  readonly shapes: Readonly<Record<string, Shape>>
  /** The name of this process among those that share the store. */
  readonly instance: string
  /** How long a difference is listed that does not occur any more. */
  readonly keptDays: number
  /** Called once for each difference, over all processes that share the store. */
  readonly onNew: (drift: Pick<Drift, 'kind' | 'path'>) => void
  /** Called when differences cannot be stored any more; they are kept while the store is down. */
  readonly onError: (error: unknown) => void
  /** @default 10000 */
  readonly everyMs?: number | undefined
}

/** Notices how the replies of the service change. */
export interface DriftRecorder extends Pick<Sentinel, 'inspect' | 'counts'> {
  /** Stores the last differences. */
  readonly close: () => Promise<void>
}

/** Starts to notice, store and tell differences. */
export function startDriftRecorder(deps: DriftRecorderDeps): DriftRecorder {
  const { store, shapes, instance, keptDays, onNew, onError, everyMs = STORE_EVERY_MS } = deps
  const sentinel = createSentinel(shapes, store.now)
  const told = new Set<string>()
  let storing: Promise<void> | undefined
  let isFailing = false

  async function storeSeen(): Promise<void> {
    const seen = sentinel.take()
    if (seen.length === 0) return
    try {
      const first = await store.addDrift({ instance, seen, keptSince: store.now() - keptDays * DAY_MS })
      isFailing = false
      for (const drift of first) {
        if (told.has(driftKey(drift))) continue
        told.add(driftKey(drift))
        onNew(drift)
      }
    } catch (error) {
      // What the store refuses would be refused again.
      if (error instanceof StoreDown) sentinel.giveBack(seen)
      if (!isFailing) onError(error)
      isFailing = true
    }
  }

  const storeOnce = (): Promise<void> => {
    storing ??= storeSeen().finally(() => {
      storing = undefined
    })
    return storing
  }
  const timer = setInterval(storeOnce, everyMs)
  timer.unref()

  return {
    inspect: sentinel.inspect,
    counts: sentinel.counts,
    async close() {
      clearInterval(timer)
      const { promise, resolve } = Promise.withResolvers<void>()
      const limit = setTimeout(resolve, LAST_WAIT_MS)
      await Promise.race([Promise.resolve(storing).then(storeOnce), promise])
      clearTimeout(limit)
    },
  }
}
