import type { LookupFunction } from 'node:net'
import { LRUCache } from 'lru-cache'
import Client from 'undici/lib/dispatcher/client.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import { createDeadlines } from './deadlines.ts'
import { exchange, type Line, type UpstreamReply, type UpstreamRequest } from './exchange.ts'

/** The connections to the service. */
export interface Upstream {
  readonly call: (request: UpstreamRequest) => Promise<UpstreamReply>
  /** The way to the service for calls that stream. */
  readonly line: (origin: string, name: string) => Line
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

/** Opens the way to the service; no connection is made before the first call. */
export function createUpstream({
  connections,
  timeoutMs,
  tls = {},
  connectionAgeMs = CONNECTION_AGE_MS,
  lookup,
}: UpstreamOptions): Upstream {
  // Deadlines are kept per call below: undici's own time-outs begin anew with every byte.
  const options: Client.Options = {
    connect: { timeout: timeoutMs, ...tls, ...(lookup && { lookup }) },
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
  const alone = async (request: UpstreamRequest): Promise<UpstreamReply> => {
    const client = new Client(request.origin, options)
    try {
      return await exchange({ dispatcher: client, deadlines, isBusy: () => false }, request)
    } finally {
      client.destroy().catch(() => undefined)
    }
  }

  const line = (origin: string, name: string): Line => {
    const dispatcher = pool(origin, name)
    return { dispatcher, deadlines, isBusy: () => dispatcher.stats.connected >= connections }
  }

  return {
    line,
    call: (request) => (request.alone ? alone(request) : exchange(line(request.origin, request.pool), request)),
    close: async () => {
      // Whoever still waits for an answer here has hung up, and bookings have connections of their own.
      await Promise.all([...pools.values()].map(({ pool: made }) => made.destroy()))
    },
  }
}
