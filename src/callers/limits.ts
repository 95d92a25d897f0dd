import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { createBoundedCache } from '../collections/bounded-cache.ts'
import { createUnorderedList, type Held } from '../collections/unordered-list.ts'
import type { Config } from '../config/config.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { compileNetworks } from '../networks.ts'
import type { Share, Source } from '../observe/call.ts'
import { sourceAddress, sourceOf } from './source-address.ts'

/*
 * What callers may use. Whatever a call takes is given back when it ends (`Share.leave`).
 *
 * | What                         | together             | one source                     | beyond it                          |
 * |------------------------------|----------------------|--------------------------------|------------------------------------|
 * | connections                  | `MAX_CONNECTIONS`    | `SOURCE_CONNECTIONS`           | closed                             |
 * | calls under way              | `MAX_IN_FLIGHT`      | `SOURCE_IN_FLIGHT`, a quarter  | 503; 429 where the source is it    |
 * | bytes of bodies and answers  | `BODIES_LIMIT_BYTES` | a quarter                      | the same                           |
 * | calls with new credentials   | 32                   | 8                              | they wait 10 s for a turn; then so |
 * | slow hashes of secrets       | 2, or one core less  | the same                       | the same                           |
 * | calls of a tenant, a second  |                      | `limits` of the tenants file   | 429                                |
 * | events, a second             |                      | 50                             | 429                                |
 */

type ShareConfig = Pick<Config, 'MAX_CONNECTIONS' | 'SOURCE_CONNECTIONS' | 'MAX_IN_FLIGHT' | 'BODIES_LIMIT_BYTES'> &
  Partial<Pick<Config, 'SOURCE_IN_FLIGHT'>>

/** Divides the gateway's connections, calls and memory among sources. */
interface Shares {
  /** Admits a connection and returns the function to call when it closes; undefined refuses it. */
  readonly connect: (source: Source) => (() => void) | undefined
  /** Starts the share of one request, without any resources. */
  readonly open: (source: Source, reply: Reply) => Share
  /** The largest body that one source can send. */
  readonly largestBodyBytes: number
  /** The current usage of all sources together. */
  readonly total: Readonly<Usage>
}

const QUARTER = 4
const FEW_CONNECTIONS = 8
const FEW_CALLS = 4
const SMALL_BODIES_BYTES = 16 * 1024
/**
 * The memory of a body that is passed on while it arrives: buffers of the request, its socket and the socket to the
 * service.
 */
const STREAM_BYTES = 256 * 1024

/** Makes the shares of this process. */
export function createShares(config: ShareConfig): Shares {
  const quarterOf = (limit: number) => Math.max(1, Math.floor(limit / QUARTER))
  const quota = (limit: number, perSource: number, little: number): Quota => ({
    limit,
    perSource: Math.min(perSource, limit),
    little,
  })
  const { MAX_IN_FLIGHT: calls, BODIES_LIMIT_BYTES: bytes } = config
  const quotas: Quotas = {
    connections: quota(config.MAX_CONNECTIONS, config.SOURCE_CONNECTIONS, FEW_CONNECTIONS),
    calls: quota(calls, config.SOURCE_IN_FLIGHT ?? quarterOf(calls), FEW_CALLS),
    bodyBytes: quota(bytes, quarterOf(bytes), SMALL_BODIES_BYTES),
  }
  const usageOf = createUsages()
  const total = noUsage()
  const shared: SharedLimits = { quotas, total, underWay: createUnorderedList() }
  return {
    connect: ({ name, isEverybody }) => {
      const usage = usageOf(name)
      const lacking = shortage(quotas.connections, total.connections, usage.connections, 1)
      if (lacking && !isEverybody) return undefined
      usage.connections += 1
      total.connections += 1
      return once(() => {
        usage.connections -= 1
        total.connections -= 1
      })
    },
    open: (source, reply) => new RequestShare(shared, source, usageOf(source.name), reply),
    largestBodyBytes: quotas.bodyBytes.perSource,
    total,
  }
}

type Quotas = Readonly<Record<'connections' | 'calls' | 'bodyBytes', Quota>>

/** The part of a response that shows if work for it remains. */
interface Reply {
  readonly writableEnded: boolean
  readonly writableNeedDrain: boolean
  readonly destroyed: boolean
  /** Emitted when the reader has the whole response, or has disconnected. */
  readonly once: (event: 'close', listener: () => void) => unknown
}

/** The limits and counts that all requests share. */
interface SharedLimits {
  readonly quotas: Quotas
  /** The usage of all sources together. */
  readonly total: Usage
  readonly underWay: ReturnType<typeof createUnorderedList<RequestShare>>
}

/** Tracks what one request takes, until it ends. */
class RequestShare implements Share {
  readonly source: Source
  readonly #shared: SharedLimits
  readonly #usage: Usage
  readonly #reply: Reply
  #isOver = false
  #bodyBytes = 0
  #underWay: Held<RequestShare> | undefined
  #held: (() => void)[] | undefined

  constructor(shared: SharedLimits, source: Source, usage: Usage, reply: Reply) {
    this.source = source
    this.#shared = shared
    this.#usage = usage
    this.#reply = reply
    usage.requests += 1
    shared.total.requests += 1
  }

  admit(): void {
    const { perSource } = this.#shared.quotas.connections
    if (this.source.isBehindProxy && this.#usage.requests > perSource) throw tooMuch('source')
    this.#demand('calls', 1)
  }

  enter(): void {
    this.#demand('calls', 1)
    if (this.#underWay || this.#isOver) return
    const { underWay, total } = this.#shared
    this.#underWay = underWay.add(this)
    this.#usage.calls += 1
    total.calls += 1
  }

  hold(giveBack: () => void): void {
    if (this.#isOver) giveBack()
    else if (this.#held) this.#held.push(giveBack)
    else this.#held = [giveBack]
  }

  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { total, underWay } = this.#shared
    const usage = this.#usage
    usage.bodyBytes -= this.#bodyBytes
    total.bodyBytes -= this.#bodyBytes
    this.#bodyBytes = 0
    usage.requests -= 1
    total.requests -= 1
    if (this.#held) for (const giveBack of this.#held) giveBack()
    if (!this.#underWay) return
    underWay.take(this.#underWay)
    usage.calls -= 1
    total.calls -= 1
  }

  expectBody(bytes: number): void {
    this.#demand('bodyBytes', bytes)
  }

  takeBody(bytes: number): void {
    this.#demand('bodyBytes', bytes)
    if (this.#isOver) return
    this.#bodyBytes += bytes
    this.#usage.bodyBytes += bytes
    this.#shared.total.bodyBytes += bytes
  }

  returnBody(bytes: number): void {
    const returned = Math.min(bytes, this.#bodyBytes)
    this.#bodyBytes -= returned
    this.#usage.bodyBytes -= returned
    this.#shared.total.bodyBytes -= returned
  }

  streamBody(lengthBytes: number): void {
    this.takeBody(Math.min(lengthBytes, STREAM_BYTES, this.#shared.quotas.bodyBytes.perSource))
  }

  holdAnswer(bytes: number): void {
    this.#demand('bodyBytes', bytes)
    if (this.#reply.destroyed) return
    const { total } = this.#shared
    const usage = this.#usage
    usage.bodyBytes += bytes
    total.bodyBytes += bytes
    this.#reply.once('close', () => {
      usage.bodyBytes -= bytes
      total.bodyBytes -= bytes
    })
  }

  /** Throws unless the source may take so much more. */
  #demand(what: 'calls' | 'bodyBytes', more: number): void {
    const { quotas, total, underWay } = this.#shared
    const { isEverybody } = this.source
    const usage = this.#usage
    let lacking = shortage(quotas[what], total[what], usage[what], more, isEverybody)
    if (lacking && what === 'calls') {
      // A reply that only waits for its reader is no work and must not block other calls. Rarely checked.
      const working = underWay.items().filter((share) => !share.#reply.writableEnded && !share.#reply.writableNeedDrain)
      const own = working.filter((share) => share.#usage === usage)
      lacking = shortage(quotas.calls, working.length, own.length, more, isEverybody)
    }
    if (lacking) throw tooMuch(lacking)
  }
}

/** The rest of a refused body is not read; the caller's next call uses another connection. */
const HEADERS = { 'Retry-After': '1', Connection: 'close' }

function tooMuch(lacking: Shortage): GatewayError {
  return gatewayError(lacking === 'all' ? 'overloaded' : 'too-many-calls/source', {}, { headers: HEADERS })
}

/** The current usage of one source, or of all sources together. */
interface Usage {
  connections: number
  /** Requests that have started to arrive. */
  requests: number
  /** Calls that are under way. */
  calls: number
  bodyBytes: number
}

/** Beyond this number, only sources with current usage are remembered. */
const SOURCES_KEPT = 10_000

const noUsage = (): Usage => ({ connections: 0, requests: 0, calls: 0, bodyBytes: 0 })

/**
 * Makes the function that returns the usage of a source. Idle sources are removed in bulk once there are many, because
 * a map that changes with every call is expensive (docs/architecture.md).
 */
export function createUsages(): (source: string) => Usage {
  const usages = new Map<string, Usage>()
  return (source) => {
    const known = usages.get(source)
    if (known) return known
    if (usages.size >= SOURCES_KEPT) {
      for (const [idle, { connections, requests, calls, bodyBytes }] of usages) {
        if (connections + requests + calls + bodyBytes === 0) usages.delete(idle)
      }
    }
    const usage = noUsage()
    usages.set(source, usage)
    return usage
  }
}

/** The total of a resource, and the most of it that one source may hold. */
export interface Quota {
  readonly limit: number
  /** Equal to `limit` if one source may hold all of it. */
  readonly perSource: number
  /** A source that holds at most this is refused only if nothing is left. */
  readonly little: number
}

/** The reason of a refusal: the source itself, or all sources together, hold too much. */
type Shortage = 'source' | 'all'

/** The reserve for sources that hold little, as a divisor of the total. */
const RESERVE = 4
/** The most that a source may take of what is left of the reserve, as a divisor. */
const PART_OF_REST = 3

/**
 * Returns why a source that holds this much may not take more; undefined if it may. Many sources that each take their
 * full share would leave nothing for the others. Therefore the less of the last quarter is left, the less of it a
 * source may take: a thousand greedy sources still leave room for a small call of another one.
 */
export function shortage(
  { limit, perSource: most, little }: Quota,
  heldByAll: number,
  held: number,
  more: number,
  /** A source that stands for many callers may use the whole limit. */
  isEverybody = false,
): Shortage | undefined {
  const perSource = isEverybody ? limit : most
  const wanted = held + more
  const left = limit - heldByAll - more
  if (wanted > perSource) return perSource < limit ? 'source' : 'all'
  if (left < 0) return 'all'
  const reserve = Math.min(limit / RESERVE, limit - perSource)
  return left < reserve && wanted > Math.max(little, left / PART_OF_REST) ? 'all' : undefined
}

/** The limits of one tenant. */
export interface Limits {
  /** Admits a call until it ends, or throws `too-many-calls`. */
  readonly enter: (share: Pick<Share, 'hold'>) => void
}

/** Admits every call. */
export const unlimited: Limits = { enter: () => {} }

interface LimitOptions {
  readonly perSecond?: number | undefined
  readonly concurrent?: number | undefined
}

/** Limits calls per second, with a burst of one second's worth, and concurrent calls. */
export function createLimits({ perSecond, concurrent = Number.POSITIVE_INFINITY }: LimitOptions): Limits {
  let inside = 0
  const spend = perSecond === undefined ? () => {} : createRate(perSecond)
  const leave = () => {
    inside -= 1
  }
  return {
    enter: (share) => {
      if (inside >= concurrent) throw tooMany(1)
      spend()
      inside += 1
      share.hold(leave)
    },
  }
}

/** Makes the function that counts a call, and throws `too-many-calls` if it is one too many in its second. */
function createRate(perSecond: number): () => void {
  const most = Math.max(perSecond, 1)
  let left = most
  let filledAt = performance.now()
  return () => {
    const now = performance.now()
    left = Math.min(most, left + ((now - filledAt) / 1000) * perSecond)
    filledAt = now
    if (left < 1) throw tooMany(Math.ceil((1 - left) / perSecond))
    left -= 1
  }
}

function tooMany(seconds: number): GatewayError {
  return gatewayError('too-many-calls', { seconds }, { headers: { 'Retry-After': String(seconds) } })
}

/** Limits the calls per second of each source; throws `too-many-calls`. */
export function createSourceLimits(
  perSecond: number,
  trustProxy: readonly string[] | undefined,
): (incoming: IncomingMessage) => void {
  const trusted = trustProxy && compileNetworks(trustProxy)
  const sources = createBoundedCache<string, () => void>(SOURCES_KEPT)
  return (incoming) => {
    const source = sourceOf(sourceAddress(incoming, trusted))
    const spend = sources.get(source) ?? createRate(perSecond)
    sources.set(source, spend)
    spend()
  }
}

/** The turns of calls in groups: one credential is decided for all calls that carry it. */
export interface Turns<T> {
  /** Waits for a turn, until the group is decided, or until the caller hangs up. A group shares the result of `make`. */
  readonly enter: (incoming: IncomingMessage, source: string, group: string, make: () => T) => Promise<Entered<T>>
  /** Ends the wait of a group: its calls go on, or throw. With `endsAll`, those that go on need no turn any more. */
  readonly decide: (group: string, refusal?: Error, endsAll?: boolean) => void
}

/** Called when a call of a group is over, however often. */
export interface Entered<T> {
  readonly shared: T
  readonly leave: () => void
}

/** Makes turns, few at a time, which are served round robin by source. */
export function createTurns<T>(options: FairQueueOptions): Turns<T> {
  const queue = createFairQueue(options)
  const groups = new Map<string, { readonly shared: T; readonly turns: Set<Turn> }>()
  return {
    enter: async ({ socket }, source, name, make) => {
      const known = groups.get(name)
      const group = known ?? { shared: make(), turns: new Set() }
      if (!known) groups.set(name, group)
      const turn = queue.enter(source)
      group.turns.add(turn)
      const leave = () => {
        turn.end()
        group.turns.delete(turn)
        if (group.turns.size === 0 && groups.get(name) === group) groups.delete(name)
      }
      const hungUp = () => turn.settle(gatewayError('caller-gone', {}))
      if (socket.destroyed) hungUp()
      const forget = onClose(socket, hungUp)
      try {
        await turn.ready
      } catch (error) {
        leave()
        throw error
      } finally {
        forget()
      }
      return { shared: group.shared, leave }
    },
    decide: (name, refusal, endsAll = false) => {
      for (const turn of groups.get(name)?.turns ?? []) {
        turn.settle(refusal)
        if (endsAll) turn.end()
      }
    },
  }
}

/** A place in the queue. */
export interface Turn {
  /** Resolves when the work may begin; rejects when it may not. */
  readonly ready: Promise<void>
  /** Ends the turn, or leaves the queue. */
  readonly end: () => void
  /** Ends the wait at once, if it still lasts: `ready` resolves, or rejects with the error. No turn is used. */
  readonly settle: (error?: Error) => void
}

/** Limits concurrent work, and serves sources round robin, regardless of how many calls each has waiting. */
interface FairQueue {
  readonly enter: (source: string) => Turn
}

interface FairQueueOptions {
  readonly atOnce: number
  /** The concurrent work of one source. */
  readonly atOnceOfSource: number
  /** The most calls under way in the gateway; only a share of them may wait here. */
  readonly calls: number
  /**
   * Sources with a lower number come first.
   * @default all are equal
   */
  readonly rankOf?: (source: string) => number
  /** How long a turn is waited for. @default 10 s */
  readonly waitMs?: number
}

const WAITING_SHARE = 1 / 2
const WAITING_SHARE_OF_SOURCE = 1 / 4
const WAIT_MS = 10_000

interface Entry {
  readonly resolve: () => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

interface Waiters {
  running: number
  readonly waiting: Entry[]
}

/** Makes a queue that one source cannot fill: if it is full, a new entry displaces the last entry of the longest line. */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const mostWaiting = Math.ceil(options.calls * WAITING_SHARE)
  const mostWaitingOfSource = Math.ceil(options.calls * WAITING_SHARE_OF_SOURCE)
  /** In the order of their turns. */
  const sources = new Map<string, Waiters>()
  let running = 0
  let waiting = 0

  function start(name: string, source: Waiters): void {
    running += 1
    source.running += 1
    goLast(name, source)
  }

  function goLast(name: string, source: Waiters): void {
    sources.delete(name)
    sources.set(name, source)
  }

  function stop(name: string, source: Waiters): void {
    running -= 1
    source.running -= 1
    // Others may have entered since it began.
    goLast(name, source)
    forget(name, source)
    startNext()
  }

  function startNext(): void {
    while (running < options.atOnce && waiting > 0) {
      const next = nextSource()
      if (!next) return
      const [name, source] = next
      const entry = source.waiting[0]
      if (!entry) return
      takeOut(source, entry)
      start(name, source)
      entry.resolve()
    }
  }

  function nextSource(): [name: string, source: Waiters] | undefined {
    const ready = sources
      .entries()
      .filter(([, { waiting: line, running: busy }]) => line.length > 0 && busy < options.atOnceOfSource)
    const { rankOf } = options
    if (!rankOf) return ready.next().value
    let best: { readonly entry: [string, Waiters]; readonly rank: number } | undefined
    for (const entry of ready) {
      const rank = rankOf(entry[0])
      if (!best || rank < best.rank) best = { entry, rank }
    }
    return best?.entry
  }

  function takeOut(source: Waiters, entry: Entry): void {
    source.waiting.splice(source.waiting.indexOf(entry), 1)
    clearTimeout(entry.timer)
    waiting -= 1
  }

  function forget(name: string, source: Waiters): void {
    if (source.running === 0 && source.waiting.length === 0 && sources.get(name) === source) sources.delete(name)
  }

  function displace(by: Waiters): void {
    let longest = ''
    let length = by.waiting.length
    for (const [name, { waiting: line }] of sources) if (line.length > length) [longest, length] = [name, line.length]
    const source = sources.get(longest)
    const last = source?.waiting.at(-1)
    if (!source || !last) throw overloaded()
    takeOut(source, last)
    forget(longest, source)
    last.reject(overloaded())
  }

  /** Throws if there is no room. */
  function makeRoom(source: Waiters): void {
    if (source.waiting.length >= mostWaitingOfSource) throw tooManyWait()
    if (waiting >= mostWaiting) displace(source)
  }

  return {
    enter: (name) => {
      const source = sources.get(name) ?? { running: 0, waiting: [] }
      sources.set(name, source)
      if (running < options.atOnce && source.running < options.atOnceOfSource && source.waiting.length === 0) {
        start(name, source)
        return { ready: Promise.resolve(), end: once(() => stop(name, source)), settle: () => undefined }
      }
      try {
        makeRoom(source)
      } catch (error) {
        forget(name, source)
        return { ready: Promise.reject(error), end: () => undefined, settle: () => undefined }
      }
      return waitingTurn(name, source)
    },
  }

  function waitingTurn(name: string, source: Waiters): Turn {
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
    let began = false
    const timer = setTimeout(() => settle(overloaded()), options.waitMs ?? WAIT_MS)
    const begin = () => {
      began = true
      resolve()
    }
    const entry = { resolve: begin, reject, timer }
    source.waiting.push(entry)
    waiting += 1
    const settle = (error?: Error) => {
      if (!source.waiting.includes(entry)) return
      takeOut(source, entry)
      forget(name, source)
      if (error) reject(error)
      else resolve()
    }
    const end = once(() => {
      if (began) stop(name, source)
      else settle()
    })
    return { ready, end, settle }
  }
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}

const LATER = { headers: { 'Retry-After': '5' } } as const

const overloaded = () => gatewayError('overloaded/credentials', {}, LATER)
const tooManyWait = () => gatewayError('too-many-calls/credentials', {}, LATER)

/** Callbacks for the close of a connection: one listener serves all pipelined calls on it. */
const watched = new WeakMap<Socket, Set<() => void>>()

function onClose(socket: Socket, work: () => void): () => void {
  const known = watched.get(socket)
  const all = known ?? new Set()
  if (!known) {
    watched.set(socket, all)
    socket.once('close', () => {
      for (const one of all) one()
    })
  }
  all.add(work)
  return () => void all.delete(work)
}
