import { type Comparisons, DIFFERENCES_PER_FIELD, type Difference, type FieldCount } from './comparisons.ts'
import { compareBytes } from './key-order.ts'
import { DAY_MS } from './scoreboard.ts'

/** Creates the comparisons of a store that ends with the process. */
export function createMemoryComparisons(checkOpen: () => void): Comparisons {
  let fields = new Map<string, FieldCount>()
  /** The newest first. */
  let differences: readonly Difference[] = []
  const batches = new Map<string, number>()

  return {
    async addComparisons(batch) {
      checkOpen()
      if (batch.no <= (batches.get(batch.instance) ?? 0)) return
      batches.set(batch.instance, batch.no)
      for (const count of batch.fields) {
        const key = JSON.stringify([count.day, count.action, count.field])
        const { equal = 0, differs = 0, noise = 0 } = fields.get(key) ?? {}
        const sum = { equal: equal + count.equal, differs: differs + count.differs, noise: noise + count.noise }
        fields.set(key, { ...count, ...sum })
      }
      const kept = new Map<string, number>()
      differences = [...batch.differences.toReversed(), ...differences].filter(({ action, field }) => {
        const key = JSON.stringify([action, field])
        kept.set(key, (kept.get(key) ?? 0) + 1)
        return (kept.get(key) ?? 0) <= DIFFERENCES_PER_FIELD
      })
    },
    async comparedFields(fromDay) {
      checkOpen()
      return [...fields.values()].filter(({ day }) => day >= fromDay).sort(byKey)
    },
    async differences() {
      checkOpen()
      return differences
    },
    async dropComparisons(beforeDay) {
      checkOpen()
      fields = new Map([...fields].filter(([, { day }]) => day >= beforeDay))
      differences = differences.filter(({ at }) => at >= beforeDay * DAY_MS)
    },
  }
}

function byKey(one: FieldCount, other: FieldCount): number {
  return one.day - other.day || compareBytes(one.action, other.action) || compareBytes(one.field, other.field)
}
