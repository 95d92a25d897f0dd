import { ADDRCONFIG, type LookupAddress, lookup } from 'node:dns'
import { readFileSync } from 'node:fs'
import type { LookupFunction, Socket } from 'node:net'
import { rootCertificates, TLSSocket } from 'node:tls'
import { LRUCache } from 'lru-cache'
import type { buildConnector as Build, Dispatcher } from 'undici'
import buildConnector from 'undici/lib/core/connect.js'
import Client from 'undici/lib/dispatcher/client.js'
import Pool from 'undici/lib/dispatcher/pool.js'
import type { Config } from '../../language/config/config.ts'
import { createBoundedCache } from '../../runtime/collections.ts'
import { createDeadlines } from '../../runtime/deadlines.ts'
import { createMeters, gauge, type Meters } from '../../runtime/metrics.ts'
import type { Line } from './exchange.ts'

/** The connections to the service. */
export type Upstream = ReturnType<typeof openUpstream>

/** The part of a credential at a service address that its connections depend on. */
export interface ServiceCredential {
  readonly origin: string
  /** Separates its connections and TLS sessions from those of other credentials, once the service has accepted it. */
  readonly pool: string
  readonly acceptance: { readonly isProven: () => boolean }
}

/** The connections of one credential, which are replaced together when they are too old. */
interface AgeingPool {
  readonly pool: Pool
  readonly line: Line
  /** In milliseconds of `performance.now()`. */
  readonly usedUntil: number
}

/** Ends a connection that was made for one request. Shared, because undici would make an error with its stack for each. */
const REQUEST_OVER = new Error('The request is over.')

const POOLS_KEPT = 1000
/** A connection's lifetime, after which a changed address of the name takes effect. */
const CONNECTION_AGE_MS = 60_000

/** Opens the configured connections to the service; the first call makes the first one. */
export function openUpstream(
  { UPSTREAM_CONNECTIONS: connections, UPSTREAM_TIMEOUT_MS: timeout, V2_CA_FILE: authority }: Config,
  { serviceSeconds: seconds, tokens, refusals }: Meters = createMeters(),
) {
  const names = createNames()
  const ca = authority === undefined ? undefined : [...rootCertificates, readFileSync(authority, 'utf8')]
  // Deadlines are kept per call below, because undici's own timeouts restart with every byte.
  const options: Client.Options = {
    headersTimeout: 0,
    bodyTimeout: 0,
    // HTTP/2 may resend a request by itself; HTTP/1.1 sends it only once.
    allowH2: false,
  }
  /** The pools of each origin by credential name: a key of both would be made anew for every call. */
  const pools = new Map<string, LRUCache<string, AgeingPool>>()
  const allPools = () => [...pools.values()].flatMap((ofOrigin) => [...ofOrigin.values()])
  const sumOf = (stat: 'connected' | 'running' | 'queued') =>
    allPools().reduce((sum, { pool }) => sum + pool.stats[stat], 0)

  const newConnector = () => createConnector({ timeout, ...(ca && { ca }), lookup: names.lookup, allowH2: false })
  const connectors = createBoundedCache<string, Connector>(POOLS_KEPT)
  /** Returns a credential's connector, which keeps its TLS session. */
  const connectorOf = (origin: string, name: string): Connector => {
    const id = `${origin} ${name}`
    const known = connectors.get(id)
    if (known) return known
    const made = newConnector()
    connectors.set(id, made)
    return made
  }

  const deadlines = createDeadlines()
  const lineOver = (dispatcher: Dispatcher, origin: string, isFull = () => false): Line => {
    const isBusy = () => isFull() || names.isPending(new URL(origin).hostname)
    return { origin, dispatcher, deadlines, isBusy, seconds }
  }
  const newPool = (origin: string, name: string): Line => {
    let ofOrigin = pools.get(origin)
    if (!ofOrigin) {
      ofOrigin = new LRUCache<string, AgeingPool>({
        max: POOLS_KEPT,
        // Calls under way finish.
        dispose: ({ pool }) => void pool.close().catch(() => undefined),
      })
      pools.set(origin, ofOrigin)
    }
    // Not undici's `clientTtl`: it makes every call read the clock once or twice per busy connection.
    const pool = new Pool(origin, { ...options, connect: connectorOf(origin, name), connections })
    const line = lineOver(pool, origin, () => pool.stats.connected >= connections)
    ofOrigin.set(name, { pool, line, usedUntil: performance.now() + CONNECTION_AGE_MS })
    return line
  }
  /**
   * Returns a credential's connections. Returns a connection for a single request if the service has not accepted the credential, or if
   * `usesOwn`: the service may be closing a kept connection right now, and nobody would know whether it read the request.
   */
  const line = ({ origin, pool: name, acceptance }: ServiceCredential, usesOwn = false): Line => {
    const isShared = acceptance.isProven()
    if (!usesOwn && isShared) {
      const known = pools.get(origin)?.get(name)
      return known && performance.now() < known.usedUntil ? known.line : newPool(origin, name)
    }
    // A client connects when it gets its request.
    const client = new Client(origin, { ...options, connect: isShared ? connectorOf(origin, name) : newConnector() })
    client.once('drain', () => client.destroy(REQUEST_OVER, () => undefined))
    return lineOver(client, origin)
  }

  return {
    line,
    /** Counts requested tokens by outcome. */
    tokens,
    /** Counts refusals of the operator's credentials. */
    refusals,
    metrics: [
      gauge('transload_service_connections', 'Open connections to the service.', () => sumOf('connected')),
      gauge('transload_service_requests_under_way', 'Requests in progress at the service.', () => sumOf('running')),
      gauge('transload_service_requests_queued', 'Requests waiting for a connection.', () => sumOf('queued')),
    ],
    close: async () => {
      // The callers of pending calls have hung up, and bookings have their own connections.
      await Promise.all(allPools().map(({ pool }) => pool.destroy()))
    },
  }
}

/** Makes a connection to the service. */
type Connector = Build.connector

/**
 * Makes the connector for one credential at one address. Its connections resume the last TLS session, which saves a round trip and most of
 * a handshake's work, even if each call has its own connection. undici would keep the session only for the connections of one client, and
 * only until the next garbage collection.
 */
function createConnector(options: Build.BuildOptions): Connector {
  const withoutCache = { ...options, maxCachedSessions: 0 }
  const connectPlainly = buildConnector(withoutCache)
  let session: Buffer | undefined
  return (target, answer) => {
    const callback: typeof answer = (...result) => {
      if (result[1]) ignoreContinue(result[1])
      answer(...result)
    }
    if (target.protocol !== 'https:') return connectPlainly(target, callback)
    const connect = buildConnector(session ? { ...withoutCache, session } : withoutCache)
    connect(target, (...result) => {
      const [error, socket] = result
      // A server that fails on a session must get a full handshake next.
      if (error) session = undefined
      else if (socket instanceof TLSSocket) {
        socket.on('session', (latest) => {
          session = latest
        })
      }
      callback(...result)
    })
  }
}

/** The start line of an interim reply that tells the client to send its body. */
const CONTINUE = 'HTTP/1.1 100'
const END_OF_HEAD = '\r\n\r\n'
/** The longest head of an interim reply that is waited for. */
const MOST_HEAD_BYTES = 4_096

/**
 * Drops each `100 Continue` that a service sends before a reply. A client that did not ask for it ignores it (RFC 9110, 15.2), but undici
 * destroys the connection, and a booking on it would be unknown.
 */
function ignoreContinue(socket: Socket): void {
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket)
  let held = ''
  /** Reads from a request until the first bytes of its final reply. Later bytes are a body, whatever they look like. */
  const readHead = (size?: number) => {
    for (;;) {
      const chunk: Buffer | null = read(size)
      if (chunk === null) return chunk
      if (held === '' && !CONTINUE.startsWith(chunk.toString('latin1', 0, CONTINUE.length))) {
        socket.read = read
        return chunk
      }
      held += chunk.toString('latin1')
      while (held.startsWith(CONTINUE) && held.includes(END_OF_HEAD)) {
        held = held.slice(held.indexOf(END_OF_HEAD) + END_OF_HEAD.length)
      }
      if (CONTINUE.startsWith(held.slice(0, CONTINUE.length)) && held.length < MOST_HEAD_BYTES) continue
      const rest = Buffer.from(held, 'latin1')
      held = ''
      socket.read = read
      return rest
    }
  }
  socket.read = readHead
  socket.write = (data: string | Uint8Array, ...more: unknown[]) => {
    // undici writes a request's head as one string, and bodies as bytes.
    if (typeof data === 'string') socket.read = readHead
    // Its further arguments are passed on unchanged.
    return Reflect.apply(write, socket, [data, ...more])
  }
}

interface KnownAddresses {
  readonly addresses: LookupAddress[]
  /** In milliseconds of `performance.now()`. */
  readonly at: number
}

type LookupCallback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void

/** How long an address is used without another lookup. */
const FRESH_MS = 5_000
/** How long an address is used while it is refreshed. */
const USABLE_MS = 30_000

/**
 * Looks up each name once for all connections that wait for it, and caches the answer for some seconds. Each system lookup occupies one of
 * libuv's few threads. With one lookup per connection, calls that will be refused would delay all other calls.
 */
function createNames() {
  const known = new Map<string, KnownAddresses>()
  const waiting = new Map<string, LookupCallback[]>()

  function ask(hostname: string, done: LookupCallback): void {
    const others = waiting.get(hostname)
    if (others) return void others.push(done)
    const all = [done]
    waiting.set(hostname, all)
    // The hint that `net` passes.
    lookup(hostname, { all: true, hints: ADDRCONFIG }, (error, addresses) => {
      waiting.delete(hostname)
      if (!error) known.set(hostname, { addresses, at: performance.now() })
      for (const told of all) told(error, addresses)
    })
  }

  return {
    /** Reports whether connections wait for this name's address. */
    isPending: (hostname: string) => waiting.has(hostname),
    lookup: ((hostname, { all, family }, done) => {
      const tell: LookupCallback = (error, addresses) => {
        if (error) return done(error, '')
        const version = family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : family
        const fitting = version === 4 || version === 6 ? addresses.filter((one) => one.family === version) : addresses
        const [first] = fitting
        if (!first) return done(Object.assign(new Error(`${hostname} has no such address`), { code: 'ENOTFOUND' }), '')
        return all ? done(null, fitting) : done(null, first.address, first.family)
      }
      const found = known.get(hostname)
      const ageMs = found ? performance.now() - found.at : Number.POSITIVE_INFINITY
      if (!found || ageMs > USABLE_MS) return ask(hostname, tell)
      if (ageMs > FRESH_MS) ask(hostname, () => undefined)
      // Asynchronous in every case: the callback never runs before `lookup` returns.
      return process.nextTick(tell, null, found.addresses)
    }) satisfies LookupFunction,
  }
}
