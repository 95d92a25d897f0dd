import type { IncomingMessage } from 'node:http'
import { isIP, type Socket, SocketAddress } from 'node:net'
import type { Config } from '../../language/config/config.ts'
import { type GatewayError, gatewayError } from '../../language/errors.ts'
import type { Networks } from '../../language/networks.ts'
import type { Share, Source } from '../../runtime/call.ts'
import { createBoundedCache, createUnorderedList, type Held } from '../../runtime/collections.ts'

/*
 * The shares of callers. Whatever a call takes is given back when it ends (`Share.leave`).
 *
 * | What                        | together              | one source                    | beyond it                          |
 * |-----------------------------|-----------------------|-------------------------------|------------------------------------|
 * | connections                 | `MAX_CONNECTIONS`     | `SOURCE_CONNECTIONS`          | closed                             |
 * | calls under way             | `MAX_IN_FLIGHT`       | `SOURCE_IN_FLIGHT`, a quarter | 503; 429 where the source is it    |
 * | bytes of bodies and answers | `BODIES_LIMIT_BYTES`  | a quarter                     | the same                           |
 * | calls with new credentials  | 32; as many at `/v2/` | 8                             | they wait 10 s for a turn; then so |
 * | slow hashes of secrets      | 2, or one core less   | the same                      | the same                           |
 * | calls of a tenant, a second |                       | `limits` of the tenants file  | 429                                |
 * | events, a second            |                       | 1,000                         | 429                                |
 */

type ShareConfig = Pick<Config, 'MAX_CONNECTIONS' | 'SOURCE_CONNECTIONS' | 'MAX_IN_FLIGHT' | 'BODIES_LIMIT_BYTES'> &
  Partial<Pick<Config, 'SOURCE_IN_FLIGHT'>>

/** Divides the gateway's connections, calls and memory among sources. */
export interface Shares {
  /** Admits a connection and returns the function to call when it closes; undefined refuses it. */
  readonly connect: (socket: Connection) => (() => void) | undefined
  /** Starts the share of one request, without any resources. */
  readonly open: (incoming: Arriving, reply: Reply) => Share
  /** The largest body that one source can send. */
  readonly largestBodyBytes: number
  /** The current usage of all sources together. */
  readonly total: Readonly<Usage>
}

/** A connection of a caller, or of a proxy. */
type Connection = Pick<Socket, 'remoteAddress'>
/** The parts of a request that tell where it comes from. */
type Arriving = Pick<IncomingMessage, 'headers'> & { readonly socket: Connection }

const QUARTER = 4
const FEW_CONNECTIONS = 8
const FEW_CALLS = 4
const SMALL_BODIES_BYTES = 16 * 1024
/**
 * The memory of a body that is passed on while it arrives: buffers of the request, its socket and the socket to the
 * service.
 */
const STREAM_BYTES = 256 * 1024

/** Makes the shares of this process, which trusts the proxies in these networks. */
export function createShares(config: ShareConfig, trusted?: Networks): Shares {
  const quarterOf = (limit: number) => Math.max(1, Math.floor(limit / QUARTER))
  const quota = (limit: number, perSource: number, little: number): Quota => ({
    limit,
    perSource: Math.min(perSource, limit),
    little,
  })
  const { MAX_IN_FLIGHT: calls, BODIES_LIMIT_BYTES: bytes } = config
  const gate: Gate = {
    quotas: {
      connections: quota(config.MAX_CONNECTIONS, config.SOURCE_CONNECTIONS, FEW_CONNECTIONS),
      calls: quota(calls, config.SOURCE_IN_FLIGHT ?? quarterOf(calls), FEW_CALLS),
      bodyBytes: quota(bytes, quarterOf(bytes), SMALL_BODIES_BYTES),
    },
    total: { ...NO_USAGE },
    underWay: createUnorderedList(),
  }
  const { quotas, total } = gate
  const usageOf = createUsages()
  const callerAt = (address: string, isBehindProxy: boolean): Caller => {
    const isEverybody = trusted?.has(address) === true
    const name = sourceOf(address)
    return {
      source: { address, name, isBehindProxy: isBehindProxy && !isEverybody, isEverybody },
      usage: usageOf(name),
    }
  }
  const known = new WeakMap<Connection, Caller>()
  const newCallerOn = (connection: Connection): Caller => {
    const caller = callerAt(plainAddress(connection.remoteAddress), false)
    known.set(connection, caller)
    return caller
  }
  return {
    connect: (socket) => {
      const caller = newCallerOn(socket)
      const lacking = shortage(quotas.connections, total.connections, caller.usage.connections, 1)
      if (lacking && !caller.source.isEverybody) return undefined
      const holding = new Holding(gate, caller)
      holding.connect()
      return () => holding.leave()
    },
    open: (incoming, reply) => {
      const caller = known.get(incoming.socket) ?? newCallerOn(incoming.socket)
      const isOfProxy = trusted !== undefined && caller.source.isEverybody
      return new Holding(gate, isOfProxy ? callerAt(addressOf(incoming, trusted), true) : caller, reply)
    },
    largestBodyBytes: quotas.bodyBytes.perSource,
    total,
  }
}

/** Returns the address of a caller that trusted proxies report, nearest proxy first. */
function addressOf({ socket, headers }: Arriving, trusted: Networks): string {
  let address = plainAddress(socket.remoteAddress)
  const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
  for (const hop of forwarded.reverse()) {
    const next = plainAddress(withoutPort(hop.trim()))
    if (!trusted.has(address) || isIP(next) === 0) break
    address = next
  }
  return address
}

/**
 * Returns the part of an address that identifies one caller: an IPv6 caller has a whole network (RFC 6177), and could
 * use another address of it for each call.
 */
function sourceOf(address: string): string {
  if (!address.includes(':')) return address
  const [unzoned = ''] = address.split('%')
  if (isIP(unzoned) !== 6) return address
  const spelled = plainAddress(new SocketAddress({ address: unzoned, family: 'ipv6' }).address)
  if (!spelled.includes(':')) return spelled
  const [head = [], tail = []] = spelled.split('::').map((side) => side.split(':').filter(Boolean))
  const zeros = Array<string>(Math.max(0, IPV6_GROUPS - head.length - tail.length)).fill('0')
  return `${[...head, ...zeros, ...tail].slice(0, SOURCE_GROUPS).join(':')}::/64`
}

const IPV6_GROUPS = 8
const SOURCE_GROUPS = 4

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return hop.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1').replace(/^\[([^\]]+)\](:\d+)?$/, '$1')
}

/** A dual-stack server reports IPv4 addresses as IPv4-mapped IPv6. */
function plainAddress(address = ''): string {
  return address.startsWith('::') ? address.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '') : address
}

/** The part of a response that shows if work for it remains. */
interface Reply {
  readonly writableEnded: boolean
  readonly writableNeedDrain: boolean
  readonly destroyed: boolean
  /** Emitted when the reader has the whole response, or has disconnected. */
  readonly once: (event: 'close', listener: () => void) => unknown
}

/** The limits, and what is taken of them. */
interface Gate {
  readonly quotas: Readonly<Record<'connections' | 'calls' | 'bodyBytes', Quota>>
  /** The usage of all sources together. */
  readonly total: Usage
  readonly underWay: ReturnType<typeof createUnorderedList<Holding>>
}

/** A caller, and what it holds. */
interface Caller {
  readonly source: Source
  readonly usage: Usage
}

/** The parts that a request, a connection or an answer has taken. All of it is given back when it leaves. */
class Holding implements Share {
  readonly source: Source
  readonly #gate: Gate
  readonly #usage: Usage
  readonly #reply: Reply | undefined
  readonly #own = { ...NO_USAGE }
  #isOver = false
  #underWay: Held<Holding> | undefined
  #held: (() => void)[] | undefined

  constructor(gate: Gate, { source, usage }: Caller, reply?: Reply) {
    this.source = source
    this.#gate = gate
    this.#usage = usage
    this.#reply = reply
    // Only requests have a reply.
    if (reply && source.isBehindProxy) this.#count('requests', 1)
  }

  connect(): void {
    this.#count('connections', 1)
  }

  admit(): void {
    const { perSource } = this.#gate.quotas.connections
    if (this.source.isBehindProxy && this.#usage.requests > perSource) throw tooMuch('source')
    this.#demand('calls', 1)
  }

  enter(): void {
    this.#demand('calls', 1)
    if (this.#underWay || this.#isOver) return
    this.#underWay = this.#gate.underWay.add(this)
    this.#count('calls', 1)
  }

  expectBody(bytes: number): void {
    this.#demand('bodyBytes', bytes)
  }

  takeBody(bytes: number): void {
    this.#demand('bodyBytes', bytes)
    if (!this.#isOver) this.#count('bodyBytes', bytes)
  }

  returnBody(bytes: number): void {
    this.#count('bodyBytes', -Math.min(bytes, this.#own.bodyBytes))
  }

  streamBody(lengthBytes: number): void {
    this.takeBody(Math.min(lengthBytes, STREAM_BYTES, this.#gate.quotas.bodyBytes.perSource))
  }

  holdAnswer(bytes: number): void {
    const answer = new Holding(this.#gate, { source: this.source, usage: this.#usage })
    answer.takeBody(bytes)
    if (!this.#reply || this.#reply.destroyed) answer.leave()
    else this.#reply.once('close', () => answer.leave())
  }

  hold(giveBack: () => void): void {
    if (this.#isOver) giveBack()
    else if (this.#held) this.#held.push(giveBack)
    else this.#held = [giveBack]
  }

  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    const own = this.#own
    for (const kind of KINDS) if (own[kind] > 0) this.#count(kind, -own[kind])
    if (this.#underWay) this.#gate.underWay.take(this.#underWay)
    if (this.#held) for (const giveBack of this.#held) giveBack()
  }

  #count(kind: keyof Usage, more: number): void {
    this.#own[kind] += more
    this.#usage[kind] += more
    this.#gate.total[kind] += more
  }

  /** Throws unless the source may take so much more. */
  #demand(kind: 'calls' | 'bodyBytes', more: number): void {
    const { quotas, total, underWay } = this.#gate
    const { isEverybody } = this.source
    const usage = this.#usage
    let lacking = shortage(quotas[kind], total[kind], usage[kind], more, isEverybody)
    if (lacking && kind === 'calls') {
      // A reply that only waits for its reader is no work and must not block other calls. Rarely checked.
      const working = underWay.items().filter((one) => !one.#reply?.writableEnded && !one.#reply?.writableNeedDrain)
      const own = working.filter((one) => one.#usage === usage)
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
  /** Requests behind a proxy that have started to arrive: their connections are the proxy's. */
  requests: number
  /** Calls that are under way. */
  calls: number
  bodyBytes: number
}

/** Beyond this number, only sources with current usage are remembered. */
const SOURCES_KEPT = 10_000

const NO_USAGE: Readonly<Usage> = { connections: 0, requests: 0, calls: 0, bodyBytes: 0 }
const KINDS = ['connections', 'requests', 'calls', 'bodyBytes'] as const

/**
 * Makes the function that returns the usage of a source. Idle sources are removed in bulk once there are many, because
 * a map that changes with every call is expensive (docs/architecture.md).
 */
function createUsages(): (source: string) => Usage {
  const usages = new Map<string, Usage>()
  return (source) => {
    const known = usages.get(source)
    if (known) return known
    if (usages.size >= SOURCES_KEPT) {
      for (const [name, usage] of usages) if (KINDS.every((kind) => usage[kind] === 0)) usages.delete(name)
    }
    const usage = { ...NO_USAGE }
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
export function createSourceLimits(perSecond: number): (source: Source) => void {
  const sources = createBoundedCache<string, () => void>(SOURCES_KEPT)
  return ({ name }) => {
    const spend = sources.get(name) ?? createRate(perSecond)
    sources.set(name, spend)
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
interface Entered<T> {
  readonly shared: T
  readonly leave: () => void
}

/** Makes turns, few at a time, which are served round robin by source. */
export function createTurns<T>(options: FairQueueOptions): Turns<T> {
  const queue = createFairQueue(options)
  const groups = new Map<string, { readonly shared: T; readonly turns: Set<Turn> }>()
  return {
    enter: async ({ socket }, source, name, make) => {
      const group = groups.get(name) ?? { shared: make(), turns: new Set() }
      groups.set(name, group)
      const turn = queue.enter(source)
      group.turns.add(turn)
      const leave = () => {
        turn.end()
        group.turns.delete(turn)
        if (group.turns.size === 0 && groups.get(name) === group) groups.delete(name)
      }
      const hungUp = () => turn.settle(gatewayError('caller-gone', {}))
      if (socket.destroyed) hungUp()
      // Any number of pipelined calls may wait on a connection.
      socket.setMaxListeners(0).once('close', hungUp)
      try {
        await turn.ready
      } catch (error) {
        leave()
        throw error
      } finally {
        socket.off('close', hungUp)
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

/** The calls of one source, in a queue. */
interface Line {
  readonly name: string
  running: number
  readonly waiting: Waiting[]
}

interface Waiting extends Turn {
  readonly begin: () => void
}

/** Makes a queue that one source cannot fill: if it is full, a new entry displaces the last entry of the longest line. */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { atOnce, atOnceOfSource, calls, rankOf = () => 0, waitMs = WAIT_MS } = options
  const mostWaiting = Math.ceil(calls * WAITING_SHARE)
  const mostWaitingOfSource = Math.ceil(calls * WAITING_SHARE_OF_SOURCE)
  /** In the order of their turns. */
  const lines = new Map<string, Line>()
  let running = 0
  let waiting = 0

  /** Counts work of a line, which comes last then; an empty line is forgotten. */
  function run(line: Line, more: number): void {
    running += more
    line.running += more
    lines.delete(line.name)
    if (line.running + line.waiting.length > 0) lines.set(line.name, line)
  }

  function startNext(): void {
    while (running < atOnce && waiting > 0) {
      let next: Line | undefined
      let best = Number.POSITIVE_INFINITY
      for (const line of lines.values()) {
        if (line.waiting.length === 0 || line.running >= atOnceOfSource) continue
        const rank = rankOf(line.name)
        if (rank < best) [next, best] = [line, rank]
      }
      if (!next) return
      next.waiting[0]?.begin()
    }
  }

  /** Refuses the last of the longest line, where all together are too many: another source's, if it is as long. */
  function refuseLast(own: Line): void {
    let longest = own
    let length = own.waiting.length - 1
    for (const line of lines.values()) {
      if (line !== own && line.waiting.length > length) [longest, length] = [line, line.waiting.length]
    }
    longest.waiting.at(-1)?.settle(overloaded())
  }

  return {
    enter: (name) => {
      const line = lines.get(name) ?? { name, running: 0, waiting: [] }
      lines.set(name, line)
      const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
      let timer: NodeJS.Timeout | undefined
      let isRunning = false
      const stopWaiting = () => {
        line.waiting.splice(line.waiting.indexOf(turn), 1)
        waiting -= 1
        clearTimeout(timer)
      }
      const turn: Waiting = {
        ready,
        begin: () => {
          stopWaiting()
          isRunning = true
          run(line, 1)
          resolve()
        },
        settle: (error) => {
          if (!line.waiting.includes(turn)) return
          stopWaiting()
          if (line.running + line.waiting.length === 0) lines.delete(name)
          if (error) reject(error)
          else resolve()
        },
        end: () => {
          if (!isRunning) return turn.settle()
          isRunning = false
          run(line, -1)
          startNext()
        },
      }
      line.waiting.push(turn)
      waiting += 1
      startNext()
      if (isRunning) return turn
      timer = setTimeout(() => turn.settle(overloaded()), waitMs)
      if (line.waiting.length > mostWaitingOfSource) turn.settle(tooManyWait())
      else if (waiting > mostWaiting) refuseLast(line)
      return turn
    },
  }
}

const LATER = { headers: { 'Retry-After': '5' } } as const

const overloaded = () => gatewayError('overloaded/credentials', {}, LATER)
const tooManyWait = () => gatewayError('too-many-calls/credentials', {}, LATER)
