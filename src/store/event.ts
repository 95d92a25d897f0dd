import { createHash } from 'node:crypto'
import type { EventFilter, NewEvent, StoredEvent, TryOutcome } from './events.ts'

const ID_DIGITS = 32

/** Returns the id of an event: the same for every copy, in every store, even after the event was pruned. */
export function eventId({ tenant, shipment, event, date, digest }: NewEvent): string {
  const identity = JSON.stringify([tenant, shipment, event, date, digest])
  return `msg_${createHash('sha256').update(identity).digest('hex').slice(0, ID_DIGITS)}`
}

/** Returns a new event as it is stored. */
export function receivedEvent({ deliver, ...event }: NewEvent, no: number, at: number): StoredEvent {
  return {
    ...event,
    id: eventId({ ...event, deliver }),
    no,
    receivedAt: at,
    state: deliver ? 'due' : 'recorded',
    version: 1,
    failures: 0,
    retryAt: at,
    changedAt: at,
    outcome: '',
    body: undefined,
  }
}

/** Returns the event after a try. */
export function afterTry(event: StoredEvent, end: TryOutcome, at: number): StoredEvent {
  const { state, outcome, retryInMs = 0 } = end
  const failures = event.failures + (isFailure(end) ? 1 : 0)
  return { ...event, state, outcome, failures, retryAt: at + retryInMs, version: event.version + 1, changedAt: at }
}

/** Tells if a try counts as failed. */
export function isFailure(end: TryOutcome): boolean {
  return end.isFailure ?? end.state !== 'delivered'
}

/** Returns the event after an operator's replay. */
export function replayed(event: StoredEvent, at: number): StoredEvent {
  return {
    ...event,
    state: 'due',
    outcome: REPLAYED,
    failures: 0,
    retryAt: at,
    version: event.version + 1,
    changedAt: at,
  }
}

/** Returns the event after an operator's skip. */
export function skipped(event: StoredEvent, at: number): StoredEvent {
  return { ...event, state: 'skipped', outcome: SKIPPED, version: event.version + 1, changedAt: at }
}

/** Tells if a filter lets an event pass; its limit is not looked at. */
export function passes({ tenant, state, since, until, after }: EventFilter, event: StoredEvent): boolean {
  return (
    (tenant ?? event.tenant) === event.tenant &&
    (state ?? event.state) === event.state &&
    event.receivedAt >= (since ?? event.receivedAt) &&
    (until === undefined || event.receivedAt < until) &&
    (after === undefined || event.no > after)
  )
}

/** Tells if an event needs nothing more and may be pruned. */
export function isFinished({ state }: StoredEvent): boolean {
  return state === 'recorded' || state === 'delivered' || state === 'skipped'
}

export const REPLAYED = 'replayed by an operator'
export const SKIPPED = 'skipped by an operator'

/** How many events and shipments a list has by default. */
export const EVENT_LIST_LIMIT = 1_000
/** How many events are read for each shipment of a list of shipments. */
export const EVENTS_PER_SHIPMENT = 4
/** How many events one step of `pruneEvents` deletes at most, to leave room for other writes in between. */
export const PRUNE_BATCH = 200
