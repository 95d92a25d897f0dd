import type { LookupFunction } from 'node:net'
import { LRUCache } from 'lru-cache'
import Client from 'undici/lib/dispatcher/client.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { createDeadlines } from './deadlines.ts'
import { exchange, type Line, type UpstreamReply, type UpstreamRequest } from './exchange.ts'
import { createNames } from './lookup.ts'

/** The connections to the service. */
export interface Upstream {
  readonly call: (request: UpstreamRequest) => Promise<UpstreamReply>
  /** The connections of a pool, for calls that stream; without a pool, one connection for one call. */
  readonly line: (origin: string, pool: string | undefined) => Line
  readonly close: () => Promise<void>
}

export interface UpstreamOptions {
  readonly connections: number
  readonly timeoutMs: number
  /** @default what Node trusts, and no certificate of our own */
  readonly tls?: UpstreamTls
  /**
   * How long a connection is used, so that a name that means another address is followed.
   * @default 60000
   */
  readonly connectionAgeMs?: number
  /** @default as the system does it */
  readonly lookup?: LookupFunction
}

/** Whom to trust at the service's end, and what to show there. */
export interface UpstreamTls {
  readonly ca?: string[]
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** The connections of one credential, which are used until they are too old together. */
interface AgeingPool {
  readonly pool: Pool
  /** In milliseconds of `performance.now()`. */
  readonly usedUntil: number
}

const POOLS_KEPT = 1000
const CONNECTION_AGE_MS = 60_000
/** The address of a name is asked for again after this share of the life of a connection. */
const FRESH_SHARE = 1 / 12
/** And used until the answer is there, but no longer than this share. */
const USABLE_SHARE = 1 / 2

/** Opens the way to the service; no connection is made before the first call. */
export function createUpstream({
  connections,
  timeoutMs,
  tls = {},
  connectionAgeMs = CONNECTION_AGE_MS,
  lookup,
}: UpstreamOptions): Upstream {
  const names = createNames({
    freshMs: connectionAgeMs * FRESH_SHARE,
    usableMs: connectionAgeMs * USABLE_SHARE,
    lookup,
  })
  // Deadlines are kept per call below: undici's own time-outs begin anew with every byte.
  const options: Client.Options = {
    connect: { timeout: timeoutMs, ...tls, lookup: names.lookup },
    headersTimeout: 0,
    bodyTimeout: 0,
    // HTTP/2 may send a request again by itself; over HTTP/1.1 it goes out once.
    allowH2: false,
  }
  const pools = new LRUCache<string, AgeingPool>({
    max: POOLS_KEPT,
    // Lets what is under way end.
    dispose: ({ pool }) => void pool.close().catch(() => undefined),
  })

  const deadlines = createDeadlines()
  const pool = (origin: string, name: string): Pool => {
    const id = `${origin} ${name}`
    const known = pools.get(id)
    const now = performance.now()
    if (known && now < known.usedUntil) return known.pool
    // Not undici's `clientTtl`: with that, every call looks at the clock once or twice for each connection that is busy.
    const made = new Pool(origin, { ...options, connections })
    pools.set(id, { pool: made, usedUntil: now + connectionAgeMs })
    return made
  }
  const ownLine = (origin: string): Line => {
    const dispatch: Line['dispatcher']['dispatch'] = (request, handler) => {
      const client = new Client(origin, options)
      const isReady = client.dispatch(request, handler)
      // Takes no more requests, and closes when this one is over.
      client.close().catch(() => undefined)
      return isReady
    }
    return { dispatcher: { dispatch }, deadlines, isBusy: () => names.isPending(new URL(origin).hostname) }
  }

  const line = (origin: string, name: string | undefined): Line => {
    if (name === undefined) return ownLine(origin)
    const dispatcher = pool(origin, name)
    const isBusy = () => dispatcher.stats.connected >= connections || names.isPending(new URL(origin).hostname)
    return { dispatcher, deadlines, isBusy }
  }

  return {
    line,
    call: (request) => exchange(line(request.origin, request.pool), request),
    close: async () => {
      // Whoever still waits for an answer here has hung up, and bookings have connections of their own.
      await Promise.all([...pools.values()].map(({ pool: made }) => made.destroy()))
    },
  }
}
