import type pg from 'pg'
import { isFailure, PRUNE_BATCH, REPLAYED, SKIPPED } from '../event.ts'
import type { EventVersion, StoredEvent, TryOutcome } from '../events.ts'
import { eventOf } from '../rows.ts'
import { CLOCK, NOW } from './clock.ts'

/** The queue of an event's shipment. */
interface Queue {
  readonly tenant: string
  readonly shipment: string
}

export const IS_WAITING = `(endpoint.stopped = 1 OR endpoint.paused_until > ${NOW})`
export const IS_DUE = `queue.retry_at <= ${NOW} AND queue.leased_until <= ${NOW}`

const LEASE = `WITH ${CLOCK}, picked AS (SELECT tenant, shipment FROM transload.event_queues AS queue
    WHERE tenant = $1 AND ${IS_DUE}
    AND NOT EXISTS (SELECT FROM transload.endpoints AS endpoint WHERE endpoint.tenant = $1 AND ${IS_WAITING})
    ORDER BY retry_at LIMIT $2 FOR UPDATE SKIP LOCKED)
  UPDATE transload.event_queues AS queue SET leased_until = ${NOW} + $3::bigint FROM picked
    WHERE queue.tenant = picked.tenant AND queue.shipment = picked.shipment RETURNING queue.shipment`

const LEASE_FIRST = `UPDATE transload.events AS event SET version = version + 1
  FROM unnest($2::text[]) AS queue (shipment) CROSS JOIN LATERAL (SELECT no FROM transload.events AS one
    WHERE one.tenant = $1 AND one.shipment = queue.shipment AND one.state = 'due' ORDER BY no LIMIT 1) AS first
  WHERE event.no = first.no RETURNING event.*`

const FINISH = `WITH ${CLOCK} UPDATE transload.events SET state = $3, outcome = $4, version = version + 1,
    failures = failures + $5, retry_at = ${NOW} + $6::bigint, changed_at = ${NOW}
  WHERE id = $1 AND version = $2 RETURNING 1`

/** A new statement sees the events that were committed before the queue's row was locked. */
const REQUEUE = `INSERT INTO transload.event_queues (tenant, shipment, retry_at, leased_until)
    SELECT tenant, shipment, retry_at, 0 FROM transload.events
    WHERE tenant = $1 AND shipment = $2 AND state = 'due' ORDER BY no LIMIT 1
  ON CONFLICT (tenant, shipment) DO UPDATE SET retry_at = excluded.retry_at`

const STOP = `WITH ${CLOCK} INSERT INTO transload.endpoints VALUES ($1, 1, 0, ${NOW})
  ON CONFLICT (tenant) DO UPDATE SET stopped = 1, changed_at = excluded.changed_at`
const PAUSE = `WITH ${CLOCK} INSERT INTO transload.endpoints AS endpoint VALUES ($1, 0, ${NOW} + $2::bigint, ${NOW})
  ON CONFLICT (tenant) DO UPDATE SET changed_at = excluded.changed_at,
    paused_until = greatest(endpoint.paused_until, excluded.paused_until)`

const CHANGES = {
  replay: `WITH ${CLOCK} UPDATE transload.events SET state = 'due', outcome = '${REPLAYED}', failures = 0,
    retry_at = ${NOW}, version = version + 1, changed_at = ${NOW} WHERE id = ANY ($1::text[])`,
  skip: `WITH ${CLOCK} UPDATE transload.events SET state = 'skipped', outcome = '${SKIPPED}', version = version + 1,
    changed_at = ${NOW} WHERE id = ANY ($1::text[]) AND state IN ('due', 'parked')`,
}

/** Leases the first due events of a tenant, in a transaction: the second statement sees every try that ended before. */
export async function leaseEvents(
  client: pg.ClientBase,
  tenant: string,
  limit: number,
  leaseMs: number,
): Promise<readonly StoredEvent[]> {
  const queues = await client.query(LEASE, [tenant, limit, leaseMs])
  if (queues.rowCount === 0) return []
  const { rows } = await client.query(LEASE_FIRST, [tenant, queues.rows.map(({ shipment }) => shipment)])
  return rows.map(eventOf).sort((one, other) => one.retryAt - other.retryAt || one.no - other.no)
}

/** Stores the end of a try, in a transaction; returns false if the lease is lost. */
export async function finishTry(client: pg.ClientBase, event: EventVersion, outcome: TryOutcome): Promise<boolean> {
  const [queue] = await lockQueues(client, [event.id])
  if (!queue) return false
  const failures = isFailure(outcome) ? 1 : 0
  const values = [event.id, event.version, outcome.state, outcome.outcome, failures, outcome.retryInMs ?? 0]
  const { rowCount } = await client.query(FINISH, values)
  await updateQueue(client, queue)
  if (rowCount === 0) return false
  const key = [queue.tenant, queue.shipment]
  await client.query('UPDATE transload.event_queues SET leased_until = 0 WHERE tenant = $1 AND shipment = $2', key)
  const { endpoint } = outcome
  if (endpoint && 'stop' in endpoint) await client.query(STOP, [queue.tenant])
  else if (endpoint) await client.query(PAUSE, [queue.tenant, endpoint.pauseMs])
  return true
}

/** Changes events for an operator, in a transaction; returns how many changed. */
export async function changeEvents(
  client: pg.ClientBase,
  ids: readonly string[],
  change: keyof typeof CHANGES,
): Promise<number> {
  const queues = await lockQueues(client, ids)
  const { rowCount } = await client.query(CHANGES[change], [ids])
  for (const queue of queues) await updateQueue(client, queue)
  return rowCount ?? 0
}

/** Deletes finished events in batches, to lock few rows at a time. */
export async function pruneEvents(pool: pg.Pool, olderThanMs: number): Promise<number> {
  for (let pruned = 0; ; ) {
    const { rowCount } = await pool.query(
      `WITH ${CLOCK}, old AS (SELECT no FROM transload.events WHERE state IN ('recorded', 'delivered', 'skipped')
          AND changed_at < ${NOW} - $1::bigint LIMIT ${PRUNE_BATCH} FOR UPDATE SKIP LOCKED)
        DELETE FROM transload.events AS event USING old WHERE event.no = old.no`,
      [olderThanMs],
    )
    pruned += rowCount ?? 0
    if ((rowCount ?? 0) < PRUNE_BATCH) return pruned
  }
}

/**
 * Locks the queues of events and returns them, in one order over all gateways. A queue without a row gets one: otherwise,
 * an event that is stored meanwhile could lose its queue to `updateQueue`.
 */
async function lockQueues(client: pg.ClientBase, ids: readonly string[]): Promise<readonly Queue[]> {
  const { rows } = await client.query<Queue>(
    `INSERT INTO transload.event_queues AS queue
      SELECT DISTINCT tenant, shipment, 0, 0 FROM transload.events WHERE id = ANY ($1::text[]) ORDER BY tenant, shipment
      ON CONFLICT (tenant, shipment) DO UPDATE SET retry_at = queue.retry_at RETURNING tenant, shipment`,
    [ids],
  )
  return rows
}

/** Lets the first due event of a shipment say when its queue is due. */
async function updateQueue(client: pg.ClientBase, { tenant, shipment }: Queue): Promise<void> {
  const { rowCount } = await client.query(REQUEUE, [tenant, shipment])
  if (rowCount !== 0) return
  await client.query('DELETE FROM transload.event_queues WHERE tenant = $1 AND shipment = $2', [tenant, shipment])
}
