import { addedDrift, boundDrift, type Drift, type DriftList, driftKey } from './drift.ts'
import { compareBytes } from './key-order.ts'

/** Creates the list of a store that ends with the process. */
export function createMemoryDrift(checkOpen: () => void): DriftList {
  const listed = new Map<string, { readonly drift: Drift; readonly firstBy: string }>()
  return {
    async addDrift({ instance, seen, keptSince }) {
      checkOpen()
      for (const [key, { drift }] of listed) if (drift.lastAt < keptSince) listed.delete(key)
      const known = [...listed.values()].map(({ drift }) => drift)
      return boundDrift(seen, known).flatMap((drift) => {
        const key = driftKey(drift)
        const before = listed.get(key)
        const firstBy = before?.firstBy ?? instance
        listed.set(key, { drift: addedDrift(before?.drift, drift), firstBy })
        return firstBy === instance ? [{ kind: drift.kind, path: drift.path }] : []
      })
    },
    async listDrift() {
      checkOpen()
      return [...listed.values()].map(({ drift }) => drift).sort(byFirst)
    },
  }
}

function byFirst(one: Drift, other: Drift): number {
  return other.firstAt - one.firstAt || compareBytes(one.kind, other.kind) || compareBytes(one.path, other.path)
}
