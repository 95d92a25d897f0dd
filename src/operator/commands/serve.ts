import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { programVersion } from '../../language/config/version.ts'
import { loadEngine } from '../../outside/store/open.ts'
import { type Store, StoreDown } from '../../outside/store/store.ts'
import { createLog, endOfLog, logFormat } from '../../runtime/log.ts'
import { EXIT_FAILED, listenFailure, reportFailure } from './failures.ts'
import { declaresStore, keepStore, openMemory, refuseOldFolder, storePlace } from './last-store.ts'
import { loadConfig } from './load.ts'
import { modeOf, openConfiguredStore } from './open-store.ts'
import { type Options, printError } from './output.ts'
import { stopSignal } from './process.ts'

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

/** Runs the gateway until it is told to stop: configuration → mappings → store → listeners → drain. */
export async function serve({ newStore = false }: Options<'newStore'> = {}): Promise<never> {
  // From here on: as process 1, it would miss a signal that it does not watch for. Until it listens, there is nothing to finish.
  const stopping = stopSignal()
  let mayHaveCalls = false
  void stopping.then(() => mayHaveCalls || process.exit())
  // SIGHUP reads the tenants file again. Without one it must not end the process.
  process.on('SIGHUP', () => {})
  setFlagsFromString(YOUNG_FLAG)
  // All configuration errors are reported before anything is opened.
  const { config, catalog } = await loadConfig()
  const log = createLog(config.LOG_LEVEL, undefined, logFormat(config))
  openMemory(config)
  const isMeant = declaresStore(config, newStore)
  if (!isMeant) refuseOldFolder(config)
  const openStore = await loadEngine(config.STORE_URL)
  // The store opens in its own thread while this one loads the gateway.
  const [store, { openGateway }, { createPages }] = await Promise.all([
    openConfiguredStore(openStore, {
      onState: ({ ready, error }) => (ready ? log.info('store ready') : log.error({ err: error }, 'store not ready')),
      onNotice: (notice) => log.warn({ notice }, 'store notice'),
    }),
    import('../../gateway.ts'),
    import('../pages/all-pages.ts'),
  ])
  // A store that does not answer yet is looked at once it does.
  const isLate = !store.ready()
  const look = () =>
    keepStore(store, config, isMeant, (err) => log.warn({ err }, 'the file beside the emergency log cannot be written'))
  const watching = untilAnswered(look).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  if (!isLate) await watching
  else watching.catch((error: unknown) => process.exit(reportFailure(error)))
  mayHaveCalls = true
  const gateway = await openGateway(config, {
    catalog,
    store: isLate ? untilLooked(store, watching) : store,
    log,
    pages: createPages,
  }).catch(async (error: unknown) => {
    // A store that does not answer must not keep the process from a signal.
    await Promise.race([store.close(), stopping])
    // Once the failure is reported, with its exit code: a module of the operator may keep the process alive.
    void stopping.then(() => setImmediate(() => process.exit()))
    throw listenFailure(error, config)
  })
  setFlagsFromString(HEAP_FLAG)
  collectAfterStart()
  // The embedded store starts a thread when it needs one.
  if (store.engine !== 'sqlite') {
    const { permission }: { readonly permission?: Permission } = process
    permission?.drop?.('worker')
  }
  const { url, adminUrl: admin } = gateway
  log.info({ version: programVersion(), pid: process.pid, url, admin, service: config.V2_BASE_URL.origin }, 'listening')

  if (process.stdout.isTTY && logFormat(config) === 'text') {
    const { V2_BASE_URL, STORE_URL } = config
    printError(
      `Transload ${programVersion()} in ${modeOf(config)} mode`,
      `  for callers    ${url}`,
      `  for operators  ${admin ?? 'no listener (ADMIN_PORT=0)'}`,
      `  store          ${storePlace(STORE_URL)}`,
      `  service        ${V2_BASE_URL.origin}${V2_BASE_URL.prefix}; open ${url} in a browser to see how calls are translated`,
    )
  }

  const signal = await stopping
  log.info({ signal }, 'draining')
  // A second signal ends the process at once.
  void stopSignal().then(() => process.exit(EXIT_FAILED))
  await gateway.close()
  await (store.ready() ? await watching : store).close()
  log.info('stopped')
  await endOfLog(log)
  // A request that the service has not answered yet would keep the process alive beyond the grace.
  process.exit(0)
}

/** The rights of Node's permission model, if it runs with `--permission`. The types lack `drop`, and so do older releases of Node 24. */
interface Permission {
  readonly has: (right: string) => boolean
  readonly drop?: (right: string) => void
}

/** Looks at a store that may go down again meanwhile. */
async function untilAnswered<T>(look: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await look()
    } catch (error) {
      if (!(error instanceof StoreDown)) throw error
      await delay(LOOK_AGAIN_MS, undefined, { ref: false })
    }
  }
}

const LOOK_AGAIN_MS = 100

/** Returns a store that gives no lease before it was looked at: nothing is claimed, and no late work is written or forgotten. */
function untilLooked(store: Store, looked: Promise<unknown>): Store {
  let isLooked = false
  looked.then(
    () => {
      isLooked = true
    },
    () => undefined,
  )
  return {
    ...store,
    async renewLease(...lease) {
      if (!isLooked) throw new StoreDown('The store was not looked at yet.')
      return store.renewLease(...lease)
    },
  }
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
