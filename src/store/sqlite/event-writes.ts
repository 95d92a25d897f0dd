import type { DatabaseSync } from 'node:sqlite'
import { afterTry, eventId, PRUNE_BATCH, receivedEvent, replayed, skipped } from '../event.ts'
import type { CallbackBody, Events, EventVersion, NewEvent, StoredEvent, TryOutcome } from '../events.ts'
import { eventOf } from '../rows.ts'
import { SELECT_EVENT } from './schema.ts'

/** Prepares every write of events on a connection; the caller begins and ends the transaction. */
export function createEventWrites(db: DatabaseSync, tenantNumber: (name: string) => number) {
  const addEvent = db.prepare(`INSERT INTO events (id, tenant, shipment, event, date, digest, payload, received_at,
    state, version, failures, retry_at, changed_at, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO NOTHING`)
  const findEvent = db.prepare(`${SELECT_EVENT} WHERE e.id = ?`)
  const putEvent = db.prepare(`UPDATE events SET state = ?, version = ?, failures = ?, retry_at = ?, changed_at = ?,
    outcome = ? WHERE id = ?`)
  const putBody = db.prepare('UPDATE events SET body = ?, format = ? WHERE id = ? AND version = ?')
  const nextDue = db.prepare(`${SELECT_EVENT} WHERE e.tenant = ? AND e.shipment = ? AND e.state = 'due'
    ORDER BY e.no LIMIT 1`)
  const prune = db.prepare(`DELETE FROM events WHERE no IN (SELECT no FROM events
    WHERE state IN ('recorded', 'delivered', 'skipped') AND changed_at < ? LIMIT ${PRUNE_BATCH})`)

  const queue = db.prepare('INSERT INTO event_queues VALUES (?, ?, ?, 0) ON CONFLICT DO NOTHING')
  const requeue = db.prepare(`INSERT INTO event_queues VALUES (?, ?, ?, 0)
    ON CONFLICT DO UPDATE SET retry_at = excluded.retry_at`)
  const dropQueue = db.prepare('DELETE FROM event_queues WHERE tenant = ? AND shipment = ?')
  const setLease = db.prepare('UPDATE event_queues SET leased_until = ? WHERE tenant = ? AND shipment = ?')
  const leasable = db.prepare(`SELECT shipment FROM event_queues
    WHERE tenant = ?1 AND retry_at <= ?2 AND leased_until <= ?2
    AND NOT EXISTS (SELECT 1 FROM endpoints WHERE tenant = ?1 AND (stopped = 1 OR paused_until > ?2))
    ORDER BY retry_at LIMIT ?3`)

  const stop = db.prepare(`INSERT INTO endpoints VALUES (?, 1, 0, ?)
    ON CONFLICT DO UPDATE SET stopped = 1, changed_at = excluded.changed_at`)
  const pause = db.prepare(`INSERT INTO endpoints VALUES (?, 0, ?, ?) ON CONFLICT DO UPDATE
    SET paused_until = max(paused_until, excluded.paused_until), changed_at = excluded.changed_at`)
  const resume = db.prepare('DELETE FROM endpoints WHERE tenant = ? RETURNING stopped, paused_until')

  function eventAt(id: string): StoredEvent | undefined {
    const row = findEvent.get(id)
    return row && eventOf(row)
  }

  function put({ id, state, version, failures, retryAt, changedAt, outcome }: StoredEvent): void {
    putEvent.run(state, version, failures, retryAt, changedAt, outcome, id)
  }

  /** Lets the first due event of a shipment say when its queue is due. */
  function updateQueue({ tenant, shipment }: StoredEvent): void {
    const no = tenantNumber(tenant)
    const next = nextDue.get(no, shipment)
    if (next) requeue.run(no, shipment, eventOf(next).retryAt)
    else dropQueue.run(no, shipment)
  }

  function changeAll(ids: readonly string[], change: (event: StoredEvent) => StoredEvent | undefined): number {
    const changed = ids.flatMap((id) => {
      const event = eventAt(id)
      return (event && change(event)) ?? []
    })
    changed.forEach(put)
    changed.forEach(updateQueue)
    return changed.length
  }

  function changeEndpoint(tenant: number, { endpoint }: TryOutcome, now: number): void {
    if (!endpoint) return
    if ('stop' in endpoint) stop.run(tenant, now)
    else pause.run(tenant, now + endpoint.pauseMs, now)
  }

  return {
    takeEvent(event: NewEvent, now: number): Awaited<ReturnType<Events['takeEvent']>> {
      const id = eventId(event)
      const tenant = tenantNumber(event.tenant)
      const { shipment, date, digest, payload, state, version, failures, outcome } = receivedEvent(event, 0, now)
      const told = [id, tenant, shipment, event.event, date, digest, payload, now]
      const taken = Number(addEvent.run(...told, state, version, failures, now, now, outcome).changes) > 0
      if (taken && event.deliver) queue.run(tenant, shipment, now)
      return { taken, id }
    },
    leaseEvents(tenant: string, limit: number, leaseMs: number, now: number): readonly StoredEvent[] {
      const no = tenantNumber(tenant)
      return leasable.all(no, now, limit).flatMap(({ shipment }) => {
        const row = nextDue.get(no, String(shipment))
        if (!row) {
          dropQueue.run(no, String(shipment))
          return []
        }
        const event = eventOf(row)
        const leased = { ...event, version: event.version + 1 }
        put(leased)
        setLease.run(now + leaseMs, no, event.shipment)
        return leased
      })
    },
    keepBody: ({ id, version }: EventVersion, { text, format }: CallbackBody): boolean =>
      Number(putBody.run(text, format, id, version).changes) > 0,
    finishTry({ id, version }: EventVersion, outcome: TryOutcome, now: number): boolean {
      const event = eventAt(id)
      if (event?.version !== version) return false
      put(afterTry(event, outcome, now))
      updateQueue(event)
      const tenant = tenantNumber(event.tenant)
      setLease.run(0, tenant, event.shipment)
      changeEndpoint(tenant, outcome, now)
      return true
    },
    replayEvents: (ids: readonly string[], now: number): number => changeAll(ids, (event) => replayed(event, now)),
    skipEvents: (ids: readonly string[], now: number): number =>
      changeAll(ids, (event) => (event.state === 'due' || event.state === 'parked' ? skipped(event, now) : undefined)),
    resumeEndpoint(tenant: string, now: number): boolean {
      const row = resume.get(tenantNumber(tenant))
      return row !== undefined && (row['stopped'] === 1 || Number(row['paused_until']) > now)
    },
    /** Handles one batch; a result below the batch size means that none are left. */
    pruneEvents: (olderThanMs: number, now: number): number => Number(prune.run(now - olderThanMs).changes),
  }
}
