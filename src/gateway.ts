import { createAdmin } from './admin.ts'
import { createErrorAnswers, createRefusalAnswers } from './edge/answers.ts'
import { mostExplainedBytes } from './edge/body/receive.ts'
import { createBrowserChecks } from './edge/callers/browsers.ts'
import { createProve } from './edge/callers/client.ts'
import { openCallers } from './edge/callers/open.ts'
import { LISTENER_TIMEOUTS, type ListenerTimeouts } from './edge/connections.ts'
import { createShares } from './edge/limits/shares.ts'
import { openListeners } from './edge/listener.ts'
import { createRouter } from './edge/routing.ts'
import type { Config } from './language/config/config.ts'
import { translationSettings } from './language/config/translation-settings.ts'
import type { Catalog } from './language/mapping/catalog.ts'
import { compileNetworks } from './language/networks.ts'
import { openService } from './outside/service/service.ts'
import { observeStore } from './outside/store/observed.ts'
import type { Store } from './outside/store/store.ts'
import { createApp, type GatewayRooms, type Pages } from './routes.ts'
import { observeDrift } from './runtime/drift.ts'
import type { Logger } from './runtime/log.ts'
import { createMeters } from './runtime/metrics.ts'
import { openRecorder } from './runtime/recorder.ts'
import { createReloads } from './runtime/reloads.ts'
import { openSignals } from './runtime/signals.ts'
import { openTracing } from './runtime/tracing.ts'
import { openBookings } from './state/bookings/bookings.ts'
import { pendingBookings } from './state/bookings/listing.ts'
import type { DeliveryOptions } from './state/events/delivery.ts'
import { openEvents } from './state/events/events.ts'
import { openNames } from './state/names/names.ts'
import { openUseCounts } from './state/uses/counts.ts'
import { createEndOfCall } from './state/uses/end-of-call.ts'
import { openPruning } from './state/uses/pruning.ts'

/** The dependencies and options of a gateway, besides its configuration. */
export interface GatewayParts {
  readonly catalog: Catalog
  readonly store: Store
  readonly log: Logger
  /** Makes the pages, which only read. */
  readonly pages: (rooms: GatewayRooms) => Pages
  /**
   * The port of the admin listener; 0 is any free port.
   * @default `ADMIN_PORT`, where 0 turns the listener off
   */
  readonly adminPort?: number
  /** Of both listeners. @default LISTENER_TIMEOUTS */
  readonly timeouts?: ListenerTimeouts
  /** For tests: how callbacks are delivered. */
  readonly callbacks?: DeliveryOptions
  /** How often the counts of calls are stored. @default 10000 */
  readonly countsEveryMs?: number | undefined
  /** How often the gateway deletes old rows. @default once an hour */
  readonly pruneEveryMs?: number | undefined
  /** How often the gateway searches for the shipments of unknown bookings. @default SWEEP_EVERY_MS */
  readonly sweepEveryMs?: number | undefined
}

/** A gateway that is open. */
export interface Gateway {
  readonly url: string
  /** Undefined if the admin listener is turned off. */
  readonly adminUrl: string | undefined
  /** Accepts no more calls, finishes those under way, and closes. The store stays open, because the caller opened it. */
  readonly close: () => Promise<void>
}

/** Builds a gateway from its parts and opens its listeners. */
export async function openGateway(config: Config, parts: GatewayParts): Promise<Gateway> {
  const opened = new AsyncDisposableStack()
  try {
    return await open(config, parts, opened)
  } catch (error) {
    // A leftover timer would keep the process alive.
    await opened.disposeAsync()
    throw error
  }
}

/**
 * Opens the rooms of a gateway, each after the rooms that it uses. They close in reverse order, which is also the order of draining. If two
 * rooms need each other, the earlier one gets the later one in a second step, before the listeners open.
 */
async function open(config: Config, parts: GatewayParts, opened: AsyncDisposableStack): Promise<Gateway> {
  const { catalog, log, adminPort = config.ADMIN_PORT || undefined, timeouts = LISTENER_TIMEOUTS } = parts
  const { callbacks, sweepEveryMs } = parts
  const meters = createMeters()
  const settings = translationSettings(config)

  const { store, pending } = observeStore(parts.store, meters.storeSeconds)
  const base = { config, catalog, settings, store, log }
  const reloads = createReloads(store.now)

  const { service, upstream, address } = openService(config, meters)
  opened.defer(upstream.close)

  const shares = createShares(config, config.TRUST_PROXY && compileNetworks(config.TRUST_PROXY))
  const browserChecks = createBrowserChecks(config.ALLOWED_HOSTS)
  const prove = createProve(service, config.UPSTREAM_TIMEOUT_MS)
  const callers = openCallers({ ...base, upstream, prove, browserChecks, reloads })
  opened.defer(callers.close)

  const pruning = openPruning({ ...base, lookEveryMs: parts.pruneEveryMs })
  opened.defer(pruning.close)
  const names = openNames(store, config.QUOTE_MEMORY, log)

  const { bookings, leases, start: startBookings } = openBookings(base, meters.bookings)
  const events = openEvents({ ...base, service, callers, leases, callbacks, sweepEveryMs })
  opened.defer(events.close)
  const drift = observeDrift(catalog, log)
  const recorder = openRecorder({ ...base, ...config })
  opened.defer(async () => recorder?.close())
  const uses = openUseCounts({ ...base, instance: leases.instance, everyMs: parts.countsEveryMs })
  opened.defer(uses.close)
  opened.defer(leases.end)
  // A booking continues after its caller has hung up and beyond the grace period: a late end is better than a booking lost midway.
  opened.defer(bookings.drain)

  const signals = openSignals({
    meters,
    rooms: [
      ...shares.metrics,
      ...upstream.metrics,
      service.metric,
      pending,
      pendingBookings(parts.store),
      ...pruning.metrics,
      ...events.metrics,
      drift.metric,
      ...reloads.metrics,
    ],
    brownoutsOf: callers.brownouts,
    now: store.now,
    log,
  })
  opened.defer(signals.stop)
  const { metrics } = signals
  const tracing = await openTracing(config, store.engine)
  const answerError = createErrorAnswers(config, catalog)
  const route = createRouter(catalog.endpoints, config.LEGACY_BASE_PATHS)
  let draining = false
  const rooms: GatewayRooms = {
    ...base,
    service,
    upstream,
    address,
    shares,
    browserChecks,
    prove,
    callers,
    names,
    bookings,
    events,
    metrics,
    reloads,
    uses,
    tracing,
    recorder,
    endCall: createEndOfCall({ config, log, meters, uses, tracing, recorder }),
    answerError,
    route,
    ready: () => store.ready() && leases.isWhole() && !draining,
    inspect: drift.inspect,
    onNotServed: ({ method, path }, status) =>
      log.error({ method, path, status }, 'the service does not serve this call; check V2_BASE_URL'),
    mostExplainedBytes: Math.min(config.BODY_LIMIT_BYTES, mostExplainedBytes(shares.largestBodyBytes)),
    readerTimeoutMs: timeouts.replyMs,
  }
  const pages = parts.pages(rooms)
  opened.defer(pages.close)

  callers.tell(events.setTenants)
  await startBookings(events.onUnknown)
  const { url, adminUrl, close } = await openListeners({
    config,
    app: createApp(rooms, pages),
    admin: createAdmin(rooms, pages),
    adminPort,
    answerRefusal: createRefusalAnswers(answerError, route),
    connect: shares.connect,
    timeouts,
    log,
    reloads,
  })
  // Work on events ends within the calls' grace period, not after it.
  opened.defer(async () => void (await Promise.all([close(), events.close()])))
  events.start()
  return {
    url,
    adminUrl,
    close: () => {
      draining = true
      return opened.disposeAsync()
    },
  }
}
