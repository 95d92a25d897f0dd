import type { StoredEvent } from '../store/events.ts'

const isoTime = (ms: number): string => new Date(ms).toISOString()

/** Returns the fields of an event that operators see in a list. */
export function eventView(stored: StoredEvent) {
  const { id, state, tenant, shipment, event, date, failures, outcome, receivedAt, changedAt, retryAt } = stored
  return {
    id,
    state,
    received: isoTime(receivedAt),
    tenant,
    shipment,
    event,
    date,
    failures,
    outcome,
    changed: isoTime(changedAt),
    ...(state === 'due' && { next: isoTime(retryAt) }),
  }
}

/** Returns the line of an event in a list. */
export function lineOf(stored: StoredEvent): string {
  const { id, state, received, tenant, shipment, event, failures, outcome } = eventView(stored)
  return [id, state.padEnd(9), received, tenant, shipment, event, `failures: ${failures}`, outcome || '-'].join('  ')
}
