import { type CountBatch, DAY_MS, OTHER_NAMES, type Scoreboard } from '../store/scoreboard.ts'
import { StoreDown } from '../store/store.ts'
import { type CountedCall, createTally, storableTenant, type Tally } from './tally.ts'

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

/** Counts calls and stores the counts. */
export interface Recorder {
  readonly count: (tenant: string, call: CountedCall) => void
  /** Stores the last counts. */
  readonly close: () => Promise<void>
}

export interface RecorderDeps {
  readonly store: Scoreboard & { readonly now: () => number }
  /** The name of this process among those that share the store. */
  readonly instance: string
  /** Called with the first failure in a row. Counts are kept while the store is down; a batch that it refuses is lost. */
  readonly onError: (error: unknown) => void
  /** @default 10000 */
  readonly everyMs?: number | undefined
}

/** How often counts are stored: a process that is killed loses the rest. */
const STORE_EVERY_MS = 10_000
/** So many tenants are stored before that, because each takes some kilobytes. */
const MANY_TENANTS = 1_000
/** How long the end of a process waits for its last write. */
const LAST_WAIT_MS = 5_000

/** Starts to count calls. */
export function startRecorder(deps: RecorderDeps): Recorder {
  const { store, instance, onError, everyMs = STORE_EVERY_MS } = deps
  const counts = createCounts(store.now)
  let no = 0
  let watched = -1
  /** The counts that are being stored, and the batch of them that is not, or not provably. */
  let round = counts.take()
  let unstored: CountBatch | undefined

  function nextBatch(isNew: boolean): CountBatch | undefined {
    const { value } = round.next()
    const today = dayOf(store.now())
    if (!(value || (isNew && watched !== today))) return undefined
    const { calls = [], names = [] } = value ?? {}
    no += 1
    return { instance, no, days: [...new Set([...calls.map(({ day }) => day), today])], calls, names }
  }

  async function storeAll(): Promise<void> {
    // What the last round left goes first. A batch that was lost in an outage is sent again: the store ignores one that it has.
    for (const isNew of [false, true]) {
      if (isNew) round = counts.take()
      for (unstored ??= nextBatch(isNew); unstored; unstored = nextBatch(isNew)) {
        await store.addCounts(unstored).catch((error: unknown) => {
          // A batch that the store refuses would keep all later ones waiting.
          if (!(error instanceof StoreDown)) unstored = undefined
          throw error
        })
        watched = Math.max(...unstored.days)
      }
    }
  }

  let storing: Promise<void> | undefined
  let isFailing = false
  function storeOnce(): Promise<void> {
    storing ??= storeAll()
      .then(
        () => {
          isFailing = false
        },
        (error: unknown) => {
          if (!isFailing) onError(error)
          isFailing = true
        },
      )
      .finally(() => {
        storing = undefined
      })
    return storing
  }
  const timer = setInterval(storeOnce, everyMs)
  timer.unref()

  return {
    count(tenant, call) {
      counts.add(tenant, call)
      if (counts.tenants() >= MANY_TENANTS && !isFailing) void storeOnce()
    },
    async close() {
      clearInterval(timer)
      const { promise: tooLong, resolve } = Promise.withResolvers<void>()
      const limit = setTimeout(resolve, LAST_WAIT_MS)
      await Promise.race([(storing ?? Promise.resolve()).then(storeOnce), tooLong])
      clearTimeout(limit)
    },
  }
}

const dayOf = (at: number) => Math.floor(at / DAY_MS)
