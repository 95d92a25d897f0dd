import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Server } from './address.ts'
import { connectTo, end } from './connect.ts'
import { SessionsShared } from './errors.ts'

/** A notification takes milliseconds. */
const NOTIFICATION_TIMEOUT_MS = 3_000

/**
 * Throws if a pooler stands before the server that keeps no session for each connection, as PgBouncer does with
 * `pool_mode = transaction`: notifications of other gateways would not arrive, and the caches would be stale.
 *
 * A pooler shows in the process id of the connection, which is the pooler's own invention. Then the property itself is tested:
 * a notification from another connection must arrive while this one is idle and listens.
 */
export async function requireSession(client: pg.Client, server: Server, channel: string): Promise<void> {
  if ((await processId(client)) === announcedProcessId(client)) return
  const word = randomUUID()
  const arrived = Promise.withResolvers<true>()
  const onNotification = ({ payload }: pg.Notification): void => {
    if (payload === word) arrived.resolve(true)
  }
  client.on('notification', onNotification)
  const other = await connectTo(server, 'transload probe')
  let timer: NodeJS.Timeout | undefined
  try {
    await other.query('SELECT pg_notify($1, $2)', [channel, word])
    const late = new Promise<false>((resolve) => {
      timer = setTimeout(resolve, NOTIFICATION_TIMEOUT_MS, false)
    })
    if (await Promise.race([arrived.promise, late])) return
    // A server that does not answer is down, which is another matter.
    await processId(client)
    throw new SessionsShared(
      `the pooler at ${server.place} gives each transaction another session, and notifications of changes do not arrive; set pool_mode = session for this database, or name PostgreSQL itself`,
    )
  } finally {
    clearTimeout(timer)
    client.off('notification', onNotification)
    end(other)
  }
}

async function processId(client: pg.Client): Promise<number> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  return Number(rows[0]?.pid)
}

/** The process id from the start of the connection, for cancellations; the driver has it, and its types lack it. */
function announcedProcessId(client: pg.Client): unknown {
  return 'processID' in client ? client.processID : undefined
}
