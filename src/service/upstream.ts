import type { LookupFunction } from 'node:net'
import { LRUCache } from 'lru-cache'
import Client from 'undici/lib/dispatcher/client.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { createBoundedCache } from '../collections/bounded-cache.ts'
import { createMeters, type Meters } from '../observe/meters.ts'
import { type Connector, createConnector } from './connector.ts'
import { createDeadlines } from './deadlines.ts'
import { exchange, type Line, type UpstreamReply, type UpstreamRequest } from './exchange.ts'
import { createNames } from './lookup.ts'

/** The connections to the service. */
export interface Upstream {
  readonly call: (request: UpstreamRequest) => Promise<UpstreamReply>
  /**
   * Connects calls that stream, over a pool's connections or, without a pool or if `usesOwn`, over one connection per call.
   */
  readonly line: (origin: string, pool: string | undefined, usesOwn?: boolean) => Line
  /** Returns the state of the kept connections. */
  readonly stats: () => UpstreamStats
  readonly countToken: Meters['countToken']
  readonly close: () => Promise<void>
}

/** The state of the kept connections to the service, of all credentials. */
export interface UpstreamStats {
  readonly connections: number
  /** Requests that are sent and not answered. */
  readonly running: number
  /** Requests that wait for a connection. */
  readonly queued: number
}

export interface UpstreamOptions {
  readonly connections: number
  readonly timeoutMs: number
  /** @default Node's authorities, and no client certificate */
  readonly tls?: UpstreamTls
  /**
   * The lifetime of a connection, after which a changed address of the name takes effect.
   * @default 60000
   */
  readonly connectionAgeMs?: number
  /** @default the system's resolver */
  readonly lookup?: LookupFunction
  /** @default counts that are not read */
  readonly meters?: Pick<Meters, 'countRequest' | 'countToken'>
}

/** The trusted authorities and the client certificate for the service. */
export interface UpstreamTls {
  readonly ca?: string[]
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** The connections of one credential, which are replaced together when they are too old. */
interface AgeingPool {
  readonly pool: Pool
  readonly line: Line
  /** In milliseconds of `performance.now()`. */
  readonly usedUntil: number
}

/** Ends a connection that was made for one request. One for all: undici would make an error, and its stack, for each. */
const REQUEST_OVER = new Error('The request is over.')

const POOLS_KEPT = 1000
const CONNECTION_AGE_MS = 60_000
/** The share of a connection's lifetime after which the address of a name is refreshed. */
const FRESH_SHARE = 1 / 12
/** The share of a connection's lifetime until which the old address is used meanwhile. */
const USABLE_SHARE = 1 / 2

/** Makes the connections to the service; the first call opens the first one. */
export function createUpstream({
  connections,
  timeoutMs,
  tls = {},
  connectionAgeMs = CONNECTION_AGE_MS,
  lookup,
  meters: { countRequest, countToken } = createMeters(false),
}: UpstreamOptions): Upstream {
  const names = createNames({
    freshMs: connectionAgeMs * FRESH_SHARE,
    usableMs: connectionAgeMs * USABLE_SHARE,
    lookup,
  })
  // Deadlines are kept per call below, because undici's own timeouts restart with every byte.
  const options: Client.Options = {
    headersTimeout: 0,
    bodyTimeout: 0,
    // HTTP/2 may resend a request by itself; HTTP/1.1 sends it once.
    allowH2: false,
  }
  /** The pools of each origin by the name of their credential: one key of both would be made anew for every call. */
  const pools = new Map<string, LRUCache<string, AgeingPool>>()
  const poolsOf = (origin: string): LRUCache<string, AgeingPool> => {
    const known = pools.get(origin)
    if (known) return known
    const made = new LRUCache<string, AgeingPool>({
      max: POOLS_KEPT,
      // Calls under way finish.
      dispose: ({ pool }) => void pool.close().catch(() => undefined),
    })
    pools.set(origin, made)
    return made
  }
  const allPools = () => [...pools.values()].flatMap((ofOrigin) => [...ofOrigin.values()])

  const newConnector = () => createConnector({ timeout: timeoutMs, ...tls, lookup: names.lookup, allowH2: false })
  const connectors = createBoundedCache<string, Connector>(POOLS_KEPT)
  /** Returns the connector of a credential. Those that share nothing share no TLS session either. */
  const connectorOf = (origin: string, name: string | undefined): Connector => {
    if (name === undefined) return newConnector()
    const id = `${origin} ${name}`
    const known = connectors.get(id)
    if (known) return known
    const made = newConnector()
    connectors.set(id, made)
    return made
  }

  const deadlines = createDeadlines()
  const pooledLine = (origin: string, name: string): Line => {
    const ofOrigin = poolsOf(origin)
    const known = ofOrigin.get(name)
    const now = performance.now()
    if (known && now < known.usedUntil) return known.line
    // Not undici's `clientTtl`: it makes every call read the clock once or twice per busy connection.
    const pool = new Pool(origin, { ...options, connect: connectorOf(origin, name), connections })
    const isBusy = () => pool.stats.connected >= connections || names.isPending(new URL(origin).hostname)
    const line = { origin, dispatcher: pool, deadlines, isBusy, countRequest }
    ofOrigin.set(name, { pool, line, usedUntil: now + connectionAgeMs })
    return line
  }
  const ownLine = (origin: string, name: string | undefined): Line => {
    const dispatch: Line['dispatcher']['dispatch'] = (request, handler) => {
      const client = new Client(origin, { ...options, connect: connectorOf(origin, name) })
      client.once('drain', () => client.destroy(REQUEST_OVER, () => undefined))
      return client.dispatch(request, handler)
    }
    return {
      origin,
      dispatcher: { dispatch },
      deadlines,
      isBusy: () => names.isPending(new URL(origin).hostname),
      countRequest,
    }
  }

  const line = (origin: string, name: string | undefined, usesOwn = false): Line =>
    usesOwn || name === undefined ? ownLine(origin, name) : pooledLine(origin, name)

  return {
    line,
    countToken,
    stats: () => {
      const total = { connections: 0, running: 0, queued: 0 }
      for (const { pool } of allPools()) {
        const { connected, running, queued } = pool.stats
        total.connections += connected
        total.running += running
        total.queued += queued
      }
      return total
    },
    call: (request) => exchange(line(request.origin, request.pool, request.usesOwn), request),
    close: async () => {
      // The callers of pending calls have hung up, and bookings have connections of their own.
      await Promise.all(allPools().map(({ pool }) => pool.destroy()))
    },
  }
}
