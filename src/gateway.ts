import { createAdmin } from './admin.ts'
import { type AppDeps, createApp } from './app.ts'
import { createErrorAnswers, createRefusalAnswers } from './edge/answers.ts'
import { createBrowserChecks } from './edge/callers/browsers.ts'
import { createShares } from './edge/callers/limits.ts'
import { openCredentials } from './edge/callers/open.ts'
import { createProve } from './edge/callers/prove.ts'
import { LISTENER_TIMEOUTS, type ListenerTimeouts, openListeners } from './edge/listener.ts'
import { createRouter } from './edge/routing.ts'
import type { Config } from './language/config/config.ts'
import { translationSettings } from './language/config/translation-settings.ts'
import { programVersion } from './language/config/version.ts'
import type { Catalog } from './language/mapping/catalog.ts'
import { compileNetworks } from './language/networks.ts'
import { clientIdOf } from './outside/service/credential.ts'
import { createService } from './outside/service/service.ts'
import { openUpstream } from './outside/service/upstream.ts'
import { newInstance } from './outside/store/instance.ts'
import { observeStore } from './outside/store/observed.ts'
import type { Store } from './outside/store/store.ts'
import { observeDrift } from './runtime/drift.ts'
import type { Logger } from './runtime/log.ts'
import { createMeters } from './runtime/metrics.ts'
import { openRecorder } from './runtime/record.ts'
import { createReloads } from './runtime/reloads.ts'
import { openSignals } from './runtime/signals.ts'
import { openTracing } from './runtime/tracing.ts'
import { openBookings, pendingBookings } from './state/bookings/bookings.ts'
import type { DeliveryOptions } from './state/events/delivery.ts'
import { openServiceEvents } from './state/events/events.ts'
import { openNames } from './state/names/names.ts'
import { createEndOfCall, openUseCounts } from './state/uses/end-of-call.ts'
import { openPruning } from './state/uses/pruning.ts'

/** The dependencies and options of a gateway, besides its configuration. */
export interface GatewayParts {
  readonly catalog: Catalog
  readonly store: Store
  readonly log: Logger
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
  /** Takes no more calls, finishes those under way, and closes. The store stays open: the caller opened it. */
  readonly close: () => Promise<void>
}

/** Builds a gateway from its parts and opens its listeners. */
export async function openGateway(config: Config, parts: GatewayParts): Promise<Gateway> {
  const opened = new AsyncDisposableStack()
  try {
    return await open(config, parts, opened)
  } catch (error) {
    // A timer that is left would keep the process alive.
    await opened.disposeAsync()
    throw error
  }
}

/** Builds and opens a gateway. Each part is added to those that are opened, which close in the other order. */
async function open(
  config: Config,
  {
    catalog,
    store: unobserved,
    log,
    adminPort = config.ADMIN_PORT || undefined,
    timeouts = LISTENER_TIMEOUTS,
    callbacks,
    countsEveryMs,
    pruneEveryMs,
    sweepEveryMs,
  }: GatewayParts,
  opened: AsyncDisposableStack,
): Promise<Gateway> {
  const meters = createMeters()
  const { store, pending } = observeStore(unobserved, meters.storeSeconds)
  const upstream = openUpstream(config, meters)
  opened.defer(upstream.close)
  const service = createService(config, upstream, meters.retries)
  const settings = translationSettings(config)
  const prove = createProve(service, config.UPSTREAM_TIMEOUT_MS)
  const pruning = openPruning({ config, store, log, lookEveryMs: pruneEveryMs })
  opened.defer(pruning.close)
  const names = openNames(store, config.QUOTE_MEMORY, pruning.noteUse)
  const instance = newInstance()
  /** The parts that most others need. */
  const parts = { config, catalog, store, log, upstream, service, settings, prove, names, instance }
  const shares = createShares(config, config.TRUST_PROXY && compileNetworks(config.TRUST_PROXY))
  const events = openServiceEvents(config, {
    ...parts,
    credentials: () => credentials,
    hold: () => leases.hold(),
    bodyLimitBytes: shares.largestBodyBytes,
    callbacks,
    sweepEveryMs,
  })
  let closing: Promise<void> | undefined
  const closeEvents = () => (closing ??= events.close(config.SHUTDOWN_GRACE_MS))
  opened.defer(closeEvents)
  const browserChecks = createBrowserChecks(config.ALLOWED_HOSTS)
  const reloads = createReloads(store.now)
  const credentials = openCredentials({
    ...parts,
    reloads,
    browserChecks,
    actions: new Set(catalog.actions.keys()),
    onTenants: events.setTenants,
  })
  opened.defer(credentials.close)
  const recorder = openRecorder({ ...config, catalog, log })
  opened.defer(async () => recorder?.close())
  const drift = observeDrift(catalog, log)
  const uses = openUseCounts({ ...parts, everyMs: countsEveryMs })
  opened.defer(uses.close)
  const { bookings, leases, isWhole } = await openBookings(config, {
    ...parts,
    onUnknown: events.onUnknown,
    outcomes: meters.bookings,
  })
  opened.defer(leases.end)
  // A booking goes on after its caller has hung up, and beyond the grace: one that is lost in the middle is worse than a late end.
  opened.defer(bookings.drain)
  const brownouts = () => credentials.deprecations().map(([tenant, { windows }]) => ({ tenant, windows }))
  const signals = openSignals({
    version: programVersion(),
    usage: shares.total,
    upstream: upstream.stats,
    circuits: service.circuits,
    brownouts,
    meters,
    more: [
      pending,
      pendingBookings(unobserved),
      ...pruning.metrics,
      ...events.metrics,
      drift.metric,
      ...reloads.metrics,
    ],
    now: store.now,
    log,
  })
  opened.defer(signals.stop)
  const route = createRouter(catalog.endpoints, config.LEGACY_BASE_PATHS)
  const answerError = createErrorAnswers(config, catalog)
  const tracing = await openTracing({ ...config, engine: store.engine })
  let draining = false
  const ready = () => store.ready() && isWhole() && !draining
  const deps: AppDeps = {
    config,
    catalog,
    bodyLimitBytes: Math.min(config.BODY_LIMIT_BYTES, shares.largestBodyBytes),
    settings,
    credentials,
    browserChecks,
    prove,
    service,
    address: { ...config.V2_BASE_URL, scheme: config.V2_TOKEN },
    inspect: drift.inspect,
    onNotServed: ({ method, path }, status) =>
      log.error({ method, path, status }, 'the service does not serve this call; check V2_BASE_URL'),
    receiveEvent: events.receive,
    exclusive: store.exclusive,
    approvalBooks: config.APPROVAL_BOOKS,
    names,
    bookings,
    replayCheckAfterMs: config.REPLAY_CHECK_AFTER,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    now: store.now,
    upstream,
    readerTimeoutMs: timeouts.replyMs,
    tracing,
    endCall: createEndOfCall({
      ...config,
      log,
      meters,
      countUse: uses.count,
      clientOf: clientIdOf,
      tracing,
      recorder,
    }),
    ready,
    route,
    answerError,
    recorder,
    shares,
  }
  const { url, adminUrl, close } = await openListeners({
    config,
    app: createApp(deps),
    admin: createAdmin({
      config,
      browserChecks,
      ready,
      store,
      metrics: signals.metrics,
      reloads,
      catalog,
      tenants: credentials.tenants,
      brownouts,
      destination: deps,
      settings,
      sunset: config.RETIRED_FROM ?? config.SUNSET,
    }),
    adminPort,
    answerRefusal: createRefusalAnswers(answerError, route),
    connect: shares.connect,
    timeouts,
    log,
    reloads,
  })
  // What hangs at events ends with the grace of the calls, not after it.
  opened.defer(async () => void (await Promise.all([close(), closeEvents()])))
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
