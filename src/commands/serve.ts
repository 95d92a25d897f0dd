import cluster from 'node:cluster'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { programVersion } from '../config/version.ts'
import { EXIT_FAILED } from '../exit-codes.ts'
import type { Catalog } from '../mapping/catalog.ts'
import { createLog, endOfLog, type Logger, logFormat } from '../observe/log.ts'
import { loadEngine } from '../store/open.ts'
import { listenFailure, reportFailure } from './failures.ts'
import { declaresStore, keepStore, openMemory, placeOf, refuseOldFolder } from './last-store.ts'
import { modeOf, openConfiguredStore } from './open-store.ts'
import { printError } from './output.ts'
import { dropPermissions, stopSignal } from './process.ts'
import { REPLACEMENT, reportListening, runWorkers, shareMetrics, shareProofs, stopMessage } from './workers.ts'

/**
 * V8 would allocate objects in the old generation if many from the same place survived once, as those of the first calls
 * do. It never learns otherwise, and under load collects the old generation several times a second (docs/architecture.md).
 */
const YOUNG_FLAG = '--no-allocation-site-pretenuring'

/**
 * Makes V8 collect old objects when they have grown by half instead of fourfold, which saves 30 MB at the peak. It is
 * set once the listeners are open: during the start V8 would collect again and again, 50 ms in all.
 */
const HEAP_FLAG = '--heap-growing-percent=50'

interface ServeOptions {
  readonly newStore?: boolean
}

/** Runs the gateway until it is told to stop: configuration → mappings → store → listeners → drain. */
export async function serve({ newStore = false }: ServeOptions = {}): Promise<number> {
  setFlagsFromString(YOUNG_FLAG)
  // All configuration errors are reported before anything is opened.
  const { config, catalog } = await loadConfig()
  const log = createLog(config.LOG_LEVEL, undefined, logFormat(config))
  openMemory(config)
  // SIGHUP reads the tenants file again. Without one it must not end the process.
  process.on('SIGHUP', () => {})
  if (config.WORKERS > 1 && cluster.isPrimary) return runWorkers(config.WORKERS, log, stopSignal)
  try {
    return await serveAlone(config, catalog, log, newStore)
  } finally {
    // The channel to the primary would keep the worker alive.
    cluster.worker?.disconnect()
  }
}

async function serveAlone(config: Config, catalog: Catalog, log: Logger, newStore: boolean): Promise<never> {
  const stop = cluster.isWorker ? stopMessage() : undefined
  // A worker that replaces another one relies on the store that the other had.
  const isReplacement = process.env[REPLACEMENT] !== undefined
  const isMeant = !isReplacement && declaresStore(config, newStore)
  if (!isMeant && !isReplacement) refuseOldFolder(config)
  const openStore = await loadEngine(config.STORE_URL)
  // The store opens in its own thread while this one loads the gateway.
  const [store, { openGateway }] = await Promise.all([
    openConfiguredStore(openStore, {
      mustExist: isReplacement,
      connections: config.STORE_CONNECTIONS,
      onState: ({ ready, error, server }) =>
        ready ? log.info({ server }, 'store ready') : log.error({ err: error }, 'store not ready'),
      onNotice: (notice) => log.warn({ notice }, 'notice of the store'),
    }),
    import('../gateway.ts'),
  ])
  const watching = keepStore(store, config, {
    isMeant,
    onUnwritable: (err) => log.warn({ err }, 'the file beside the emergency log cannot be written'),
  }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  // A store that does not answer yet is looked at once it does.
  const isLate = !store.ready()
  if (!isLate) await watching
  else watching.catch((error: unknown) => process.exit(reportFailure(error)))
  const gateway = await openGateway(config, {
    catalog,
    // No booking is claimed on a store that was not looked at.
    store: isLate ? { ...store, claim: (wanted) => watching.then(() => store.claim(wanted)) } : store,
    log,
    ...(cluster.isWorker && { shareMetrics, proofs: shareProofs() }),
  }).catch(async (error: unknown) => {
    await store.close()
    throw listenFailure(error, config)
  })
  setFlagsFromString(HEAP_FLAG)
  collectAfterStart()
  // The embedded store starts a thread when it needs one.
  dropPermissions({ keepThreads: store.engine === 'sqlite' })
  const { url, adminUrl: admin } = gateway
  log.info({ version: programVersion(), pid: process.pid, url, admin, service: config.V2_BASE_URL.origin }, 'listening')

  if (cluster.isWorker) reportListening()
  else if (process.stdout.isTTY && logFormat(config) === 'lines') {
    const { V2_BASE_URL, STORE_URL } = config
    printError(
      `Transload ${programVersion()} in ${modeOf(config)} mode`,
      `  for callers    ${url}`,
      `  for operators  ${admin ?? 'no listener (ADMIN_PORT=0)'}`,
      `  store          ${placeOf(STORE_URL)}`,
      `  service        ${V2_BASE_URL.origin}${V2_BASE_URL.prefix}; ${url} in a browser shows what becomes of a call`,
    )
  }

  const signal = await (stop ?? stopSignal())
  log.info({ signal }, 'draining')
  // A second signal ends the process at once.
  if (cluster.isPrimary) void stopSignal().then(() => process.exit(EXIT_FAILED))
  await gateway.close()
  await (store.ready() ? await watching : store).close()
  log.info('stopped')
  await endOfLog(log)
  // A request that the service has not answered yet would keep the process alive beyond the grace.
  process.exit(0)
}

/** A gateway that nobody has called by then is at rest. */
const REST_AFTER_MS = 2_000
/** The part of the time in which the event loop works. */
const BUSY = 0.05

/**
 * Gives the garbage of the start back to the system if the gateway is at rest: V8 would keep it until many objects are made. Only
 * once, and not from a gateway at work, because such a collection throws compiled code away, too.
 */
function collectAfterStart(): void {
  const start = performance.eventLoopUtilization()
  const collect = () => {
    if (performance.eventLoopUtilization(start).utilization > BUSY) return
    setFlagsFromString('--expose-gc')
    runInNewContext('gc')({ type: 'major', flavor: 'last-resort' })
  }
  setTimeout(collect, REST_AFTER_MS).unref()
}
