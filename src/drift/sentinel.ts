import { compileShape, DRIFT_KINDS, type DriftKind, type Inspect, type Shape } from '../mapping/shape.ts'
import { addedDrift, type Drift, driftKey, MOST_DRIFT, OTHER_DRIFT } from '../store/drift.ts'

/** Reads replies of the service for shape. */
export interface Sentinel {
  /** Compares the reply to an action with the shape that is known. */
  readonly inspect: (action: string, body: unknown) => void
  /** Returns the differences since the last call of this method. */
  readonly take: () => readonly Drift[]
  /** Puts differences back that could not be stored. */
  readonly giveBack: (seen: readonly Drift[]) => void
  /** Returns how often replies differed, by kind. */
  readonly counts: () => Readonly<Record<DriftKind, number>>
}

/** Makes a sentinel with a clock in milliseconds since 1970. Its memory is bounded, whatever the service sends. */
export function createSentinel(shapes: Readonly<Record<string, Shape>>, now: () => number): Sentinel {
  const counts = Object.fromEntries(DRIFT_KINDS.map((kind) => [kind, 0])) as Record<DriftKind, number>
  /** The keys that were seen since the start; those beyond the limit become one for each kind. */
  const known = new Set<string>()
  let seen = new Map<string, { -readonly [Name in keyof Drift]: Drift[Name] }>()

  function note(thing: string, kind: DriftKind, place: string): void {
    counts[kind] += 1
    const path = `${thing}.${place}`
    const key = driftKey({ kind, path })
    const at = now()
    const counted = seen.get(key)
    if (counted) {
      counted.count += 1
      counted.lastAt = at
      return
    }
    if (!known.has(key) && known.size >= MOST_DRIFT) {
      noteOther(kind, at)
      return
    }
    known.add(key)
    seen.set(key, { kind, path, count: 1, firstAt: at, lastAt: at })
  }

  function noteOther(kind: DriftKind, at: number): void {
    const other = { kind, path: OTHER_DRIFT, count: 1, firstAt: at, lastAt: at }
    seen.set(driftKey(other), addedDrift(seen.get(driftKey(other)), other))
  }

  const inspectors = new Map<string, (body: unknown) => void>(
    Object.entries(shapes).map(([action, shape]) => {
      const inspect: Inspect = compileShape(shape)
      // The replies to several actions show the same thing.
      const [thing = action] = action.split('.')
      const noteHere = (kind: DriftKind, place: string) => note(thing, kind, place)
      return [action, (body: unknown) => inspect(body, noteHere)]
    }),
  )
  return {
    inspect: (action, body) => inspectors.get(action)?.(body),
    take() {
      const taken = [...seen.values()]
      seen = new Map()
      return taken
    },
    giveBack(unstored) {
      for (const drift of unstored) {
        const key = driftKey(drift)
        seen.set(key, addedDrift(seen.get(key), drift))
      }
    },
    counts: () => counts,
  }
}
