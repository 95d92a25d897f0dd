import { type GatewayError, gatewayError } from '../../language/errors.ts'
import { type Networks, plainAddress } from '../../language/networks.ts'
import type { Share, Source } from '../../runtime/call.ts'
import { createUnorderedList, type ListItem } from '../../runtime/collections.ts'
import { gauge } from '../../runtime/metrics.ts'
import { type Arriving, addressOf, type CallerConnection, sourceOf } from './sources.ts'

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

/** The settings of the shares. */
interface ShareConfig {
  readonly MAX_CONNECTIONS: number
  readonly SOURCE_CONNECTIONS: number
  readonly MAX_IN_FLIGHT: number
  readonly BODIES_LIMIT_BYTES: number
  /** @default a quarter of all calls */
  readonly SOURCE_IN_FLIGHT?: number | undefined
}

/** Divides the gateway's connections, calls and memory among sources. */
export type Shares = ReturnType<typeof createShares>

const QUARTER = 4
const FEW_CONNECTIONS = 8
const FEW_CALLS = 4
const SMALL_BODIES_BYTES = 16 * 1024
/** The memory of a body that is passed on as it arrives: buffers of the request, its socket, and the socket to the service. */
const STREAM_BYTES = 256 * 1024

/** Makes the shares of this process, which trusts the proxies in these networks. */
export function createShares(config: ShareConfig, trusted?: Networks) {
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
  const known = new WeakMap<CallerConnection, Caller>()
  const newCallerOn = (connection: CallerConnection): Caller => {
    const caller = callerAt(plainAddress(connection.remoteAddress), false)
    known.set(connection, caller)
    return caller
  }
  return {
    /** Admits a connection and returns the function to call when it closes; undefined refuses it. */
    connect: (socket: CallerConnection): (() => void) | undefined => {
      const caller = newCallerOn(socket)
      const lacking = shortage(quotas.connections, total.connections, caller.usage.connections, 1)
      if (lacking && !caller.source.isEverybody) return undefined
      const holding = new Holding(gate, caller)
      holding.connect()
      return () => holding.leave()
    },
    /** Starts the share of one request, without any resources. */
    open: (incoming: Arriving, reply: ResponseState): Share => {
      const caller = known.get(incoming.socket) ?? newCallerOn(incoming.socket)
      const isOfProxy = trusted !== undefined && caller.source.isEverybody
      return new Holding(gate, isOfProxy ? callerAt(addressOf(incoming, trusted), true) : caller, reply)
    },
    /** The largest body that one source can send. */
    largestBodyBytes: quotas.bodyBytes.perSource,
    metrics: [
      gauge('transload_connections', "Callers' connections.", () => total.connections),
      gauge('transload_calls_under_way', 'Calls in progress.', () => total.calls),
      gauge('transload_body_bytes', 'Memory used by bodies.', () => total.bodyBytes),
    ],
  }
}

/** The part of a response that shows whether work for it remains. */
interface ResponseState {
  readonly writableEnded: boolean
  readonly writableNeedDrain: boolean
  readonly destroyed: boolean
  /** Emitted when the reader has the whole response, or has disconnected. */
  readonly once: (event: 'close', listener: () => void) => unknown
}

/** The limits, and how much of each is taken. */
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

/** The resources that a request, a connection or an answer holds. It gives all of them back when it leaves. */
class Holding implements Share {
  readonly source: Source
  readonly #gate: Gate
  readonly #usage: Usage
  readonly #reply: ResponseState | undefined
  readonly #own = { ...NO_USAGE }
  #isOver = false
  #underWay: ListItem<Holding> | undefined
  #held: (() => void)[] | undefined

  constructor(gate: Gate, { source, usage }: Caller, reply?: ResponseState) {
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

  /** Throws unless the source may take `more`. */
  #demand(kind: 'calls' | 'bodyBytes', more: number): void {
    const { quotas, total, underWay } = this.#gate
    const { isEverybody } = this.source
    const usage = this.#usage
    let lacking = shortage(quotas[kind], total[kind], usage[kind], more, isEverybody)
    if (lacking && kind === 'calls') {
      // A reply that only waits for its reader is not work and must not block other calls. Rarely checked.
      const working = underWay.items().filter((one) => !one.#reply?.writableEnded && !one.#reply?.writableNeedDrain)
      const own = working.filter((one) => one.#usage === usage)
      lacking = shortage(quotas.calls, working.length, own.length, more, isEverybody)
    }
    if (lacking) throw tooMuch(lacking)
  }
}

/** The rest of a refused body is not read, so the caller's next call uses another connection. */
const HEADERS = { 'Retry-After': '1', Connection: 'close' }

function tooMuch(lacking: Shortage): GatewayError {
  return gatewayError(lacking === 'all' ? 'overloaded' : 'too-many-calls/source', {}, { headers: HEADERS })
}

/** The current usage of one source, or of all sources together. */
interface Usage {
  connections: number
  /** Requests that arrive through a proxy, because their connections are the proxy's. */
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
interface Quota {
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
/** The largest part of the rest of the reserve that one source may take, as a divisor. */
const PART_OF_REST = 3

/**
 * Returns why a source that holds this much may not take more; undefined if it may. Many sources that each take their full share would
 * leave nothing for the others. Therefore, the less is left of the last quarter, the less of it one source may take: a thousand greedy
 * sources still leave room for another one's small call.
 */
function shortage(
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
