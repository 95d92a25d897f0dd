import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { createBoundedCache } from '../collections/bounded-cache.ts'
import { createUnorderedList, type Held, type UnorderedList } from '../collections/unordered-list.ts'
import type { Config } from '../config/config.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { compileNetworks } from '../networks.ts'
import type { Share } from '../observe/call.ts'
import { type Source, sourceAddress, sourceOf } from './source-address.ts'

/** Makes the shares of the configuration. */
export function openShares(config: Config): Shares {
  return createShares({
    maxConnections: config.MAX_CONNECTIONS,
    sourceConnections: config.SOURCE_CONNECTIONS,
    maxInFlight: config.MAX_IN_FLIGHT,
    sourceInFlight: config.SOURCE_IN_FLIGHT,
    bodiesLimitBytes: config.BODIES_LIMIT_BYTES,
  })
}

/** The limits for all callers together and for one source. */
interface ShareLimits {
  readonly maxConnections: number
  readonly sourceConnections: number
  readonly maxInFlight: number
  /** @default a quarter of `maxInFlight` */
  readonly sourceInFlight?: number | undefined
  /** One source may use a quarter of it. */
  readonly bodiesLimitBytes: number
}

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

/** Makes the shares of this process. */
export function createShares(limits: ShareLimits): Shares {
  const usageOf = createUsages()
  const shared: SharedLimits = {
    connections: quota(limits.maxConnections, limits.sourceConnections, FEW_CONNECTIONS),
    calls: quota(limits.maxInFlight, limits.sourceInFlight ?? quarterOf(limits.maxInFlight), FEW_CALLS),
    bodyBytes: quota(limits.bodiesLimitBytes, quarterOf(limits.bodiesLimitBytes), SMALL_BODIES_BYTES),
    total: noUsage(),
    underWay: createUnorderedList(),
  }
  const { connections, total } = shared
  return {
    connect: ({ name, isEverybody }) => {
      const usage = usageOf(name)
      const lacking = shortage(connections, total.connections, usage.connections, 1)
      if (lacking && !isEverybody) return undefined
      total.connections += 1
      usage.connections += 1
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        total.connections -= 1
        usage.connections -= 1
      }
    },
    open: (source, reply) => new RequestShare(shared, source, usageOf(source.name), reply),
    largestBodyBytes: shared.bodyBytes.perSource,
    total,
  }
}

function quota(limit: number, perSource: number, little: number): Quota {
  return { limit, perSource: Math.min(perSource, limit), little }
}

const quarterOf = (limit: number) => Math.max(1, Math.floor(limit / QUARTER))

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
  readonly connections: Quota
  readonly calls: Quota
  readonly bodyBytes: Quota
  /** The usage of all sources together. */
  readonly total: Usage
  readonly underWay: UnorderedList<RequestShare>
}

/**
 * The memory of a body that is passed on while it arrives: buffers of the request, its socket and the socket to the
 * service.
 */
const STREAM_BYTES = 256 * 1024

/** Tracks the resources that one request takes, until it ends. */
class RequestShare implements Share {
  readonly #shared: SharedLimits
  readonly #source: Source
  readonly #usage: Usage
  readonly #reply: Reply
  #isOver = false
  #bodyBytes = 0
  #underWay: Held<RequestShare> | undefined

  constructor(shared: SharedLimits, source: Source, usage: Usage, reply: Reply) {
    this.#shared = shared
    this.#source = source
    this.#usage = usage
    this.#reply = reply
    usage.requests += 1
    shared.total.requests += 1
  }

  admit(): void {
    const { perSource } = this.#shared.connections
    if (this.#source.isBehindProxy && this.#usage.requests > perSource) throw tooMuch('source')
    const lacking = this.#lackingCall()
    if (lacking) throw tooMuch(lacking)
  }

  expectBody(bytes: number): void {
    const { bodyBytes, total } = this.#shared
    const lacking = shortage(this.#allowed(bodyBytes), total.bodyBytes, this.#usage.bodyBytes, bytes)
    if (lacking) throw tooMuch(lacking)
  }

  takeBody(bytes: number): void {
    this.expectBody(bytes)
    if (!this.#isOver) this.#addBytes(bytes)
  }

  returnBody(bytes: number): void {
    this.#addBytes(-Math.min(bytes, this.#bodyBytes))
  }

  streamBody(lengthBytes: number): void {
    this.takeBody(Math.min(lengthBytes, STREAM_BYTES, this.#shared.bodyBytes.perSource))
  }

  enter(): void {
    const lacking = this.#lackingCall()
    if (lacking) throw tooMuch(lacking)
    if (this.#underWay || this.#isOver) return
    this.#underWay = this.#shared.underWay.add(this)
    this.#shared.total.calls += 1
    this.#usage.calls += 1
  }

  holdAnswer(bytes: number): void {
    this.expectBody(bytes)
    if (this.#reply.destroyed) return
    this.#shared.total.bodyBytes += bytes
    this.#usage.bodyBytes += bytes
    this.#reply.once('close', () => {
      this.#shared.total.bodyBytes -= bytes
      this.#usage.bodyBytes -= bytes
    })
  }

  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#addBytes(-this.#bodyBytes)
    this.#usage.requests -= 1
    this.#shared.total.requests -= 1
    if (!this.#underWay) return
    this.#shared.underWay.take(this.#underWay)
    this.#shared.total.calls -= 1
    this.#usage.calls -= 1
  }

  #addBytes(bytes: number): void {
    this.#bodyBytes += bytes
    this.#usage.bodyBytes += bytes
    this.#shared.total.bodyBytes += bytes
  }

  #lackingCall(): Shortage | undefined {
    const { total, underWay } = this.#shared
    const calls = this.#allowed(this.#shared.calls)
    if (!shortage(calls, total.calls, this.#usage.calls, 1)) return undefined
    // A reply that only waits for its reader is no work and must not block other calls. Rarely checked.
    const working = underWay.items().filter((share) => share.#isWork())
    const own = working.filter((share) => share.#usage === this.#usage)
    return shortage(calls, working.length, own.length, 1)
  }

  #isWork(): boolean {
    return !this.#reply.writableEnded && !this.#reply.writableNeedDrain
  }

  /** A source that stands for many callers may use the whole limit. */
  #allowed(quota: Quota): Quota {
    return this.#source.isEverybody ? { ...quota, perSource: quota.limit } : quota
  }
}

/** The rest of a refused body is not read; the caller's next call uses another connection. */
const HEADERS = { 'Retry-After': '1', Connection: 'close' }

function tooMuch(lacking: Shortage): GatewayError {
  return gatewayError(lacking === 'all' ? 'overloaded' : 'too-many-calls/source', {}, { headers: HEADERS })
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
  { limit, perSource, little }: Quota,
  heldByAll: number,
  held: number,
  more: number,
): Shortage | undefined {
  const wanted = held + more
  const left = limit - heldByAll - more
  if (wanted > perSource) return perSource < limit ? 'source' : 'all'
  if (left < 0) return 'all'
  const reserve = Math.min(limit / RESERVE, limit - perSource)
  return left < reserve && wanted > Math.max(little, left / PART_OF_REST) ? 'all' : undefined
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

/** Returns a usage of zero. */
function noUsage(): Usage {
  return { connections: 0, requests: 0, calls: 0, bodyBytes: 0 }
}

/**
 * Makes the function that returns the usage of a source. Idle sources are removed in bulk once there are many, because
 * a map that changes with every call is expensive (docs/architecture.md).
 */
export function createUsages(): (source: string) => Usage {
  const usages = new Map<string, Usage>()
  return (source) => {
    const known = usages.get(source)
    if (known) return known
    if (usages.size >= SOURCES_KEPT) for (const [idle, usage] of usages) if (isIdle(usage)) usages.delete(idle)
    const usage = noUsage()
    usages.set(source, usage)
    return usage
  }
}

function isIdle({ connections, requests, calls, bodyBytes }: Usage): boolean {
  return connections === 0 && requests === 0 && calls === 0 && bodyBytes === 0
}

/** The rate limits of one tenant. */
export interface Limits {
  /** Admits a call, or throws `too-many-calls`. Returns the function to call when the call is over. */
  readonly enter: () => () => void
}

const nothing = () => {}

/** Admits every call. */
export const unlimited: Limits = { enter: () => nothing }

interface LimitOptions {
  readonly perSecond?: number | undefined
  readonly concurrent?: number | undefined
}

/** Limits calls per second, with a burst of one second's worth, and concurrent calls. */
export function createLimits({ perSecond, concurrent = Number.POSITIVE_INFINITY }: LimitOptions): Limits {
  let inside = 0
  const most = Math.max(perSecond ?? 0, 1)
  let left = most
  let filledAt = performance.now()
  const spend = (rate: number) => {
    const now = performance.now()
    left = Math.min(most, left + ((now - filledAt) / 1000) * rate)
    filledAt = now
    if (left < 1) throw tooMany(Math.ceil((1 - left) / rate))
    left -= 1
  }
  return {
    enter: () => {
      if (inside >= concurrent) throw tooMany(1)
      if (perSecond !== undefined) spend(perSecond)
      inside += 1
      let gone = false
      return () => {
        if (!gone) inside -= 1
        gone = true
      }
    },
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
  const sources = createBoundedCache<string, Limits>(SOURCES_KEPT)
  return (incoming) => {
    const source = sourceOf(sourceAddress(incoming, trusted))
    const limits = sources.get(source) ?? createLimits({ perSecond })
    sources.set(source, limits)
    limits.enter()()
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
    const timer = setTimeout(() => settle(overloaded()), WAIT_MS)
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

/** Waits for a turn; throws if the caller hangs up first. */
export async function turnOf({ socket }: IncomingMessage, turn: Turn): Promise<void> {
  const hungUp = () => turn.settle(gatewayError('caller-gone', {}))
  if (socket.destroyed) hungUp()
  const forget = onClose(socket, hungUp)
  try {
    await turn.ready
  } finally {
    forget()
  }
}

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
