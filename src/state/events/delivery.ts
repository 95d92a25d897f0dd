import { eventStatuses } from '../../../mappings/shipment-event.ts'
import type { Config } from '../../language/config/config.ts'
import { NO_NAMES, type ServiceEvent, type ShipmentNames, statusTold } from '../../language/mapping/callback.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import { valueAt } from '../../language/mapping/paths.ts'
import { parseJson } from '../../language/text/json.ts'
import type { CallbackBody, StoredEvent, TryOutcome } from '../../outside/store/events.ts'
import type { Store } from '../../outside/store/store.ts'
import type { Logger } from '../../runtime/log.ts'
import { createCounter, createHistogram, labelledGauge } from '../../runtime/metrics.ts'
import { currentMoment, elapsedSince, oneAtATime } from '../../runtime/time.ts'
import { numberIn } from '../bookings/bookings.ts'
import type { Leases } from '../bookings/leases.ts'
import { type CallbackEndpoint, createPost, type Resolve, shownUrl, type TryResult } from './callback.ts'
import { partsOfEvent, UNNAMED } from './receive.ts'
import { createSweep } from './sweep.ts'

/** How a tenant's deliveries went since this gateway started. */
interface TriesOfTenant {
  readonly tries: number
  readonly delivered: number
  /** The last answer or failure, and when it came; undefined before a try. */
  readonly last: { readonly outcome: string; readonly at: number } | undefined
}

/** The parts of delivery that tests replace. */
export interface DeliveryOptions {
  /** How long a try may take in total. @default 20000 */
  readonly timeoutMs?: number | undefined
  /** @default the name servers of the machine */
  readonly resolve?: Resolve
  /**
   * How often the process looks for work that nothing wakes: retries, and events of other processes.
   * @default 1000
   */
  readonly pollEveryMs?: number
  /** How long a lease lasts while its gateway lives. @default 60000 */
  readonly leaseMs?: number
  /** The most tries of one tenant at once. @default 8 */
  readonly slots?: number
}

const POLL_EVERY_MS = 1_000
const LEASE_MS = 60_000
/** The share of a lease after which no try starts any more: with its time limit, it could end after the lease. */
const START_WITHIN = 0.5
const TENANTS_AT_ONCE = 8
/** The most concurrent tries for one tenant, so that no receiver gets too many at once. */
const SLOTS = 8
/** The most concurrent tries for all tenants, besides the one that every tenant has for itself. */
const SHARED_SLOTS = 256

/** An event may arrive before the reply of the booking that made its shipment. After that reply's time-out, a read still finds the names. */
const WAIT_AFTER_BOOKING_MS = 10_000
const LOOK_FOR_NAMES_EVERY_MS = 1_000

const NO_TRIES = { tries: 0, delivered: 0, last: undefined } as const
const INTERRUPTED: TryOutcome = { state: 'due', outcome: 'interrupted by a shutdown', isFailure: false }

const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3_600, 21_600, 86_400, 259_200]

/** Starts delivering the store's events to the tenants' endpoints. */
export function startDelivery(
  deps: DeliveryOptions & {
    readonly resolve: Resolve
    readonly store: Store
    readonly catalog: Catalog
    readonly log: Logger
    readonly config: Pick<Config, 'UPSTREAM_TIMEOUT_MS'>
    /** Returns the status that the service shows for an event's shipment; undefined if it shows none. */
    readonly statusOf: (event: StoredEvent) => Promise<string | undefined>
    /** The gateway's lease, which ends the leases of its events. */
    readonly leases: Pick<Leases, 'instance' | 'hold'>
  },
) {
  const { store, catalog, log, config, statusOf, leases: own } = deps
  const { pollEveryMs = POLL_EVERY_MS, leaseMs = LEASE_MS, slots = SLOTS } = deps
  const post = createPost(deps)
  const closing = new AbortController()
  /** The tries that are under way, by tenant. */
  const tries = new Map<string, Set<Promise<void>>>()
  /** How many replies in a row have asked for fewer deliveries, by tenant. */
  const slowReplies = new Map<string, number>()
  const records = new Map<string, TriesOfTenant>()
  let endpoints: ReadonlyMap<string, CallbackEndpoint> = new Map()
  let closed = false
  let isStoreDown = false
  let lookForAbandonedAt = Number.NEGATIVE_INFINITY

  const tried = createCounter('transload_delivery_tries_total', 'Delivery attempts by tenant and outcome.', [
    'tenant',
    'outcome',
  ])
  const seconds = createHistogram(
    'transload_delivery_seconds',
    'Time from the event to its delivery.',
    ['tenant'],
    SECONDS,
  )
  const open = () => store.openEvents().catch(() => [])

  /** Returns how many more tries a tenant may start now. Every tenant has one try that other tenants' slow receivers cannot take. */
  function freeSlots(tenant: string): number {
    const taken = tries.get(tenant)?.size ?? 0
    const shared = [...tries.values()].reduce((sum, { size }) => sum + size - 1, 0)
    return Math.min(slots - taken, (taken === 0 ? 1 : 0) + Math.max(0, SHARED_SLOTS - shared))
  }

  const leases = createSweep(TENANTS_AT_ONCE, async (tenant) => {
    const endpoint = endpoints.get(tenant)
    const free = freeSlots(tenant)
    if (closed || !endpoint || free === 0) return
    try {
      if ((await store.tenantsWithDue([tenant])).length === 0) return
      const isHeld = await own.hold()
      const leasedAt = currentMoment()
      const mayStart = () => isHeld() && elapsedSince(leasedAt) <= leaseMs * START_WITHIN
      for (const event of await store.leaseEvents(tenant, free, leaseMs, own.instance)) start(event, endpoint, mayStart)
      isStoreDown = false
    } catch (error) {
      noteFailure(error)
    }
  })

  function start(event: StoredEvent, endpoint: CallbackEndpoint, mayStart: () => boolean): void {
    const { tenant } = endpoint
    const underWay = tries.get(tenant) ?? new Set()
    tries.set(tenant, underWay)
    const done = deliver(event, endpoint, mayStart)
      .catch(noteFailure)
      .finally(() => {
        underWay.delete(done)
        if (underWay.size === 0) tries.delete(tenant)
        leases.wake(tenant)
      })
    underWay.add(done)
  }

  /** Logs that a try could not be stored; its event is due again after its lease. */
  function noteFailure(err: unknown): void {
    if (!isStoreDown) log.warn({ err }, 'deliveries are waiting for the store')
    isStoreDown = true
  }

  /** Makes one try of a leased event, and stores its result. */
  async function deliver(event: StoredEvent, endpoint: CallbackEndpoint, mayStart: () => boolean): Promise<void> {
    // The operator may have changed the format since the last try.
    const kept = event.body?.format === endpoint.format ? event.body : undefined
    const body = kept ?? (await render(event, endpoint))
    if ('state' in body) return void (await store.finishTry(event, body))
    if (!kept && !(await store.keepBody(event, body))) return
    if (closing.signal.aborted || !mayStart()) return
    const { signal } = closing
    const reply = await post(endpoint, { id: event.id, body, at: Date.now(), signal })
    const isInterrupted = reply.kind === 'failed' && signal.aborted
    const end = isInterrupted ? INTERRUPTED : verdictOn(event, reply)
    const isCurrent = await store.finishTry(event, end)
    const { tries: made, delivered } = records.get(event.tenant) ?? NO_TRIES
    records.set(event.tenant, {
      tries: made + 1,
      delivered: delivered + Number(end.state === 'delivered'),
      last: { outcome: end.outcome, at: store.now() },
    })
    tried.add(1, event.tenant, end.state === 'due' ? 'failed' : end.state)
    if (!isCurrent) return
    if (end.state === 'delivered') seconds.observeMs(store.now() - event.receivedAt, event.tenant)
    if (!isInterrupted) tell(event, end, endpoint)
  }

  /** Returns the body for every try, or the result of this one if there is no body. */
  async function render(event: StoredEvent, endpoint: CallbackEndpoint): Promise<CallbackBody | TryOutcome> {
    // Parked when it came, and replayed by an operator, perhaps with others: its caller could make nothing of it.
    const fault = event.shipment === '' || event.event === UNNAMED ? faultOf(event) : undefined
    if (fault !== undefined) return { state: 'parked', outcome: fault, isFailure: false }
    let names = await namesOf(event)
    const waitMs = config.UPSTREAM_TIMEOUT_MS + WAIT_AFTER_BOOKING_MS
    const mayBeNamed = !names && store.now() - event.receivedAt < waitMs
    if (mayBeNamed && (await hasOpenBooking(event.tenant))) {
      // Looked up again, because the booking may have been recorded since.
      names = await namesOf(event)
      const waits = { outcome: event.outcome, isFailure: false, retryInMs: LOOK_FOR_NAMES_EVERY_MS }
      if (!names) return { state: 'due', ...waits }
    }
    names ??= await namesOfQuote(event)
    try {
      const told = storedEvent(event)
      const status = statusTold(told, eventStatuses) === undefined ? await statusOf(event) : undefined
      const body = renderEvent(told, { ...names, status }, endpoint, catalog)
      return body ?? { state: 'skipped', outcome: 'no callback is declared for this event', isFailure: false }
    } catch (err) {
      // It would fail at every try.
      log.error({ event: event.id, tenant: event.tenant, err }, 'an event cannot be translated, and is parked')
      return { state: 'parked', outcome: 'cannot be translated' }
    }
  }

  /** Returns the caller's names for an event's shipment; undefined if none is known. */
  async function namesOf({ tenant, shipment }: StoredEvent): Promise<ShipmentNames | undefined> {
    const claim = (await store.claimsOfShipment(tenant, shipment)).at(-1)
    const own = (await store.shipment(tenant, shipment))?.own
    if (!claim && !own) return undefined
    return { own: own || undefined, number: claim && numberIn(claim), reference: claim?.reference || undefined }
  }

  /** Returns the caller's names for an event of a quote, or of its shipment before the approval is recorded. */
  async function namesOfQuote({ tenant, shipment }: StoredEvent): Promise<ShipmentNames> {
    return { ...NO_NAMES, own: (await store.quote(tenant, shipment))?.own || undefined }
  }

  /** Reports whether a booking of the tenant may still get the shipment of an event: it is under way, or its outcome is not known. */
  async function hasOpenBooking(tenant: string): Promise<boolean> {
    const { sending, unknown } = await store.countClaims(1, tenant)
    return sending !== 0 || unknown !== 0
  }

  /** Decides what happens to an event after a try. */
  function verdictOn({ tenant, failures }: StoredEvent, reply: TryResult): TryOutcome {
    if (reply.kind === 'refused') return { state: 'parked', outcome: reply.reason }
    if (reply.kind === 'failed') return nextTry(failures + 1, reply.reason, 0)
    const { status } = reply
    const outcome = `answered ${status}`
    const waitMs = retryAfterMs(reply.retryAfter, store.now())
    if (SLOW_DOWN.has(status)) {
      const slow = (slowReplies.get(tenant) ?? 0) + 1
      slowReplies.set(tenant, slow)
      const growingMs = Math.min(FIRST_SLOWDOWN_MS * 2 ** (slow - 1), LONGEST_SLOWDOWN_MS)
      return { ...nextTry(failures + 1, outcome, waitMs), endpoint: { pauseMs: Math.max(growingMs, waitMs) } }
    }
    slowReplies.delete(tenant)
    if (status >= 200 && status < 300) return { state: 'delivered', outcome }
    return status === GONE
      ? { state: 'due', outcome, endpoint: { stop: true } }
      : nextTry(failures + 1, outcome, waitMs)
  }

  function tell({ id, tenant, event, failures }: StoredEvent, end: TryOutcome, { url }: CallbackEndpoint): void {
    const line = { event: id, kind: event, tenant, url: shownUrl(url), outcome: end.outcome }
    if (end.state === 'parked') log.error({ ...line, failures: failures + 1 }, 'an event is parked')
    if (end.endpoint && 'stop' in end.endpoint) log.error(line, 'an endpoint has stopped its deliveries')
  }

  /**
   * Parks the events of tenants that have no callback any more, once a receiver that never answers would have had its last try. Another
   * gateway on the store may know the tenant: by then, it has tried an event of the shipment.
   */
  async function parkAbandoned(): Promise<void> {
    const until = store.now() - LONGEST_WAIT_MS
    if (until < lookForAbandonedAt) return
    const events = await store.abandonedEvents([...endpoints.keys()], until)
    for (const event of events) {
      await store.finishTry(event, NO_CALLBACK)
      const { id, event: kind, tenant } = event
      log.error({ event: id, kind, tenant, outcome: NO_CALLBACK.outcome }, 'an event is parked')
    }
    if (events.length === 0) lookForAbandonedAt = until + HOUR_MS
  }

  async function poll(): Promise<void> {
    if (closed) return
    try {
      await parkAbandoned()
      const tenants = [...endpoints.keys()].filter((tenant) => freeSlots(tenant) > 0)
      if (tenants.length > 0) for (const tenant of await store.tenantsWithDue(tenants)) leases.wake(tenant)
    } catch (error) {
      noteFailure(error)
    }
  }

  const polls = oneAtATime(poll)
  let timer: NodeJS.Timeout | undefined

  async function idle(): Promise<void> {
    do {
      await leases.idle()
      await Promise.all([...tries.values()].flatMap((underWay) => [...underWay]))
    } while (tries.size > 0)
    await leases.idle()
  }

  return {
    /** Replaces the endpoints. */
    setEndpoints: (list: readonly CallbackEndpoint[]): void => {
      endpoints = new Map(list.map((endpoint) => [endpoint.tenant, endpoint]))
    },
    /** To be called when an event of a tenant was stored, which is then delivered at once. */
    wake: leases.wake,
    /** Starts to look for work that nothing wakes: retries, and events of other processes. */
    start: (): void => {
      timer = setInterval(polls.run, pollEveryMs)
    },
    /** Looks for due events; resolves when their tenants are woken. */
    poll,
    /** Resolves when no try is under way. */
    idle,
    /** Returns the endpoints, and how their deliveries went since the start. */
    callbacks: () =>
      [...endpoints.values()].map(({ tenant, url }) => ({
        tenant,
        url: shownUrl(url),
        ...(records.get(tenant) ?? NO_TRIES),
      })),
    metrics: [
      tried.metric,
      seconds.metric,
      labelledGauge('transload_delivery_events', 'Events that are due or parked, by tenant.', async () =>
        (await open()).map(({ tenant, state, count }) => ({ labels: { tenant, state }, value: count })),
      ),
      labelledGauge('transload_delivery_oldest_seconds', 'Age of the oldest event that is due or parked.', async () =>
        (await open()).map(({ tenant, state, oldest }) => ({
          labels: { tenant, state },
          value: Math.max(0, store.now() - oldest) / 1_000,
        })),
      ),
      labelledGauge('transload_delivery_stopped', 'Endpoints that have stopped their deliveries.', async () =>
        (await store.endpoints().catch(() => []))
          .filter(({ stopped }) => stopped)
          .map(({ tenant }) => ({ labels: { tenant }, value: 1 })),
      ),
    ],
    /** Starts no more tries, and interrupts those that take longer than `graceMs`. */
    close: async (graceMs: number): Promise<void> => {
      closed = true
      clearInterval(timer)
      const late = setTimeout(() => closing.abort(), graceMs)
      await polls.current()
      await idle()
      clearTimeout(late)
    },
  }
}

/** Renders an event in a tenant's format; undefined if no callback is declared for it. */
export function renderEvent(
  event: ServiceEvent,
  names: ShipmentNames,
  { format, settings }: CallbackEndpoint,
  { callbackOf }: Catalog,
): CallbackBody | undefined {
  const fields = callbackOf(event.event)?.translate(event, { settings, names, statuses: eventStatuses })
  if (!fields) return undefined
  return { format, text: format === 'json' ? JSON.stringify(fields) : String(new URLSearchParams(fields)) }
}

/** Returns what an event lacks of the shape that is known; undefined if nothing. */
const faultOf = ({ payload }: StoredEvent) => partsOfEvent(Object(parseJson(payload))).fault

/** Reads the event in a stored payload. */
function storedEvent({ payload, shipment, event, date }: StoredEvent): ServiceEvent {
  // Keeps all digits of numbers.
  const data = valueAt(parseJson(payload), ['data'])
  return { shipment_id: shipment, event, event_date: date, ...(data !== undefined && { data }) }
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** The pauses before the second and each later try: 75 hours and 35 minutes in total. After the last try, an event is parked. */
const PAUSES_MS: readonly number[] = [
  5 * SECOND_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
]
/** Pauses vary by up to this share, to spread out the deliveries to an endpoint that was down. */
const JITTER = 0.1
const LONGEST_WAIT_MS = PAUSES_MS.reduce((sum, pauseMs) => sum + pauseMs * (1 + JITTER), 0)
const NO_CALLBACK: TryOutcome = { state: 'parked', outcome: 'the tenant has no callback', isFailure: false }
const LONGEST_RETRY_AFTER_MS = 24 * HOUR_MS

const GONE = 410
/** Statuses that ask for fewer deliveries: the whole endpoint pauses, for longer with every such reply in a row. */
const SLOW_DOWN: ReadonlySet<number> = new Set([429, 502, 504])
const FIRST_SLOWDOWN_MS = 5 * SECOND_MS
const LONGEST_SLOWDOWN_MS = 5 * MINUTE_MS

/** Returns the outcome after this many failures; the endpoint may have asked for a longer pause. */
function nextTry(failures: number, outcome: string, waitMs: number): TryOutcome {
  const pauseMs = PAUSES_MS[failures - 1]
  if (pauseMs === undefined) return { state: 'parked', outcome }
  const spreadMs = pauseMs * (1 + JITTER * (2 * Math.random() - 1))
  return { state: 'due', outcome, retryInMs: Math.round(Math.max(spreadMs, waitMs)) }
}

/** Reads a `Retry-After` header, in seconds or as a date (RFC 9110), up to a day; 0 if there is none or it cannot be read. */
function retryAfterMs(header: unknown, now: number): number {
  if (typeof header !== 'string') return 0
  const waitMs = /^\d+$/.test(header) ? Number(header) * SECOND_MS : Date.parse(header) - now
  return waitMs > 0 ? Math.min(waitMs, LONGEST_RETRY_AFTER_MS) : 0
}
