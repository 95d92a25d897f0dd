import type { DatabaseSync } from 'node:sqlite'
import { EVENT_LIST_LIMIT, EVENTS_PER_SHIPMENT } from '../event.ts'
import type { EndpointState, EventFilter, OpenEvents, StoredEvent } from '../events.ts'
import { endpointOf, eventOf, openEventsOf } from '../rows.ts'
import { SELECT_EVENT } from './schema.ts'

/** Prepares the reads of events on a connection. */
export function openEventReads(db: DatabaseSync) {
  const ofTenant = 'tenant = (SELECT no FROM tenants WHERE name = ?)'
  const find = db.prepare(`${SELECT_EVENT} WHERE e.id = ?`)
  const ofShipment = db.prepare(`${SELECT_EVENT} WHERE e.${ofTenant} AND e.shipment = ? ORDER BY e.no`)
  // The inner limit bounds the work: a tenant may have a million events since a time.
  const shipments = db.prepare(`SELECT shipment FROM (SELECT shipment, no FROM events WHERE ${ofTenant}
    AND received_at >= ? ORDER BY received_at, no LIMIT ?) GROUP BY shipment ORDER BY min(no) LIMIT ?`)
  const due = db.prepare(`SELECT 1 FROM tenants t WHERE t.name = ?1
    AND NOT EXISTS (SELECT 1 FROM endpoints WHERE tenant = t.no AND (stopped = 1 OR paused_until > ?2))
    AND EXISTS (SELECT 1 FROM event_queues WHERE tenant = t.no AND retry_at <= ?2 AND leased_until <= ?2)`)
  const anyQueue = db.prepare('SELECT 1 FROM event_queues LIMIT 1')
  const waiting = db.prepare(`SELECT t.name AS tenant, stopped, paused_until, changed_at FROM endpoints
    JOIN tenants t ON t.no = tenant WHERE stopped = 1 OR paused_until > ? ORDER BY t.name`)
  const open = db.prepare(`SELECT t.name AS tenant, state, count(*) AS count, min(received_at) AS oldest FROM events
    JOIN tenants t ON t.no = tenant WHERE state IN ('due', 'parked') GROUP BY tenant, state`)

  return {
    findEvent(id: string): StoredEvent | undefined {
      const row = find.get(id)
      return row && eventOf(row)
    },
    eventsOfShipment: (tenant: string, shipment: string): readonly StoredEvent[] =>
      ofShipment.all(tenant, shipment).map(eventOf),
    shipmentsWithEvents: (tenant: string, since: number, limit = EVENT_LIST_LIMIT): readonly string[] =>
      shipments.all(tenant, since, limit * EVENTS_PER_SHIPMENT, limit).map((row) => String(row['shipment'])),
    listEvents({ tenant, state, since, until, after, limit = EVENT_LIST_LIMIT }: EventFilter): readonly StoredEvent[] {
      const filters = [
        { sql: `e.${ofTenant}`, value: tenant },
        { sql: 'e.state = ?', value: state },
        { sql: 'e.received_at >= ?', value: since },
        { sql: 'e.received_at < ?', value: until },
        { sql: 'e.no > ?', value: after },
      ].flatMap(({ sql, value }) => (value === undefined ? [] : [{ sql, value }]))
      const where = filters.length === 0 ? '' : `WHERE ${filters.map(({ sql }) => sql).join(' AND ')}`
      const select = db.prepare(`${SELECT_EVENT} ${where} ORDER BY e.no LIMIT ?`)
      return select.all(...filters.map(({ value }) => value), limit).map(eventOf)
    },
    tenantsWithDue: (tenants: readonly string[], now: number): readonly string[] =>
      anyQueue.get() === undefined ? [] : tenants.filter((tenant) => due.get(tenant, now) !== undefined),
    endpoints: (now: number): readonly EndpointState[] => waiting.all(now).map(endpointOf),
    openEvents: (): readonly OpenEvents[] => open.all().map(openEventsOf),
  }
}
