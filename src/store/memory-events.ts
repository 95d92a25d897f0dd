import {
  afterTry,
  EVENT_LIST_LIMIT,
  EVENTS_PER_SHIPMENT,
  eventId,
  isFinished,
  passes,
  receivedEvent,
  replayed,
  skipped,
} from './event.ts'
import type { EndpointState, Events, EventVersion, OpenEvents, StoredEvent } from './events.ts'

/** Creates the events of the memory store. */
export function createMemoryEvents(now: () => number, checkOpen: () => void): Events {
  /** By id, in the order of their numbers. */
  const events = new Map<string, StoredEvent>()
  /** Until when an event of a shipment is leased, by queue. */
  const leases = new Map<string, number>()
  const endpoints = new Map<string, EndpointState>()
  let lastNo = 0

  const queueOf = ({ tenant, shipment }: StoredEvent) => JSON.stringify([tenant, shipment])

  function isWaiting(tenant: string, at: number): boolean {
    const endpoint = endpoints.get(tenant)
    return endpoint !== undefined && (endpoint.stopped || endpoint.pausedUntil > at)
  }

  /** Returns the events of a tenant that can be leased, longest due first. */
  function leasable(tenant: string, at: number): StoredEvent[] {
    if (isWaiting(tenant, at)) return []
    const first = new Map<string, StoredEvent>()
    for (const event of events.values()) {
      if (event.tenant !== tenant || event.state !== 'due') continue
      const queue = queueOf(event)
      if (!first.has(queue)) first.set(queue, event)
    }
    return [...first]
      .filter(([queue, event]) => event.retryAt <= at && (leases.get(queue) ?? at) <= at)
      .map(([, event]) => event)
      .sort((one, other) => one.retryAt - other.retryAt || one.no - other.no)
  }

  function hasDue({ tenant, shipment }: StoredEvent): boolean {
    const isDue = (event: StoredEvent) => event.state === 'due'
    return [...events.values()].some((one) => isDue(one) && one.tenant === tenant && one.shipment === shipment)
  }

  function current({ id, version }: EventVersion): StoredEvent | undefined {
    const event = events.get(id)
    return event?.version === version ? event : undefined
  }

  function changeAll(ids: readonly string[], change: (event: StoredEvent) => StoredEvent | undefined): number {
    checkOpen()
    const changed = ids.flatMap((id) => {
      const event = events.get(id)
      return (event && change(event)) ?? []
    })
    for (const event of changed) events.set(event.id, event)
    for (const event of changed) if (!hasDue(event)) leases.delete(queueOf(event))
    return changed.length
  }

  return {
    async takeEvent(event) {
      checkOpen()
      const id = eventId(event)
      if (events.has(id)) return { taken: false, id }
      lastNo += 1
      events.set(id, receivedEvent(event, lastNo, now()))
      return { taken: true, id }
    },
    async findEvent(id) {
      checkOpen()
      return events.get(id)
    },
    async eventsOfShipment(tenant, shipment) {
      checkOpen()
      return [...events.values()].filter((event) => event.tenant === tenant && event.shipment === shipment)
    },
    async shipmentsWithEvents(tenant, since, limit = EVENT_LIST_LIMIT) {
      checkOpen()
      const all = [...events.values()].filter((event) => passes({ tenant, since }, event))
      const found = all.slice(0, limit * EVENTS_PER_SHIPMENT)
      return [...new Set(found.map(({ shipment }) => shipment))].slice(0, limit)
    },
    async listEvents({ limit = EVENT_LIST_LIMIT, ...filter }) {
      checkOpen()
      return [...events.values()].filter((event) => passes(filter, event)).slice(0, limit)
    },
    async pruneEvents(olderThanMs) {
      checkOpen()
      const until = now() - olderThanMs
      const old = [...events.values()].filter((event) => isFinished(event) && event.changedAt < until)
      for (const { id } of old) events.delete(id)
      return old.length
    },

    async tenantsWithDue(tenants) {
      checkOpen()
      return tenants.filter((tenant) => leasable(tenant, now()).length > 0)
    },
    async leaseEvents(tenant, limit, leaseMs) {
      checkOpen()
      const at = now()
      return leasable(tenant, at)
        .slice(0, limit)
        .map((event) => {
          const leased = { ...event, version: event.version + 1 }
          events.set(event.id, leased)
          leases.set(queueOf(event), at + leaseMs)
          return leased
        })
    },
    async keepBody(version, body) {
      checkOpen()
      const event = current(version)
      if (event) events.set(event.id, { ...event, body })
      return event !== undefined
    },
    async finishTry(version, outcome) {
      checkOpen()
      const at = now()
      const event = current(version)
      if (!event) return false
      events.set(event.id, afterTry(event, outcome, at))
      leases.delete(queueOf(event))
      const { tenant } = event
      const { endpoint } = outcome
      if (!endpoint) return true
      const before = endpoints.get(tenant)
      const stopped = 'stop' in endpoint || (before?.stopped ?? false)
      const pausedUntil = Math.max(before?.pausedUntil ?? 0, 'stop' in endpoint ? 0 : at + endpoint.pauseMs)
      endpoints.set(tenant, { tenant, stopped, pausedUntil, changedAt: at })
      return true
    },

    replayEvents: async (ids) => changeAll(ids, (event) => replayed(event, now())),
    skipEvents: async (ids) =>
      changeAll(ids, (event) =>
        event.state === 'due' || event.state === 'parked' ? skipped(event, now()) : undefined,
      ),
    async resumeEndpoint(tenant) {
      checkOpen()
      const wasWaiting = isWaiting(tenant, now())
      endpoints.delete(tenant)
      return wasWaiting
    },
    async endpoints() {
      checkOpen()
      return [...endpoints.values()].filter(({ tenant }) => isWaiting(tenant, now()))
    },
    async openEvents() {
      checkOpen()
      const open = new Map<string, OpenEvents>()
      for (const { tenant, state, receivedAt } of events.values()) {
        if (state !== 'due' && state !== 'parked') continue
        const key = JSON.stringify([tenant, state])
        const { count, oldest } = open.get(key) ?? { count: 0, oldest: receivedAt }
        open.set(key, { tenant, state, count: count + 1, oldest: Math.min(oldest, receivedAt) })
      }
      return [...open.values()]
    },
  }
}
