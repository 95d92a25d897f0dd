import { PRUNE_BATCH } from '../event.ts'
import type { Events } from '../events.ts'
import type { Reader } from './cache.ts'
import type { Writer } from './writer.ts'

/** Creates the events of the contract: writes go to the writing thread, reads are answered in this one. */
export function createEvents({ read }: Reader, { call, step }: Writer, now: () => number): Events {
  return {
    takeEvent: (event) => call('takeEvent', event, now()),
    findEvent: async (id) => read((reads) => reads.findEvent(id)),
    eventsOfShipment: async (tenant, shipment) => read((reads) => reads.eventsOfShipment(tenant, shipment)),
    shipmentsWithEvents: async (tenant, since, limit) =>
      read((reads) => reads.shipmentsWithEvents(tenant, since, limit)),
    listEvents: async (filter) => read((reads) => reads.listEvents(filter)),
    async pruneEvents(olderThanMs) {
      let pruned = 0
      for (;;) {
        const batch = await step('pruneEvents', olderThanMs, now())
        pruned += batch
        if (batch < PRUNE_BATCH) return pruned
      }
    },

    tenantsWithDue: async (tenants) => read((reads) => reads.tenantsWithDue(tenants, now())),
    leaseEvents: (tenant, limit, leaseMs) => call('leaseEvents', tenant, limit, leaseMs, now()),
    keepBody: (event, body) => call('keepBody', event, body),
    finishTry: (event, outcome) => call('finishTry', event, outcome, now()),

    replayEvents: (ids) => call('replayEvents', ids, now()),
    skipEvents: (ids) => call('skipEvents', ids, now()),
    resumeEndpoint: (tenant) => call('resumeEndpoint', tenant, now()),
    endpoints: async () => read((reads) => reads.endpoints(now())),
    openEvents: async () => read((reads) => reads.openEvents()),
  }
}
