import { type ComparedField, WHOLE_ANSWER } from '../compare/answers.ts'
import { comparisonsOf } from '../compare/same.ts'
import type { Action } from '../mapping/action.ts'
import {
  type ComparisonBatch,
  type Comparisons,
  comparer,
  type Difference,
  type FieldCount,
} from '../store/comparisons.ts'
import { createBatchWrite, storePeriodically } from '../store/periodic.ts'
import { DAY_MS } from '../store/scoreboard.ts'

/** The most differences that wait to be stored. */
const WAITING_DIFFERENCES = 200

/** Fields that no declaration knows: their names come from the service, and are counted as one. */
export const OTHER_FIELD = '(other field)'

export interface ShadowRecorderDeps {
  readonly store: Comparisons & { readonly now: () => number }
  /** The name of this process among those that share the store. */
  readonly instance: string
  /** How long results are kept. */
  readonly keptDays: number
  /** Called with the first difference of each field. */
  readonly onFirst: (difference: Difference) => void
  /** Called when results cannot be stored any more. */
  readonly onError: (error: unknown) => void
  /** @default 10000 */
  readonly everyMs?: number | undefined
}

/** Sums up comparisons and stores the sums. */
export interface ShadowRecorder {
  readonly add: (action: Action, requestId: string, fields: readonly ComparedField[]) => void
  /** Stores the last results. */
  readonly close: () => Promise<void>
}

/** Starts to store results. */
export function startShadowRecorder(deps: ShadowRecorderDeps): ShadowRecorder {
  const { store, instance, keptDays, onFirst, onError, everyMs } = deps
  let counts = new Map<string, FieldCount>()
  let differences: Difference[] = []
  const told = new Set<string>()
  const namesOf = new Map<Action, ReadonlySet<string>>()
  let no = 0
  let droppedOn = -1

  function add(action: Action, requestId: string, fields: readonly ComparedField[]): void {
    const known = namesOf.get(action) ?? new Set([WHOLE_ANSWER, ...comparisonsOf(action.reply).keys()])
    namesOf.set(action, known)
    const at = store.now()
    const day = Math.floor(at / DAY_MS)
    for (const { field: name, verdict, native, translated } of fields) {
      const field = known.has(name) ? name : OTHER_FIELD
      const key = `${day}\n${action.name}\n${field}`
      const before = counts.get(key) ?? { day, action: action.name, field, equal: 0, differs: 0, noise: 0 }
      counts.set(key, { ...before, [verdict]: before[verdict] + 1 })
      if (verdict !== 'differs') continue
      const difference = { action: action.name, field, native, translated, requestId, at }
      if (differences.length < WAITING_DIFFERENCES) differences.push(difference)
      const first = `${action.name}\n${field}`
      if (!told.has(first)) onFirst(difference)
      told.add(first)
    }
  }

  function nextBatch(): ComparisonBatch | undefined {
    if (counts.size === 0) return undefined
    no += 1
    const batch = { instance: comparer(instance), no, fields: [...counts.values()], differences }
    counts = new Map()
    differences = []
    return batch
  }

  const writeBatches = createBatchWrite(nextBatch, (batch) => store.addComparisons(batch))

  async function storeAll(): Promise<void> {
    await writeBatches()
    const today = Math.floor(store.now() / DAY_MS)
    if (droppedOn === today) return
    await store.dropComparisons(today - keptDays)
    droppedOn = today
  }

  const { close } = storePeriodically(storeAll, { onError, everyMs })
  return { add, close }
}
