import type pg from 'pg'
import { EVENT_LIST_LIMIT, EVENTS_PER_SHIPMENT, eventId } from '../event.ts'
import type { Events } from '../events.ts'
import { endpointOf, eventOf, openEventsOf } from '../rows.ts'
import type { InTransaction } from './claims.ts'
import { CLOCK, NOW } from './clock.ts'
import { changeEvents, finishTry, IS_DUE, IS_WAITING, leaseEvents, pruneEvents } from './event-changes.ts'

/** The first copy is stored with its queue. The queue's row is locked, so no try that ends meanwhile misses the event. */
const TAKE = `WITH ${CLOCK}, taken AS (INSERT INTO transload.events
    (id, tenant, shipment, event, date, digest, payload, received_at, state, version, failures, retry_at, changed_at, outcome)
    VALUES ($1, $2, $3, $4, $5, $6, $7, ${NOW}, $8, 1, 0, ${NOW}, ${NOW}, '') ON CONFLICT (id) DO NOTHING RETURNING *),
  queued AS (INSERT INTO transload.event_queues AS queue SELECT tenant, shipment, received_at, 0 FROM taken
    WHERE state = 'due' ON CONFLICT (tenant, shipment) DO UPDATE SET retry_at = queue.retry_at)
  SELECT 1 FROM taken`

const TENANTS_WITH_DUE = `WITH ${CLOCK} SELECT name FROM unnest($1::text[]) AS name
  WHERE NOT EXISTS (SELECT FROM transload.endpoints AS endpoint WHERE tenant = name AND ${IS_WAITING})
  AND EXISTS (SELECT FROM transload.event_queues AS queue WHERE tenant = name AND ${IS_DUE})`

/** Creates the events of the contract on a pool of connections. */
export function createEvents(
  pool: pg.Pool,
  inTransaction: InTransaction,
  ask: <T>(work: () => Promise<T>) => Promise<T>,
): Events {
  const query = async (sql: string, values: readonly unknown[]) => (await ask(() => pool.query(sql, [...values]))).rows
  const select = async (rest: string, values: readonly unknown[]) =>
    (await query(`SELECT * FROM transload.events WHERE ${rest}`, values)).map(eventOf)

  return {
    async takeEvent(event) {
      const id = eventId(event)
      const { tenant, shipment, date, digest, payload, deliver } = event
      const values = [id, tenant, shipment, event.event, date, digest, payload, deliver ? 'due' : 'recorded']
      return { taken: (await query(TAKE, values)).length > 0, id }
    },
    findEvent: async (id) => (await select('id = $1', [id]))[0],
    eventsOfShipment: (tenant, shipment) => select('tenant = $1 AND shipment = $2 ORDER BY no', [tenant, shipment]),
    async shipmentsWithEvents(tenant, since, limit = EVENT_LIST_LIMIT) {
      const sql = `SELECT shipment FROM (SELECT shipment, no FROM transload.events WHERE tenant = $1
        AND received_at >= $2 ORDER BY received_at, no LIMIT $3) first GROUP BY shipment ORDER BY min(no) LIMIT $4`
      const rows = await query(sql, [tenant, since, limit * EVENTS_PER_SHIPMENT, limit])
      return rows.map(({ shipment }) => String(shipment))
    },
    listEvents({ tenant, state, since, until, after, limit = EVENT_LIST_LIMIT }) {
      const filters = [
        { test: 'tenant =', value: tenant },
        { test: 'state =', value: state },
        { test: 'received_at >=', value: since },
        { test: 'received_at <', value: until },
        { test: 'no >', value: after },
      ].filter(({ value }) => value !== undefined)
      const where = ['true', ...filters.map(({ test }, index) => `${test} $${index + 2}`)].join(' AND ')
      return select(`${where} ORDER BY no LIMIT $1`, [limit, ...filters.map(({ value }) => value)])
    },
    pruneEvents: (olderThanMs) => ask(() => pruneEvents(pool, olderThanMs)),

    tenantsWithDue: async (tenants) => (await query(TENANTS_WITH_DUE, [tenants])).map(({ name }) => String(name)),
    leaseEvents: (tenant, limit, leaseMs) =>
      ask(() => inTransaction((client) => leaseEvents(client, tenant, limit, leaseMs))),
    async keepBody({ id, version }, { text, format }) {
      const sql = `UPDATE transload.events SET body = $3, format = $4 WHERE id = $1 AND version = $2 RETURNING 1`
      return (await query(sql, [id, version, text, format])).length > 0
    },
    finishTry: (event, outcome) => ask(() => inTransaction((client) => finishTry(client, event, outcome))),

    replayEvents: (ids) => ask(() => inTransaction((client) => changeEvents(client, ids, 'replay'))),
    skipEvents: (ids) => ask(() => inTransaction((client) => changeEvents(client, ids, 'skip'))),
    async resumeEndpoint(tenant) {
      const sql = `WITH ${CLOCK} DELETE FROM transload.endpoints AS endpoint WHERE tenant = $1
        RETURNING ${IS_WAITING} AS waited`
      return (await query(sql, [tenant]))[0]?.waited === true
    },
    endpoints: async () =>
      (
        await query(
          `WITH ${CLOCK} SELECT * FROM transload.endpoints AS endpoint WHERE ${IS_WAITING} ORDER BY tenant`,
          [],
        )
      ).map(endpointOf),
    async openEvents() {
      const sql = `SELECT tenant, state, count(*) AS count, min(received_at) AS oldest FROM transload.events
        WHERE state IN ('due', 'parked') GROUP BY tenant, state`
      return (await query(sql, [])).map(openEventsOf)
    },
  }
}
