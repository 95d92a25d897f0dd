import { type CountBatch, DAY_MS, OTHER_NAMES } from '../store/scoreboard.ts'
import { storableTenant } from './storable-name.ts'
import { type CountedCall, createTally, type Tally } from './tally.ts'

/** Tenants with counts that are not stored yet; the calls of further ones are counted without a name. */
const MOST_TENANTS = 10_000
/** Names that callers chose and that are not stored yet, of all tenants together. */
const MOST_NAMES = 50_000
/** A batch is made, sent to the thread that writes and written in one step: more would take megabytes in each. */
const TENANTS_AT_ONCE = 50

/** The tenant of calls whose caller has no name, such as those with a token of the service. */
export const NO_NAME = OTHER_NAMES

/** Counts calls in memory. */
export interface Counts {
  readonly add: (tenant: string, call: CountedCall) => void
  /** The number of tenants with counts. */
  readonly tenants: () => number
  /** Returns the counts since the last call of this method, a few tenants at a time. */
  readonly take: () => Generator<Pick<CountBatch, 'calls' | 'names'>, undefined>
}

/** Makes counters on a clock in milliseconds since 1970. Their memory is bounded, whatever callers send. */
export function createCounts(now: () => number): Counts {
  let tallies = new Map<string, Tally>()
  let names = 0
  const mayGrow = () => {
    names += 1
    return names <= MOST_NAMES
  }
  const tallyOf = (tenant: string): Tally => {
    const stored = storableTenant(tenant)
    const known = tallies.get(stored)
    if (known) return known
    if (tallies.size >= MOST_TENANTS && stored !== NO_NAME) return tallyOf(NO_NAME)
    const made = createTally(mayGrow)
    tallies.set(stored, made)
    return made
  }
  return {
    add(tenant, call) {
      const at = now()
      const tally = tallies.get(tenant) ?? tallyOf(tenant)
      tally.add(call, at, Math.floor(at / DAY_MS))
    },
    tenants: () => tallies.size,
    take() {
      const taken = [...tallies]
      tallies = new Map()
      names = 0
      return batchesOf(taken)
    },
  }
}

function* batchesOf(taken: (readonly [string, Tally])[]): ReturnType<Counts['take']> {
  while (taken.length > 0) {
    const some = taken.splice(0, TENANTS_AT_ONCE)
    yield {
      calls: some.flatMap(([tenant, tally]) => tally.calls(tenant)),
      names: some.flatMap(([tenant, tally]) => tally.names(tenant)),
    }
  }
}
