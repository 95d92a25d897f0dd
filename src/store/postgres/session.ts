import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { retryDelayMs } from '../retry.ts'
import { asStoreError, isHopeless } from './errors.ts'
import { migrate } from './schema.ts'

/** The channel on which gateways tell each other what they wrote. */
export const CHANNEL = 'transload'

/** How often the session asks whether the server is there, and whether news still comes through. */
const PING_MS = 1_000
/** A server that says nothing for so long counts as gone. */
export const ANSWER_MS = 5_000
/** How long a connection may take to come about. */
const CONNECT_MS = 3_000
/** The cache is trusted as long as news sent so recently has arrived. */
const NEWS_MS = 2_500
const PING = 'ping '

/** What the session needs, and whom it tells. */
export interface SessionOptions {
  readonly url: string
  readonly onUp: () => void
  readonly onDown: (error: Error) => void
  /** What a gateway, this one too, has written. */
  readonly onNews: (payload: string) => void
}

/** The one connection that is always there. */
export interface Session {
  /** Resolves when the store is ready, or known not to be yet; rejects if trying again cannot help. */
  readonly started: Promise<void>
  /** Whether all that was written until a moment ago has been heard of. */
  informed(): boolean
  close(): Promise<void>
}

/**
 * Holds one connection open for as long as the store is: it migrates, hears what is written, and by its presence says
 * that the server answers. It comes back by itself.
 */
export function keepSession({ url, onUp, onDown, onNews }: SessionOptions): Session {
  const own = PING + randomUUID()
  const started = Promise.withResolvers<void>()
  const closing = new AbortController()
  let pingSent = 0
  let heard = Number.NEGATIVE_INFINITY

  /** One connection, from its beginning to its end, which is always an error. */
  async function live(): Promise<never> {
    const client = new pg.Client({
      connectionString: url,
      application_name: 'transload session',
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
    })
    const lost = Promise.withResolvers<never>()
    // It may be lost while something else is awaited, which then fails as well.
    lost.promise.catch(() => undefined)
    const lose = (): void => lost.reject(new Error('The connection was closed.'))
    client.on('error', lost.reject)
    client.on('end', lose)
    closing.signal.addEventListener('abort', lose)
    let pings: NodeJS.Timeout | undefined
    try {
      await client.connect()
      await migrate(client)
      client.on('notification', ({ payload = '' }) => {
        if (payload === own) heard = pingSent
        else if (!payload.startsWith(PING)) onNews(payload)
      })
      await client.query(`LISTEN ${CHANNEL}`)
      const ping = async (): Promise<void> => {
        const sent = performance.now()
        pingSent = sent
        await client.query('SELECT pg_notify($1, $2)', [CHANNEL, own])
      }
      onUp()
      started.resolve()
      pings = setInterval(() => void ping().catch(lost.reject), PING_MS)
      await ping()
      return await lost.promise
    } finally {
      clearInterval(pings)
      heard = Number.NEGATIVE_INFINITY
      closing.signal.removeEventListener('abort', lose)
      // A dead server never says goodbye, so nobody waits for it.
      void client.end().catch(() => undefined)
    }
  }

  async function keep(): Promise<void> {
    for (let failures = 0; !closing.signal.aborted; ) {
      const begun = performance.now()
      await live().catch((error: unknown) => {
        if (closing.signal.aborted) return
        failures = performance.now() - begun > ANSWER_MS ? 1 : failures + 1
        const known = asStoreError(error)
        if (isHopeless(error)) started.reject(known)
        started.resolve()
        onDown(known)
      })
      await delay(retryDelayMs(failures), undefined, { signal: closing.signal }).catch(() => undefined)
    }
  }

  const kept = keep()
  return {
    started: started.promise,
    informed: () => performance.now() - heard < NEWS_MS,
    async close() {
      closing.abort()
      await kept
    },
  }
}
