import { Socket } from 'node:net'
import pg from 'pg'
import type { Server } from '../../../language/config/postgres-address.ts'
import { StoreDown } from '../store.ts'

/** If one of this user's commits has waited this long for a standby, no answer is expected any more. */
const STUCK_AFTER = `interval '5 seconds'`
/**
 * The reason why the server accepts no writes; NULL if it does. A client that has given up leaves its session behind. That session keeps
 * waiting, and shows that further commits would wait, too.
 */
const SHORTCOMING = `CASE WHEN pg_is_in_recovery() THEN 'is a standby'
  WHEN current_setting('transaction_read_only') = 'on' THEN 'is read-only (default_transaction_read_only)'
  WHEN EXISTS (SELECT FROM pg_stat_activity WHERE usename = current_user AND wait_event = 'SyncRep'
    AND query_start < clock_timestamp() - ${STUCK_AFTER})
  THEN 'commits nothing while it waits for a synchronous standby (synchronous_standby_names)' END`

/** Asks a server a question; rejects if it accepts no writes. */
export async function askWritable(client: pg.ClientBase, { place }: Server, question = 'NULL'): Promise<unknown> {
  const { rows } = await client.query(`SELECT ${SHORTCOMING} AS shortcoming, ${question} AS answer`)
  const { shortcoming, answer } = rows[0]
  if (shortcoming !== null) throw new StoreDown(`${place} ${shortcoming}.`)
  return answer
}

/* Connections */

/** A server that does not answer for this long counts as gone. */
export const QUERY_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 3_000
/** The longest time that a call waits for a connection; a server outage is noticed sooner. */
const POOL_WAIT_MS = 10_000

/** Opens a connection to a server that accepts writes. */
export async function connectTo(server: Server): Promise<pg.Client> {
  const client = new pg.Client({
    application_name: 'transload session',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    ...server.connection,
  })
  // The connection may break between two queries; then the next one fails.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await askWritable(client, server)
    return client
  } catch (error) {
    end(client)
    throw error
  }
}

/** Closes a connection; not awaited, because a dead server never answers. */
export function end(client: pg.Client): void {
  void client.end().catch(() => undefined)
}

/** Creates the pool for the store's calls. A new connection to a server that accepts no writes is refused, and `onRefused` is called. */
export function createPool(server: Server, max: number, onRefused: (error: StoreDown) => void) {
  const sockets = new Set<Socket>()

  function openSocket(): Socket {
    const socket = new Socket()
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    return socket
  }

  async function verify(client: pg.ClientBase): Promise<void> {
    try {
      await askWritable(client, server)
    } catch (error) {
      if (error instanceof StoreDown) onRefused(error)
      throw error
    }
  }

  const pool = new pg.Pool({
    onConnect: verify,
    application_name: 'transload',
    max,
    connectionTimeoutMillis: POOL_WAIT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    ...server.connection,
    stream: openSocket,
  })
  // An idle connection that breaks is replaced when needed; the session reports the outage.
  pool.on('error', () => undefined)
  // A connection that breaks inside a transaction fails the next query. Without a listener, the event would end the process.
  pool.on('connect', (client) => client.on('error', () => undefined))

  return {
    pool,
    /** Breaks all connections, so that calls that wait for an abandoned server fail at once. */
    leave(): void {
      for (const socket of sockets) socket.destroy()
    },
  }
}
