import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { backoffMs } from '../retry.ts'
import { asStoreError, isPermanent } from './errors.ts'
import { migrate } from './schema.ts'

/** The channel of the change notifications. */
export const CHANNEL = 'transload'

/** The interval of the session's test that the server answers and notifications arrive. */
const PING_EVERY_MS = 1_000
/** A server without an answer for this long counts as gone. */
export const QUERY_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 3_000
/** The cache counts as current if a ping sent this recently has arrived. */
const CURRENT_FOR_MS = 2_500
const PING = 'ping '

/** The settings and callbacks of a session. */
export interface SessionOptions {
  readonly url: string
  readonly onUp: () => void
  readonly onDown: (error: Error) => void
  /** Called with each change notification, this gateway's own included. */
  readonly onChange: (payload: string) => void
}

/** The connection that stays open. */
export interface Session {
  /** Resolves when the store is ready or known not to be ready yet; rejects if a retry cannot help. */
  readonly started: Promise<void>
  /** True while change notifications are known to arrive. */
  isCurrent(): boolean
  /** Returns the time by the server's clock, in milliseconds since 1970. */
  now(): number
  close(): Promise<void>
}

/**
 * Keeps one connection open as long as the store: it migrates the schema, receives change notifications and shows that
 * the server answers. It reconnects by itself.
 */
export function startSession({ url, onUp, onDown, onChange }: SessionOptions): Session {
  const own = PING + randomUUID()
  const started = Promise.withResolvers<void>()
  const closing = new AbortController()
  let lastPing = 0
  /** The server's clock less the monotonic one; until the server answers, that of this machine. */
  let clockOffsetMs = Date.now() - performance.now()
  let arrivedPing = Number.NEGATIVE_INFINITY

  /** Runs one connection until it fails. */
  async function runConnection(): Promise<never> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'transload session',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
    })
    const lost = Promise.withResolvers<never>()
    // The connection may break during another await, which then fails too.
    lost.promise.catch(() => undefined)
    const onEnd = (): void => lost.reject(new Error('The connection was closed.'))
    client.on('error', lost.reject)
    client.on('end', onEnd)
    closing.signal.addEventListener('abort', onEnd)
    let pings: NodeJS.Timeout | undefined
    try {
      await client.connect()
      await migrate(client)
      client.on('notification', ({ payload = '' }) => {
        if (payload === own) arrivedPing = lastPing
        else if (!payload.startsWith(PING)) onChange(payload)
      })
      await client.query(`LISTEN ${CHANNEL}`)
      const ping = async (): Promise<void> => {
        const sent = performance.now()
        lastPing = sent
        const { rows } = await client.query('SELECT pg_notify($1, $2), transload.now_ms() AS now', [CHANNEL, own])
        clockOffsetMs = Number(rows[0]?.now) - (sent + performance.now()) / 2
      }
      await ping()
      onUp()
      started.resolve()
      pings = setInterval(() => void ping().catch(lost.reject), PING_EVERY_MS)
      return await lost.promise
    } finally {
      clearInterval(pings)
      arrivedPing = Number.NEGATIVE_INFINITY
      closing.signal.removeEventListener('abort', onEnd)
      // Not awaited: a dead server never answers.
      void client.end().catch(() => undefined)
    }
  }

  async function reconnect(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; ) {
      const begun = performance.now()
      await runConnection().catch((error: unknown) => {
        if (closing.signal.aborted) return
        failures = performance.now() - begun > QUERY_TIMEOUT_MS ? 1 : failures + 1
        const known = asStoreError(error)
        if (isPermanent(error)) started.reject(known)
        started.resolve()
        onDown(known)
      })
      await delay(backoffMs(failures), undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }

  const ended = reconnect()
  return {
    started: started.promise,
    isCurrent: () => performance.now() - arrivedPing < CURRENT_FOR_MS,
    now: () => Math.round(performance.now() + clockOffsetMs),
    async close() {
      closing.abort()
      await ended
    },
  }
}
