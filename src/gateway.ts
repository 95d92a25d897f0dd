import type { AppDeps } from './app.ts'
import { createBookings } from './bookings/bookings.ts'
import { openEmergencyLog } from './bookings/emergency-log.ts'
import { keepLeases } from './bookings/leases.ts'
import { createBookingRecord } from './bookings/record.ts'
import { openCredentials } from './callers/open.ts'
import { createSourceLimits } from './callers/source-limits.ts'
import { createSendPlan } from './calls/send.ts'
import type { Config } from './config/config.ts'
import { translationSettings } from './config/translation-settings.ts'
import { type Listener, listen } from './http/listener.ts'
import { createRouter } from './http/routing.ts'
import type { TlsFiles } from './http/tls.ts'
import type { Catalog } from './mapping/catalog.ts'
import { compileNetworks } from './networks.ts'
import { createCallLog, type Logger } from './observe/log.ts'
import { createMetrics, type MetricsOptions } from './observe/metrics.ts'
import { openUpstream } from './service/open.ts'
import { createService } from './service/service.ts'
import { createShortcut } from './shortcut.ts'
import { newInstance } from './store/instance.ts'
import type { Store } from './store/store.ts'
import { createXref } from './xref/xref.ts'

/** What a gateway is opened with, besides its configuration. */
export interface GatewayParts {
  readonly catalog: Catalog
  readonly store: Store
  readonly log: Logger
  /**
   * Where the admin listener listens; 0 is any free port.
   * @default `ADMIN_PORT`, where 0 turns the listener off
   */
  readonly adminPort?: number
  /** @default a process that is alone */
  readonly shareMetrics?: MetricsOptions['share']
}

/** A gateway that serves. */
export interface Gateway {
  readonly url: string
  /** Undefined where the admin listener is turned off. */
  readonly adminUrl: string | undefined
  /** Not ready any more, finishes what is under way, closes. The store is the caller's to close. */
  readonly close: () => Promise<void>
}

/** The age of facts is looked at on every use; this only makes room. */
const FORGET_EVERY_MS = 3_600_000

/** Builds the house and opens its doors. */
export async function openGateway(
  config: Config,
  { catalog, store, log, adminPort = config.ADMIN_PORT || undefined, shareMetrics }: GatewayParts,
): Promise<Gateway> {
  const upstream = openUpstream(config)
  const service = createService(config, upstream)
  const settings = translationSettings(config)
  const credentials = openCredentials({ config, settings, upstream, actions: new Set(catalog.actions.keys()), log })
  const xref = createXref(store, config.QUOTE_MEMORY)
  const instance = newInstance()
  const record = createBookingRecord({
    claims: store,
    xref,
    instance,
    log,
    emergencyLog: openEmergencyLog(config.EMERGENCY_LOG_FILE),
    refusedStatuses: config.BOOKING_REFUSED_STATUSES,
  })
  const bookings = createBookings({
    claims: store,
    record,
    instance,
    holdLease: () => leases.hold(),
    dedupeWindowMs: config.DEDUPE_WINDOW,
  })
  const leases = await keepLeases(instance, { store, log, catchUp: record.catchUp })
  const forgetting = setInterval(() => {
    store.forget(config.QUOTE_MEMORY).catch((err: unknown) => log.warn({ err }, 'old facts could not be forgotten'))
  }, FORGET_EVERY_MS)
  const metrics = createMetrics({ knowsTenants: credentials.mode === 'tenants', share: shareMetrics })
  let draining = false
  const ready = () => store.ready() && !draining
  const deps: AppDeps = {
    config,
    catalog,
    bodyLimitBytes: config.BODY_LIMIT_BYTES,
    settings,
    credentials,
    service,
    address: { ...config.V2_BASE_URL, scheme: config.V2_TOKEN },
    send: createSendPlan(service, store),
    xref,
    bookings,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    upstream,
    log: createCallLog(log),
    metrics,
    ready,
    route: createRouter(catalog.endpoints, config.LEGACY_BASE_PATHS),
    limitSource: createSourceLimits(config.SOURCE_CALLS_PER_SECOND, config.TRUST_PROXY),
  }
  const open: Listener[] = []
  const close = async () => {
    draining = true
    clearInterval(forgetting)
    await Promise.all(open.map((listener) => listener.close(config.SHUTDOWN_GRACE_MS)))
    // A caller that hung up is no connection to wait for, but its booking is.
    await bookings.drain()
    await leases.end()
    credentials.close()
    await upstream.close()
  }
  try {
    const house = {
      shortcut: createShortcut(deps),
      loadMap: async () => (await import('./app.ts')).createApp(deps),
    }
    const door = await listen(house, {
      host: config.HOST,
      port: config.PORT,
      maxInFlight: config.MAX_IN_FLIGHT,
      maxConnections: config.MAX_CONNECTIONS,
      sourceConnections: config.SOURCE_CONNECTIONS,
      isProxy: compileNetworks(config.TRUST_PROXY ?? []).has,
      tls: tlsOf(config, log),
      log,
    })
    open.push(door)
    const admin =
      adminPort === undefined
        ? undefined
        : await listen(
            { loadMap: async () => (await import('./admin.ts')).createAdmin({ ready, store, metrics }) },
            { host: config.ADMIN_HOST, port: adminPort, log },
          )
    if (admin) open.push(admin)
    return { url: door.url, adminUrl: admin?.url, close }
  } catch (error) {
    await close()
    throw error
  }
}

function tlsOf(config: Config, log: Logger): TlsFiles | undefined {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_MIN_VERSION: version } = config
  if (certFile === undefined || keyFile === undefined) return undefined
  if (version === '1.0' || version === '1.1')
    log.warn(`TLS ${version} is spoken to whoever asks for it; it protects nothing`)
  return { certFile, keyFile, minVersion: version === '1.0' ? 'TLSv1' : `TLSv${version}` }
}
