import type { ShipmentNames } from '../mapping/callback.ts'
import type { Logger } from '../observe/log.ts'
import { elapsedSince, type Moment } from '../store/elapsed.ts'
import type { CallbackBody, Events, StoredEvent, TryOutcome } from '../store/events.ts'
import type { Store } from '../store/store.ts'
import { type Endpoint, shownUrl } from './endpoint.ts'
import type { DeliveryCounters } from './metrics.ts'
import type { Post, Reply } from './post.ts'
import { hasOpenBooking, NO_NAMES, namesOf, type RenderDeps, renderEvent, storedEvent } from './render.ts'
import { TRIES, warningAt } from './schedule.ts'
import type { TryResult } from './slots.ts'
import { asksToSlowDown, verdictOf } from './verdict.ts'

/** How long a lease lasts. */
export const LEASE_MS = 60_000
/** The share of a lease after which a try does not start any more: with its time limit, it could end after the lease. */
const START_WITHIN = 0.5

/** An event may arrive before the reply of the booking that made its shipment. */
const WAIT_FOR_NAMES_MS = 10_000
const LOOK_FOR_NAMES_EVERY_MS = 1_000

export interface DeliverDeps extends RenderDeps {
  readonly events: Pick<Events, 'keepBody' | 'finishTry'>
  readonly now: Store['now']
  readonly post: Post
  readonly log: Logger
  readonly counters: DeliveryCounters
  /** The time of signatures, in milliseconds since 1970; receivers compare it with their clocks. */
  readonly wallClock: () => number
  /** How long a lease lasts. @default LEASE_MS */
  readonly leaseMs?: number
}

/** One leased event. */
export interface Delivery {
  readonly event: StoredEvent
  readonly endpoint: Endpoint
  readonly leasedAt: Moment
  /** Ends the try: the gateway shuts down. */
  readonly signal: AbortSignal
}

/** Makes one try of a leased event, and stores its end. */
export type Deliver = (delivery: Delivery) => Promise<TryResult>

/** Makes the function that delivers. */
export function createDeliver(deps: DeliverDeps): Deliver {
  const { events, now, post, log, counters, leaseMs = LEASE_MS } = deps
  /** How many replies in a row have asked for fewer deliveries, by tenant. */
  const slowReplies = new Map<string, number>()

  /** Returns the body of every try; or the end of this one, where there is none. */
  async function bodyOf(event: StoredEvent, endpoint: Endpoint): Promise<CallbackBody | TryOutcome | undefined> {
    if (event.body) return event.body
    const isYoung = now() - event.receivedAt < WAIT_FOR_NAMES_MS
    let names = await namesOf(event, deps)
    if (!names && isYoung) {
      const isBooking = await hasOpenBooking(event.tenant, deps)
      // Again: the booking may have been recorded since.
      names = await namesOf(event, deps)
      if (!names && isBooking)
        return { state: 'due', outcome: event.outcome, isFailure: false, retryInMs: LOOK_FOR_NAMES_EVERY_MS }
    }
    const body = rendered(event, names ?? NO_NAMES, endpoint)
    if (!body) return { state: 'skipped', outcome: 'no callback is declared for this event', isFailure: false }
    if ('state' in body) return body
    return (await events.keepBody(event, body)) ? body : undefined
  }

  /** An event that fails a callback would fail it at every try. */
  function rendered(
    event: StoredEvent,
    names: ShipmentNames,
    endpoint: Endpoint,
  ): CallbackBody | TryOutcome | undefined {
    try {
      return renderEvent(storedEvent(event), names, endpoint, deps.catalog)
    } catch (err) {
      log.error({ event: event.id, tenant: event.tenant, err }, 'an event cannot be translated, and is parked')
      return { state: 'parked', outcome: 'cannot be translated' }
    }
  }

  function outcomeOf(event: StoredEvent, reply: Reply, signal: AbortSignal): TryOutcome {
    if (reply.kind === 'failed' && signal.aborted) {
      return { state: 'due', outcome: 'interrupted by a shutdown', isFailure: false }
    }
    const { tenant } = event
    const slow = asksToSlowDown(reply) ? (slowReplies.get(tenant) ?? 0) + 1 : 0
    if (slow > 0) slowReplies.set(tenant, slow)
    else if (reply.kind === 'answered') slowReplies.delete(tenant)
    return verdictOf({ event, reply, slowReplies: slow, now: now() })
  }

  function tell({ id, tenant, event, failures: before }: StoredEvent, end: TryOutcome, endpoint: Endpoint): void {
    const failures = before + 1
    const line = { event: id, kind: event, tenant, url: shownUrl(endpoint.url), outcome: end.outcome }
    if (end.state === 'parked') log.error({ ...line, failures }, 'an event is parked')
    if (end.endpoint && 'stop' in end.endpoint) log.error(line, 'an endpoint has stopped its deliveries')
    const percent = end.state === 'due' && end.isFailure !== false ? warningAt(failures) : undefined
    if (percent === undefined) return
    counters.warned(tenant, percent)
    log.warn({ ...line, failures, tries: TRIES }, `an event has used ${percent} % of its tries`)
  }

  return async ({ event, endpoint, leasedAt, signal }) => {
    const found = await bodyOf(event, endpoint)
    if (!found || elapsedSince(leasedAt) > leaseMs * START_WITHIN || signal.aborted) return 'none'
    if ('state' in found) {
      await events.finishTry(event, found)
      return 'none'
    }
    const reply = await post(endpoint, { id: event.id, body: found, at: deps.wallClock(), signal })
    const end = outcomeOf(event, reply, signal)
    const isCurrent = await events.finishTry(event, end)
    counters.tried(event.tenant, end, isCurrent && end.state === 'delivered' ? now() - event.receivedAt : undefined)
    if (isCurrent) tell(event, end, endpoint)
    if (end.isFailure === false) return 'none'
    return end.state === 'delivered' ? 'delivered' : 'failed'
  }
}
