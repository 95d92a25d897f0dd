import type { Logger } from '../observe/log.ts'
import { currentMoment } from '../store/elapsed.ts'
import type { Events } from '../store/events.ts'
import { createDeliver, type DeliverDeps, type Delivery, LEASE_MS } from './deliver.ts'
import type { Endpoint } from './endpoint.ts'
import { createSlots, type SlotOptions, type TryResult } from './slots.ts'

/** Delivers the events of the store to the tenants' endpoints. */
export interface Deliveries {
  /** Replaces the endpoints. */
  setEndpoints(endpoints: readonly Endpoint[]): void
  /** To be called when an event of a tenant was stored: it is delivered at once. */
  wake(tenant: string): void
  /** Looks for deliveries that are due; resolves when they have started. */
  poll(): Promise<void>
  /** Resolves when no try is under way. */
  idle(): Promise<void>
  /** Starts no more tries, and interrupts those that last longer than this. */
  close(graceMs: number): Promise<void>
}

export interface DeliveriesDeps extends DeliverDeps {
  readonly events: Pick<Events, 'keepBody' | 'finishTry' | 'tenantsWithDue' | 'leaseEvents'>
  readonly log: Logger
  readonly slots?: SlotOptions
  /**
   * How often the process looks for what others left: retries, and events of other processes.
   * @default 1000
   */
  readonly pollEveryMs?: number
}

const POLL_EVERY_MS = 1_000

/** Starts delivering. */
export function startDeliveries(deps: DeliveriesDeps): Deliveries {
  const { events, log, leaseMs = LEASE_MS, pollEveryMs = POLL_EVERY_MS } = deps
  const deliver = createDeliver(deps)
  const slots = createSlots(deps.slots)
  const closing = new AbortController()
  /** Look-ups and tries that are under way. */
  const work = new Set<Promise<void>>()
  /** Tenants that are being looked at; true: look once more. */
  const looking = new Map<string, boolean>()
  let endpoints: ReadonlyMap<string, Endpoint> = new Map()
  let closed = false
  let isStoreDown = false

  function track(task: Promise<void>): Promise<void> {
    const tracked = task.finally(() => work.delete(tracked))
    work.add(tracked)
    return tracked
  }

  const start = (tenant: string): Promise<void> => track(startDue(tenant))

  /** Starts the tries of a tenant that are due, as far as it has free slots. */
  async function startDue(tenant: string): Promise<void> {
    if (looking.has(tenant)) {
      looking.set(tenant, true)
      return
    }
    looking.set(tenant, false)
    try {
      do {
        looking.set(tenant, false)
        await leaseAndStart(tenant)
      } while (looking.get(tenant))
      isStoreDown = false
    } catch (error) {
      noteFailure(error)
    } finally {
      looking.delete(tenant)
    }
  }

  async function leaseAndStart(tenant: string): Promise<void> {
    const endpoint = endpoints.get(tenant)
    const free = slots.free(tenant)
    if (closed || !endpoint || free === 0 || (await events.tenantsWithDue([tenant])).length === 0) return
    const leasedAt = currentMoment()
    for (const event of await events.leaseEvents(tenant, free, leaseMs)) {
      slots.take(tenant)
      void track(makeTry({ event, endpoint, leasedAt, signal: closing.signal }))
    }
  }

  async function makeTry(delivery: Delivery): Promise<void> {
    const { tenant } = delivery.endpoint
    let result: TryResult = 'none'
    try {
      result = await deliver(delivery)
    } catch (error) {
      noteFailure(error)
    }
    slots.release(tenant, result)
    void start(tenant)
  }

  /** An event whose try could not be stored is due again after its lease. */
  function noteFailure(err: unknown): void {
    if (!isStoreDown) log.warn({ err }, 'deliveries wait for the store')
    isStoreDown = true
  }

  async function poll(): Promise<void> {
    const tenants = [...endpoints.keys()].filter((tenant) => slots.free(tenant) > 0)
    if (closed || tenants.length === 0) return
    try {
      // One after the other: the leases of a thousand tenants would take every connection to the store at once.
      for (const tenant of await events.tenantsWithDue(tenants)) await start(tenant)
    } catch (error) {
      noteFailure(error)
    }
  }

  let current: Promise<void> | undefined
  const polling = setInterval(() => {
    current ??= poll().finally(() => {
      current = undefined
    })
  }, pollEveryMs)

  async function idle(): Promise<void> {
    while (work.size > 0) await Promise.all(work)
  }

  return {
    setEndpoints(list) {
      endpoints = new Map(list.map((endpoint) => [endpoint.tenant, endpoint]))
    },
    wake: (tenant) => void start(tenant),
    poll,
    idle,
    async close(graceMs) {
      closed = true
      clearInterval(polling)
      const timer = setTimeout(() => closing.abort(), graceMs)
      await current
      await idle()
      clearTimeout(timer)
    },
  }
}
