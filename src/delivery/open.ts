import type { Tenant } from '../config/tenants-file.ts'
import type { Catalog } from '../mapping/catalog.ts'
import type { Settings } from '../mapping/settings.ts'
import type { Logger } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import type { Xref } from '../xref/xref.ts'
import { startDeliveries } from './deliveries.ts'
import { endpointOf } from './endpoint.ts'
import { createDeliveryMetrics, type DeliveryMetric } from './metrics.ts'
import { createPost } from './post.ts'
import { createResolve, type Resolve } from './resolve.ts'

/** The deliveries of a gateway. */
export interface OpenDeliveries {
  /** To be called with the tenants of the file whenever they are read. */
  setTenants(tenants: readonly Tenant[]): void
  /** Stores an event as the store does, and delivers it at once. */
  readonly takeEvent: Store['takeEvent']
  readonly metrics: readonly DeliveryMetric[]
  close(graceMs: number): Promise<void>
}

/** The parts of the delivery that tests replace. */
export interface DeliveryOptions {
  /** @default the name servers of the machine */
  readonly resolve?: Resolve
  /** @default 20000 */
  readonly timeoutMs?: number
  /** @default 1000 */
  readonly pollEveryMs?: number
  /** @default 60000 */
  readonly leaseMs?: number
}

export interface OpenDeliveriesDeps extends DeliveryOptions {
  readonly catalog: Catalog
  readonly store: Store
  readonly xref: Xref
  /** The settings of tenants that have none of their own. */
  readonly settings: Settings
  readonly log: Logger
}

/** A try that is under way at a shutdown may take so long at most; it is made again later. */
const LONGEST_GRACE_MS = 5_000

/** Opens the deliveries of a gateway. */
export function openDeliveries(deps: OpenDeliveriesDeps): OpenDeliveries {
  const { catalog, store, xref, settings, log, resolve = createResolve(), timeoutMs } = deps
  const { counters, metrics } = createDeliveryMetrics(store, store.now)
  const deliveries = startDeliveries({
    events: store,
    claims: store,
    xref,
    catalog,
    now: store.now,
    wallClock: Date.now,
    post: createPost({ resolve, ...(timeoutMs !== undefined && { timeoutMs }) }),
    log,
    counters,
    ...(deps.pollEveryMs !== undefined && { pollEveryMs: deps.pollEveryMs }),
    ...(deps.leaseMs !== undefined && { leaseMs: deps.leaseMs }),
  })

  return {
    setTenants(tenants) {
      const endpoints = tenants.flatMap((tenant) => endpointOf(tenant, settings) ?? [])
      for (const { tenant, keys } of endpoints)
        if (keys.length === 0) log.warn({ tenant }, 'deliveries are not signed: the tenant has no callback_secrets')
      deliveries.setEndpoints(endpoints)
    },
    async takeEvent(event) {
      const taken = await store.takeEvent(event)
      if (taken.taken && event.deliver) deliveries.wake(event.tenant)
      return taken
    },
    metrics,
    async close(graceMs) {
      await deliveries.close(Math.min(graceMs, LONGEST_GRACE_MS))
    },
  }
}
