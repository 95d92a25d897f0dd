import cluster from 'node:cluster'
import { setFlagsFromString } from 'node:v8'
import type { Config } from '../config/config.ts'
import type { Catalog } from '../mapping/catalog.ts'
import { createLog, type Logger } from '../observe/log.ts'
import { shareMetrics } from '../workers/metrics.ts'
import { createWorkerMutex } from '../workers/mutex.ts'
import { reportListening, runWorkers, stopMessage } from '../workers/workers.ts'
import { readSetup } from './read-setup.ts'
import { openNamedStore } from './with-store.ts'

/**
 * Old objects are collected when they have grown by half, not up to fourfold: 30 MB less at the worst of times. Told once
 * the doors are open, for while the house is built V8 would collect again and again, 50 ms in all.
 */
const FRUGAL = '--heap-growing-percent=50'

/** Runs the gateway until it is told to stop: configuration → mappings → store → doors → drain. */
export async function serve(): Promise<number> {
  // Told before anything is opened, with every mistake at once.
  const { config, catalog } = await readSetup()
  const log = createLog(config.LOG_LEVEL)
  // Means the tenants file, and must end nothing where there is none.
  process.on('SIGHUP', () => {})
  if (config.WORKERS > 1 && cluster.isPrimary) return runWorkers(config.WORKERS, log, stopSignal)
  try {
    return await serveAlone(config, catalog, log)
  } finally {
    // A worker's line to the process that started it would keep it alive.
    cluster.worker?.disconnect()
  }
}

async function serveAlone(config: Config, catalog: Catalog, log: Logger): Promise<number> {
  const stop = cluster.isWorker ? stopMessage() : undefined
  // The gateway is loaded while the store is opened.
  const [store, { openGateway }] = await Promise.all([
    openNamedStore(config.STORE_URL, {
      cacheBytes: config.STORE_CACHE_BYTES,
      onState: ({ ready, error }) => (ready ? log.info('store ready') : log.error({ err: error }, 'store not ready')),
    }),
    import('../gateway.ts'),
  ])
  const gateway = await openGateway(config, {
    catalog,
    store,
    log,
    ...(cluster.isWorker && { shareMetrics, turns: createWorkerMutex(config.UPSTREAM_TIMEOUT_MS) }),
  }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  setFlagsFromString(FRUGAL)
  const { url, adminUrl: admin } = gateway
  log.info({ pid: process.pid, url, admin, service: config.V2_BASE_URL.origin }, 'listening')

  if (cluster.isWorker) reportListening()

  const signal = await (stop ?? stopSignal())
  log.info({ signal }, 'draining')
  // Who asks twice does not want to wait.
  if (cluster.isPrimary) void stopSignal().then(() => process.exit(1))
  await gateway.close()
  await store.close()
  log.info('stopped')
  await new Promise<void>((resolve) => log.flush(() => resolve()))
  return 0
}

/** Resolves at the next SIGTERM or SIGINT. */
export function stopSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const stop = (signal: NodeJS.Signals) => {
      process.off('SIGTERM', stop).off('SIGINT', stop)
      resolve(signal)
    }
    process.on('SIGTERM', stop).on('SIGINT', stop)
  })
}
