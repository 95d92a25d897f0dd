import { hash } from 'node:crypto'
import { isRenewed, SILENT_FOR_MS } from './instance.ts'
import { EVENTS, OPEN_EVENTS } from './schema.ts'
import { type DatabaseRow, sql, TODAY, type Work } from './work.ts'

/** The content of one of the service's events. */
export interface EventContent {
  /** The shipment's key; empty if the event names no shipment. */
  readonly shipment: string
  /** The event's name as the service sent it; may be unknown. */
  readonly event: string
  /** The date as the service wrote it. */
  readonly date: string
  /** SHA-256 of the canonical `data`. Tenant, shipment, event, date and digest are unique together. */
  readonly digest: string
  /** The event as canonical JSON, at most 64 KiB. */
  readonly payload: string
}

/** An event to be stored. */
export interface NewEvent extends EventContent {
  readonly tenant: string
  /** True if the tenant has a callback; the event is then queued for delivery in the same durable step. */
  readonly deliver: boolean
  /**
   * The fault of an event in an unknown shape, which is parked at once for an operator to read.
   * @default none
   */
  readonly fault?: string | undefined
}

/**
 * The states of an event: `recorded` without a delivery, `due` until a try succeeds, `delivered`, `parked` after the last try or a refusal,
 * `skipped` by an operator.
 */
export type EventState = 'recorded' | 'due' | 'delivered' | 'parked' | 'skipped'

/** The format of a rendered body. */
export type CallbackFormat = 'json' | 'form'

/** The body that every try of a delivery sends. */
export interface CallbackBody {
  readonly text: string
  readonly format: CallbackFormat
}

/** The event that a change applies to; the change does nothing if the event has another version by now. */
interface EventVersion {
  /** `msg_` and 32 hex digits; the same for every copy of the event. */
  readonly id: string
  /** Grows by one with every lease and change of state; used for compare-and-set. */
  readonly version: number
}

/** An event and the state of its delivery. */
export interface StoredEvent extends EventContent, EventVersion {
  readonly tenant: string
  /** Grows with every event in the store. */
  readonly no: number
  readonly receivedAt: number
  readonly state: EventState
  /** How many tries have failed. */
  readonly failures: number
  /** When the next try is due; only for a `due` event. */
  readonly retryAt: number
  readonly changedAt: number
  /** The outcome of the last try, or an operator's change; empty before that. */
  readonly outcome: string
  /** Undefined until it is rendered. */
  readonly body: CallbackBody | undefined
}

/** The result of one try. */
export interface TryOutcome {
  readonly state: Exclude<EventState, 'recorded'>
  /** The reply or the failure, in a few words, without secrets. */
  readonly outcome: string
  /**
   * False for a try that was postponed or interrupted, which does not bring the event closer to being parked.
   * @default true, except for `delivered`
   */
  readonly isFailure?: boolean
  /**
   * When a `due` event is tried again.
   * @default at once
   */
  readonly retryInMs?: number
  /**
   * The effect on all of the tenant's deliveries: they stop until an operator resumes them, or pause for some time.
   * @default none
   */
  readonly endpoint?: { readonly stop: true } | { readonly pauseMs: number }
}

/** An endpoint that is stopped or paused. */
interface EndpointState {
  readonly tenant: string
  /** True until an operator resumes it. */
  readonly stopped: boolean
  /** No delivery starts before this time, in milliseconds since 1970. */
  readonly pausedUntil: number
  readonly changedAt: number
}

/** The open events of a tenant in one state. */
export interface OpenEvents {
  readonly tenant: string
  readonly state: 'due' | 'parked'
  readonly count: number
  /** When the oldest was received. */
  readonly oldest: number
}

/** Chooses events. */
export interface EventFilter {
  readonly tenant?: string | undefined
  readonly state?: EventState | undefined
  /** Received at this time or later. */
  readonly since?: number | undefined
  /** Received before this time. */
  readonly until?: number | undefined
  /** With a greater `no`, for the next page. */
  readonly after?: number | undefined
  /** @default 1,000 */
  readonly limit?: number | undefined
}

/** How many events or shipments a list has by default. */
const EVENT_LIST_LIMIT = 1_000
/** How many events are read for each shipment in a list of shipments. */
const EVENTS_PER_SHIPMENT = 4
const ID_DIGITS = 32

/** Returns an event's id: the same for every copy, in every store, even after the event was pruned. */
function eventId({ tenant, shipment, event, date, digest }: NewEvent): string {
  const identity = JSON.stringify([tenant, shipment, event, date, digest])
  return `msg_${hash('sha256', identity).slice(0, ID_DIGITS)}`
}

/** Returns the event in a row that has all of an event's columns. */
function eventOf(row: DatabaseRow): StoredEvent {
  const { no, body: text, format } = row
  const body = typeof text === 'string' ? { text, format: String(format) as CallbackFormat } : undefined
  return { ...EVENTS.of(row), no: Number(no), body }
}

const EVENT = `no, ${EVENTS.names}, body, format`
const SELECT_EVENTS = `SELECT ${EVENT} FROM transload.events`
const QUEUE = 'tenant, shipment, retry_at, leased_until, leased_by'
const NOW = 'transload.now_ms()'
const IS_WAITING = `(stopped = 1 OR paused_until > ${NOW})`
/** A lease ends with its time, or with its gateway. */
const IS_DUE = `retry_at <= ${NOW} AND (leased_until <= ${NOW} OR leased_by <> '' AND NOT EXISTS (SELECT 1
  FROM transload.instances WHERE instance = leased_by AND ${isRenewed(String(SILENT_FOR_MS))}))`
const isWaiting = (tenant: string) =>
  `EXISTS (SELECT 1 FROM transload.endpoints AS endpoint WHERE endpoint.tenant = ${tenant} AND ${IS_WAITING})`
/** The ids in `$1`, a list as JSON. */
const LISTED = '(SELECT value FROM transload.each($1))'

export const eventReads = {
  *findEvent(id: string): Work<StoredEvent | undefined> {
    return (yield sql(`${SELECT_EVENTS} WHERE id = $1`, id)).map(eventOf)[0]
  },
  /** Returns a shipment's events, oldest first. */
  *eventsOfShipment(tenant: string, shipment: string): Work<readonly StoredEvent[]> {
    const text = `${SELECT_EVENTS} WHERE tenant = $1 AND shipment = $2 ORDER BY no`
    return (yield sql(text, tenant, shipment)).map(eventOf)
  },
  /**
   * Returns shipments with an event since a time, in the order of their first events: at most `limit` (1,000 by default), from the first `4
   * × limit` events.
   */
  *shipmentsWithEvents(tenant: string, since: number, limit = EVENT_LIST_LIMIT): Work<readonly string[]> {
    // The inner limit bounds the work, because a tenant may have a million events since that time.
    const text = `SELECT shipment FROM (SELECT shipment, no FROM transload.events WHERE tenant = $1
      AND shipment <> '' AND received_at >= $2 ORDER BY received_at, no LIMIT $3) AS first GROUP BY shipment ORDER BY min(no) LIMIT $4`
    const rows = yield sql(text, tenant, since, limit * EVENTS_PER_SHIPMENT, limit)
    return rows.map((row) => String(row['shipment']))
  },
  /** Returns events, oldest first. */
  *listEvents({
    tenant,
    state,
    since,
    until,
    after,
    limit = EVENT_LIST_LIMIT,
  }: EventFilter): Work<readonly StoredEvent[]> {
    const tests = {
      'tenant =': tenant,
      'state =': state,
      'received_at >=': since,
      'received_at <': until,
      'no >': after,
    }
    const filters = Object.entries(tests).flatMap(([test, value]) => (value === undefined ? [] : [{ test, value }]))
    const where = filters.map(({ test }, index) => `${test} $${index + 2}`).join(' AND ')
    const text = `${SELECT_EVENTS} WHERE ${where || '1 = 1'} ORDER BY no LIMIT $1`
    return (yield sql(text, limit, ...filters.map(({ value }) => value))).map(eventOf)
  },
  /** Returns those of the tenants that have a delivery ready to start. */
  *tenantsWithDue(tenants: readonly string[]): Work<readonly string[]> {
    const rows = yield sql(
      `SELECT value FROM transload.each($1) AS one WHERE NOT ${isWaiting('one.value')}
        AND EXISTS (SELECT 1 FROM transload.event_queues AS queue WHERE queue.tenant = one.value AND ${IS_DUE})`,
      JSON.stringify(tenants),
    )
    return rows.map(({ value }) => String(value))
  },
  /** Returns some `due` events of other tenants, of shipments of which no event is leased or has changed since. */
  *abandonedEvents(tenants: readonly string[], since: number): Work<readonly StoredEvent[]> {
    // A plain `shipment` would choose its index, which has all events, not the one of open events.
    const text = `${SELECT_EVENTS} AS event WHERE state IN ('due', 'parked') AND state = 'due' AND tenant NOT IN ${LISTED}
      AND NOT ${isWaiting('event.tenant')} AND EXISTS (SELECT 1 FROM transload.event_queues AS queue
        WHERE queue.tenant = event.tenant AND queue.shipment = event.shipment AND ${IS_DUE}) AND NOT EXISTS (SELECT 1 FROM transload.events AS other
        WHERE other.tenant = event.tenant AND other.shipment = event.shipment AND other.changed_at >= $2)
      ORDER BY shipment || '', no LIMIT ${EVENT_LIST_LIMIT}`
    return (yield sql(text, JSON.stringify(tenants), since)).map(eventOf)
  },
  /** Returns the endpoints that are stopped or paused. */
  *endpoints(): Work<readonly EndpointState[]> {
    const rows = yield sql(`SELECT * FROM transload.endpoints WHERE ${IS_WAITING} ORDER BY tenant`)
    return rows.map((row) => ({
      tenant: String(row['tenant']),
      stopped: Number(row['stopped']) === 1,
      pausedUntil: Number(row['paused_until']),
      changedAt: Number(row['changed_at']),
    }))
  },
  /** Counts the `due` and the `parked` events of every tenant. */
  *openEvents(): Work<readonly OpenEvents[]> {
    return yield* OPEN_EVENTS.read(`SELECT tenant, state, count(*) AS count, min(received_at) AS oldest FROM transload.events
      WHERE state IN ('due', 'parked') GROUP BY tenant, state`)
  },
}

/**
 * The durable record of the service's events, and the queue of their deliveries. Each shipment has its own queue, in the order in which its
 * events were stored: an event is leased only if it is its shipment's first `due` one.
 */
export const eventWrites = {
  /** Stores an event durably, and queues it for delivery if it says so. A copy of an event changes nothing. */
  *takeEvent(event: NewEvent): Work<{ readonly taken: boolean; readonly id: string }> {
    const id = eventId(event)
    const { tenant, shipment, date, digest, payload, fault } = event
    const deliver = event.deliver && fault === undefined
    const state = fault === undefined ? (deliver ? 'due' : 'recorded') : 'parked'
    const taken = yield sql(
      `INSERT INTO transload.events (id, tenant, shipment, event, date, digest, payload, state,
        received_at, retry_at, changed_at, version, failures, outcome, used_day)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, ${NOW}, ${NOW}, ${NOW}, 1, 0, $9, ${TODAY})
        ON CONFLICT (id) DO NOTHING RETURNING 1`,
      id,
      tenant,
      shipment,
      event.event,
      date,
      digest,
      payload,
      state,
      fault ?? '',
    )
    // The queue's row is locked, so a try that ends meanwhile cannot miss the event.
    if (taken.length > 0 && deliver)
      yield sql(
        `INSERT INTO transload.event_queues AS queue (${QUEUE}) VALUES ($1, $2, ${NOW}, 0, '')
          ON CONFLICT (tenant, shipment) DO UPDATE SET retry_at = queue.retry_at`,
        tenant,
        shipment,
      )
    return { taken: taken.length > 0, id }
  },
  /**
   * Leases the first `due` event of up to `limit` shipments, longest due first. No other lease starts until this one ends: after its time,
   * or once its instance has not renewed its own lease for ten seconds.
   */
  *leaseEvents(tenant: string, limit: number, leaseMs: number, instance = ''): Work<readonly StoredEvent[]> {
    const queues = yield sql(
      `SELECT shipment FROM transload.event_queues AS queue WHERE tenant = $1 AND ${IS_DUE}
        AND NOT ${isWaiting('queue.tenant')} ORDER BY retry_at LIMIT $2 FOR UPDATE SKIP LOCKED`,
      tenant,
      limit,
    )
    if (queues.length === 0) return []
    const shipments = JSON.stringify(queues.map(({ shipment }) => shipment))
    yield sql(
      `UPDATE transload.event_queues SET leased_until = ${NOW} + $3::bigint, leased_by = $4
        WHERE tenant = $2 AND shipment IN ${LISTED}`,
      shipments,
      tenant,
      leaseMs,
      instance,
    )
    // A new statement sees every try that ended before the rows of the queues were locked.
    const rows = yield sql(
      `UPDATE transload.events SET version = version + 1 WHERE no IN (SELECT min(no) FROM transload.events
        WHERE tenant = $2 AND shipment IN ${LISTED} AND state = 'due' GROUP BY shipment) RETURNING ${EVENT}`,
      shipments,
      tenant,
    )
    return rows.map(eventOf).sort((one, other) => one.retryAt - other.retryAt || one.no - other.no)
  },
  /** Stores the body of every try; returns false if the lease is lost. */
  *keepBody({ id, version }: EventVersion, { text, format }: CallbackBody): Work<boolean> {
    const set = 'UPDATE transload.events SET body = $3, format = $4 WHERE id = $1 AND version = $2 RETURNING 1'
    return (yield sql(set, id, version, text, format)).length > 0
  },
  /** Stores the result of a try and ends the lease; returns false if the lease is lost. */
  *finishTry(
    { id, version }: EventVersion,
    { state, outcome, endpoint, retryInMs = 0, isFailure = state !== 'delivered' }: TryOutcome,
  ): Work<boolean> {
    const [queue] = yield* lockQueues([id])
    if (!queue) return false
    const finished = yield sql(
      `UPDATE transload.events SET state = $3, outcome = $4, version = version + 1, failures = failures + $5,
        retry_at = ${NOW} + $6::bigint, changed_at = ${NOW}, used_day = ${TODAY} WHERE id = $1 AND version = $2 RETURNING 1`,
      id,
      version,
      state,
      outcome,
      isFailure ? 1 : 0,
      Math.round(retryInMs),
    )
    yield* updateQueue(queue)
    if (finished.length === 0) return false
    const { tenant, shipment } = queue
    const free = 'UPDATE transload.event_queues SET leased_until = 0 WHERE tenant = $1 AND shipment = $2'
    yield sql(free, tenant, shipment)
    if (endpoint) {
      const [stopped, pauseMs] = 'stop' in endpoint ? [1, 0] : [0, endpoint.pauseMs]
      yield sql(
        `INSERT INTO transload.endpoints AS old (tenant, stopped, paused_until, changed_at)
          VALUES ($1, $2, CASE $3::bigint WHEN 0 THEN 0 ELSE ${NOW} + $3::bigint END, ${NOW})
          ON CONFLICT (tenant) DO UPDATE SET changed_at = excluded.changed_at,
          stopped = CASE WHEN excluded.stopped = 1 THEN 1 ELSE old.stopped END,
          paused_until = CASE WHEN excluded.paused_until > old.paused_until THEN excluded.paused_until ELSE old.paused_until END`,
        tenant,
        stopped,
        Math.round(pauseMs),
      )
    }
    return true
  },
  /** Makes events `due` at once, with all their tries again, and returns how many exist. */
  replayEvents: (ids: readonly string[]): Work<number> =>
    changeEvents(ids, `state = 'due', outcome = 'replayed by an operator', failures = 0, retry_at = ${NOW}`, '1 = 1'),
  /** Skips events that are `due` or `parked`, and returns how many. */
  skipEvents: (ids: readonly string[]): Work<number> =>
    changeEvents(ids, `state = 'skipped', outcome = 'skipped by an operator'`, `state IN ('due', 'parked')`),
  /** Ends a stop or a pause; returns false if there was none. */
  *resumeEndpoint(tenant: string): Work<boolean> {
    const text = `DELETE FROM transload.endpoints WHERE tenant = $1 RETURNING CASE WHEN ${IS_WAITING} THEN 1 END AS waited`
    return Number((yield sql(text, tenant))[0]?.['waited']) === 1
  },
}

function* changeEvents(ids: readonly string[], set: string, test: string): Work<number> {
  const queues = yield* lockQueues(ids)
  const changed = yield sql(
    `UPDATE transload.events SET ${set}, version = version + 1, changed_at = ${NOW}, used_day = ${TODAY}
      WHERE id IN ${LISTED} AND ${test} RETURNING 1`,
    JSON.stringify(ids),
  )
  for (const queue of queues) yield* updateQueue(queue)
  return changed.length
}

/** The queue of an event's shipment. */
interface Queue {
  readonly tenant: string
  readonly shipment: string
}

/**
 * Locks the queues of events and returns them, in the same order on all gateways. A queue without a row gets one. Otherwise an event that
 * is stored meanwhile could lose its queue to `updateQueue`.
 */
function* lockQueues(ids: readonly string[]): Work<readonly Queue[]> {
  const rows = yield sql(
    `INSERT INTO transload.event_queues AS queue (${QUEUE}) SELECT DISTINCT tenant, shipment, 0, 0, '' FROM transload.events
      WHERE id IN ${LISTED} ORDER BY tenant, shipment
      ON CONFLICT (tenant, shipment) DO UPDATE SET retry_at = queue.retry_at RETURNING tenant, shipment`,
    JSON.stringify(ids),
  )
  return rows.map(({ tenant, shipment }) => ({ tenant: String(tenant), shipment: String(shipment) }))
}

/** Makes a shipment's queue due when its first due event is. */
function* updateQueue({ tenant, shipment }: Queue): Work<void> {
  const requeued = yield sql(
    `INSERT INTO transload.event_queues (${QUEUE}) SELECT tenant, shipment, retry_at, 0, '' FROM transload.events
      WHERE tenant = $1 AND shipment = $2 AND state = 'due' ORDER BY no LIMIT 1
      ON CONFLICT (tenant, shipment) DO UPDATE SET retry_at = excluded.retry_at RETURNING 1`,
    tenant,
    shipment,
  )
  if (requeued.length > 0) return
  yield sql('DELETE FROM transload.event_queues WHERE tenant = $1 AND shipment = $2', tenant, shipment)
}
