import { expect, onTestFinished } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { compileNetworks } from '../../src/language/networks.ts'
import type { NewEvent } from '../../src/outside/store/events.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { createLog } from '../../src/runtime/log.ts'
import type { CallbackEndpoint } from '../../src/state/events/callback.ts'
import { type DeliveryOptions, startDelivery } from '../../src/state/events/delivery.ts'
import { newEvent } from '../store/samples.ts'

/** A caller's settings. */
export const SETTINGS = {
  transport_type: 'open',
  vehicle_type: 'car',
  send_quote_id: false,
  shipment_number: 'caller',
} as const

/** Returns an endpoint that is allowed on this machine. */
export function endpoint(url: string, given: Partial<CallbackEndpoint> = {}): CallbackEndpoint {
  return {
    tenant: 'acme',
    url: new URL(url),
    format: 'json',
    keys: [],
    allowed: compileNetworks(['127.0.0.0/8', '::1']),
    settings: SETTINGS,
    ...given,
  }
}

export interface OfficeOptions extends Pick<DeliveryOptions, 'timeoutMs' | 'slots' | 'leaseMs'> {
  readonly endpoints: readonly CallbackEndpoint[]
  readonly store?: Store
}

const START = Date.parse('2026-11-22T00:00:00Z')
const NEVER_MS = 1_000_000_000

/** The caller's number for a shipment in these tests. */
const ownNumber = (shipment: string) => `REF-${shipment}`

/** Starts deliveries for one test, which look for due events only when the test says so. */
export async function openOffice({ endpoints, store: given, ...options }: OfficeOptions) {
  let now = START
  const store = given ?? createMemoryStore({ now: () => now })
  const lines: Readonly<Record<string, unknown>>[] = []
  const deliveries = startDelivery({
    store,
    catalog: await loadMappings(),
    config: { UPSTREAM_TIMEOUT_MS: 15_000 },
    resolve: async () => [],
    statusOf: async () => undefined,
    // Its leases last for their full time.
    leases: { instance: '', hold: async () => () => true },
    timeoutMs: 2_000,
    log: createLog('info', { write: (line) => void lines.push(JSON.parse(line)) }),
    pollEveryMs: NEVER_MS,
    ...options,
  })
  deliveries.setEndpoints(endpoints)
  onTestFinished(async () => {
    await deliveries.close(0)
    await store.close()
  })
  return {
    store,
    deliveries,
    /** Every log line so far. */
    lines,
    /** Stores an event whose shipment has a name, and returns its id. */
    async take(given: Partial<NewEvent> = {}) {
      const event = newEvent({ event: 'shipment.delivered', ...given })
      const { tenant, shipment: id, event: name, date } = event
      await store.put({ shipment: { tenant, id, own: ownNumber(id) } })
      const payload = JSON.stringify({ shipment_id: id, event: name, event_date: date })
      return (await store.takeEvent({ ...event, payload, ...given })).id
    },
    /** Lets time pass, and then handles everything that is due. */
    async pass(ms: number) {
      now += ms
      await deliveries.poll()
      await deliveries.idle()
    },
    found: async (id: string) => (await store.findEvent(id)) ?? expect.fail(`there is no event ${id}`),
  }
}
