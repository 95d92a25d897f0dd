import type { Shape } from '../mapping/shape.ts'
import { type Drift, type DriftList, driftKey } from '../store/drift.ts'
import { storePeriodically } from '../store/periodic.ts'
import { DAY_MS } from '../store/scoreboard.ts'
import { StoreDown } from '../store/store.ts'
import { createSentinel, type Sentinel } from './sentinel.ts'

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
  const { store, shapes, instance, keptDays, onNew, onError, everyMs } = deps
  const sentinel = createSentinel(shapes, store.now)
  const told = new Set<string>()

  async function storeSeen(): Promise<void> {
    const seen = sentinel.take()
    if (seen.length === 0) return
    try {
      const first = await store.addDrift({ instance, seen, keptSince: store.now() - keptDays * DAY_MS })
      for (const drift of first) {
        if (told.has(driftKey(drift))) continue
        told.add(driftKey(drift))
        onNew(drift)
      }
    } catch (error) {
      // The store would refuse it again.
      if (error instanceof StoreDown) sentinel.giveBack(seen)
      throw error
    }
  }

  const { close } = storePeriodically(storeSeen, { onError, everyMs })
  return { inspect: sentinel.inspect, counts: sentinel.counts, close }
}
