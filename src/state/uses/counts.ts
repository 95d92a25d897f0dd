import type { CompiledAction } from '../../language/mapping/compile.ts'
import type { Fields } from '../../language/mapping/fields.ts'
import type { Note } from '../../language/mapping/request.ts'
import {
  type CallCount,
  type CountBatch,
  DAY_MS,
  MOST_OF_KIND,
  type NameCount,
  type NameKind,
  OTHER_NAMES,
} from '../../outside/store/scoreboard.ts'
import { type Store, StoreDown } from '../../outside/store/store.ts'
import type { Use } from '../../runtime/call.ts'
import type { Logger } from '../../runtime/log.ts'
import { oneAtATime, within } from '../../runtime/time.ts'

/** The facts about an answered call that are counted. */
export interface CountedCall {
  readonly use: Use
  /** Empty if it is not known. */
  readonly action: string
  /** `done`, `replayed` or the error's code. */
  readonly outcome: string
  readonly requestId: string
  readonly agent: string
  /** The address or network that the call came from. */
  readonly source: string
  /** Set for a version-1 call whose action is known. */
  readonly request: { readonly compiled: CompiledAction; readonly fields: Fields } | undefined
  readonly notes: readonly Note[]
  /** True if it made a booking at a price other than its quote's. */
  readonly isOtherPrice: boolean
}

export const DONE = 'done'
export const REPLAYED = 'replayed'

/** The action of a version-2 body on a version-1 path. */
export const VERSION_2_BODY = 'version-2 body'

/** How often counts are stored; a process that is killed loses the rest. */
export const STORE_EVERY_MS = 10_000
/** With this many tenants, counts are stored earlier, because each tenant takes some kilobytes. */
const MANY_TENANTS = 1_000
/** How long a process that ends waits for its last write. */
const LAST_WAIT_MS = 5_000

/** Counts calls and stores the counts. */
export type UseCounts = ReturnType<typeof openUseCounts>

/** Starts counting calls. `instance` is this process's name among those that share the store. */
export function openUseCounts({
  store,
  log,
  instance,
  everyMs = STORE_EVERY_MS,
}: {
  readonly store: Store
  readonly log: Logger
  readonly instance: string
  /** @default 10000 */
  readonly everyMs?: number | undefined
}) {
  const counts = createCounts(store.now, () => {
    if (!isFailing) void rounds.run()
  })
  let no = 0
  let watched = -1
  let isFailing = false
  /** The counts that are being stored, and the batch that is not stored yet, or not provably. */
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
    // The rest of the last round goes first. A batch that was lost in an outage is sent again; the store ignores one that it already has.
    for (const isNew of [false, true]) {
      if (isNew) round = counts.take()
      for (unstored ??= nextBatch(isNew); unstored; unstored = nextBatch(isNew)) {
        await store.addCounts(unstored).catch((error: unknown) => {
          // A batch that the store refuses would hold up all later ones.
          if (!(error instanceof StoreDown)) unstored = undefined
          throw error
        })
        watched = Math.max(...unstored.days)
      }
    }
  }

  const rounds = oneAtATime(() =>
    storeAll().then(
      () => {
        isFailing = false
      },
      (error: unknown) => {
        // Logs only the first failure in a row. Counts are kept while the store is down; a batch that it refuses is lost.
        if (!isFailing) log.warn({ err: error }, 'the counts of calls could not be stored')
        isFailing = true
      },
    ),
  )
  const timer = setInterval(rounds.run, everyMs)
  timer.unref()
  /** A round that is under way may lack the last calls. */
  const flush = async () => {
    await rounds.current()
    await rounds.run()
  }

  return {
    count: counts.add,
    /** Stores what is counted by now, as far as the store takes it. */
    flush,
    /** Stores the last counts. */
    async close(): Promise<void> {
      clearInterval(timer)
      await within(LAST_WAIT_MS, flush())
    },
  }
}

const dayOf = (at: number) => Math.floor(at / DAY_MS)

/** The most tenants with counts that are not stored yet; calls of further ones are counted without a name. */
const MOST_TENANTS = 10_000
/** The most caller-chosen names that are not stored yet, for all tenants together. */
const MOST_NAMES = 50_000
/** A batch is made, sent to the writer thread and written in one step; more tenants would take megabytes in each. */
const TENANTS_AT_ONCE = 50

/** The tenant of calls whose caller has no name, such as those with one of the service's tokens. */
export const NO_NAME = OTHER_NAMES

interface TakenCounts {
  readonly calls: readonly CallCount[]
  readonly names: readonly NameCount[]
}

/**
 * Counts calls in memory, by a clock in milliseconds since 1970. Its memory is bounded, whatever callers send. `onMany` is called with each
 * call while there are counts of many tenants.
 */
export function createCounts(now: () => number, onMany = () => {}) {
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
    add(tenant: string, call: CountedCall): void {
      const at = now()
      const tally = tallies.get(tenant) ?? tallyOf(tenant)
      tally.add(call, at, Math.floor(at / DAY_MS))
      if (tallies.size >= MANY_TENANTS) onMany()
    },
    /** Returns the counts since this was last called, a few tenants at a time. */
    take() {
      const taken = [...tallies]
      tallies = new Map()
      names = 0
      return batchesOf(taken)
    },
  }
}

function* batchesOf(taken: (readonly [string, Tally])[]): Generator<TakenCounts, undefined> {
  while (taken.length > 0) {
    const some = taken.splice(0, TENANTS_AT_ONCE)
    yield {
      calls: some.flatMap(([tenant, tally]) => tally.calls(tenant)),
      names: some.flatMap(([tenant, tally]) => tally.names(tenant)),
    }
  }
}

/** How many more names may wait to be stored than the limit of their kind: the store may know different ones. */
const PENDING_FACTOR = 2

type Counting<Count> = { -readonly [Member in Exclude<keyof Count, 'tenant'>]: Count[Member] }
type CallCounting = Counting<CallCount>
type NameCounting = Counting<NameCount>

interface Slots {
  /** How often each field of the action was sent. */
  readonly sent: Float64Array
  readonly firstAt: number
  lastAt: number
}

/** One tenant's counts that are not stored yet. */
type Tally = ReturnType<typeof createTally>

/** Makes a tenant's counts. A call costs a few lookups and allocates nothing once its names are known. */
function createTally(mayGrow: () => boolean) {
  const calls = new Map<string, CallCounting>()
  const named = new Map<string, Map<string, NameCounting>>()
  const slots = new Map<CompiledAction, Slots>()

  function addName(kind: NameKind, action: string, name: string, now: number, example = ''): void {
    const group = `${kind} ${action}`
    let names = named.get(group)
    if (!names) {
      names = new Map()
      named.set(group, names)
    }
    const known = names.get(name) ?? newName(names, kind, action, name, now)
    known.count += 1
    known.lastAt = now
    known.example = example
  }

  function newName(
    names: Map<string, NameCounting>,
    kind: NameKind,
    action: string,
    sent: string,
    now: number,
  ): NameCounting {
    const own = storableName(sent)
    const short = names.get(own)
    if (short) return short
    const most = MOST_OF_KIND[kind]
    const isBeyond = most !== undefined && (names.size >= most * PENDING_FACTOR || !mayGrow())
    const name = isBeyond ? OTHER_NAMES : own
    const known = names.get(name)
    if (known) return known
    const made = { kind, action, name, count: 0, firstAt: now, lastAt: now, example: '' }
    names.set(name, made)
    return made
  }

  function addFields({ compiled, fields }: NonNullable<CountedCall['request']>, now: number): void {
    const { values, unknown } = fields
    let sorted = slots.get(compiled)
    if (!sorted) {
      sorted = { sent: new Float64Array(values.length), firstAt: now, lastAt: now }
      slots.set(compiled, sorted)
    }
    const { sent } = sorted
    for (let slot = 0; slot < values.length; slot += 1)
      if (values[slot] !== undefined) sent[slot] = (sent[slot] ?? 0) + 1
    sorted.lastAt = now
    for (const [i, name] of unknown.entries()) if (unknown.indexOf(name) === i) addName('unknown', '', name, now)
  }

  return {
    add(call: CountedCall, now: number, day: number): void {
      const { use, action, outcome } = call
      const key = `${day} ${use} ${action} ${outcome}`
      const known = calls.get(key)
      if (known) known.calls += 1
      else calls.set(key, { day, use, action, outcome, calls: 1 })
      addName('use', '', use, now)
      if (call.isOtherPrice) addName('price', action, 'booked', now, call.requestId)
      if (use === 'dry-run') return
      if (outcome !== DONE && outcome !== REPLAYED) addName('error', '', outcome, now, call.requestId)
      addName('agent', '', productOf(call.agent), now)
      addName('network', '', networkOf(call.source), now)
      if (call.request) addFields(call.request, now)
      for (const { code, name } of call.notes) if (code !== 'warning') addName(code, action, name, now)
    },
    calls: (tenant: string): readonly CallCount[] => [...calls.values()].map((count) => ({ tenant, ...count })),
    names: (tenant: string): readonly NameCount[] => [
      ...[...named.values()].flatMap((names) => [...names.values()].map((count) => ({ tenant, ...count }))),
      ...[...slots].flatMap(([compiled, counted]) => fieldCounts(tenant, compiled, counted)),
    ],
  }
}

function fieldCounts(tenant: string, compiled: CompiledAction, { sent, firstAt, lastAt }: Slots): NameCount[] {
  return [...sent].flatMap((count, slot) => {
    const name = compiled.fields.names[slot]
    if (count === 0 || name === undefined) return []
    const kind = compiled.hasPlace[slot] ? 'used' : 'unused'
    return [{ tenant, kind, action: compiled.action.name, name, count, firstAt, lastAt, example: '' }]
  })
}

/** How many raw values are remembered with their short forms, so that strangers cannot make the tables grow. */
const MOST_REMEMBERED = 1_000

const PRODUCT = /^([^\s/();,]+)(?:\/v?(\d{1,6}))?/
const LONGEST_AGENT_CHARACTERS = 256

/** Returns a user agent's product and major version, such as `curl/8`. */
const productOf = remembered((agent) => {
  const [, product = '', major] = PRODUCT.exec(agent.slice(0, LONGEST_AGENT_CHARACTERS).trim()) ?? []
  if (product === '') return 'none'
  return storableName(major === undefined ? product : `${product}/${major}`)
})

/** Returns a source's network: the /24 of an IPv4 address; an IPv6 source is already a /64. */
const networkOf = remembered((source) => {
  const lastDot = source.lastIndexOf('.')
  return lastDot === -1 ? source || 'unknown' : `${source.slice(0, lastDot)}.0/24`
})

/** Remembers the results of a pure function. */
function remembered(make: (text: string) => string): (text: string) => string {
  const known = new Map<string, string>()
  return (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    if (known.size >= MOST_REMEMBERED) known.clear()
    const made = make(text)
    known.set(text, made)
    return made
  }
}

const LONGEST_NAME_CHARACTERS = 64
const LONGEST_TENANT_CHARACTERS = 256

/** Returns a name that a caller chose in a form that every store keeps. */
const storableName = (name: string): string => storable(name, LONGEST_NAME_CHARACTERS)

/** Returns a tenant's name in a form that every store keeps. */
const storableTenant = (name: string): string => storable(name, LONGEST_TENANT_CHARACTERS)

function storable(text: string, limit: number): string {
  const short = text.length > limit ? `${text.slice(0, limit - 1)}…` : text
  return short.toWellFormed().replaceAll('\0', '�')
}
