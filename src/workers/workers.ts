import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { EXIT_CONFIG, EXIT_FAILED } from '../exit-codes.ts'
import { endOfLog, type Logger } from '../observe/log.ts'
import { relayMetrics, tell } from './metrics.ts'

/** A worker that ends sooner than this after its start is restarted only after a pause. */
const HEALTHY_AFTER_MS = 5_000
const RESTART_PAUSE_MS = 1_000

/** Messages between the first process and its workers. */
const STOP = 'stop'
const RELOAD = 'reload'
const LISTENING = 'listening'

/** Set in the environment of a worker that replaces another: it must find the store that the other had. */
export const REPLACEMENT = 'TRANSLOAD_REPLACEMENT'

/** Runs worker processes that share the ports and the store, replaces those that die, and ends with all of them. */
export async function runWorkers(
  count: number,
  log: Logger,
  stopSignal: () => Promise<NodeJS.Signals>,
): Promise<number> {
  let stopping = false
  let exitCode = 0
  let hasListened = false
  const startFailed = Promise.withResolvers<undefined>()
  // Metrics may be NaN, which JSON lacks.
  cluster.setupPrimary({ serialization: 'advanced' })
  cluster.on('message', (_worker, message) => {
    if (message === LISTENING) hasListened = true
  })
  relayMetrics()
  process.on('SIGHUP', () => {
    for (const worker of running()) if (worker.isConnected()) tell(worker, RELOAD)
  })
  const start = (): void => {
    const worker = cluster.fork(hasListened ? { [REPLACEMENT]: '1' } : {})
    const startedAt = performance.now()
    worker.once('exit', (code, signal) => {
      if (stopping) return
      // A restart does not help against an error of the start, such as a port in use.
      if (code === EXIT_CONFIG || (code === EXIT_FAILED && !hasListened)) {
        exitCode = code
        return startFailed.resolve(undefined)
      }
      log.error({ pid: worker.process.pid, code, signal }, 'a worker ended and is replaced')
      if (performance.now() - startedAt > HEALTHY_AFTER_MS) start()
      else setTimeout(() => stopping || start(), RESTART_PAUSE_MS)
    })
  }
  for (let i = 0; i < count; i += 1) start()

  const signal = await Promise.race([stopSignal(), startFailed.promise])
  stopping = true
  log.info({ signal, workers: count }, 'draining')
  const workers = running()
  void stopSignal().then(() => {
    exitCode ||= 1
    for (const worker of workers) worker.process.kill('SIGKILL')
  })
  await Promise.all(workers.map(stopWorker))
  await endOfLog(log)
  return exitCode
}

const running = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)

async function stopWorker(worker: Worker): Promise<void> {
  if (worker.isDead()) return
  const ended = once(worker, 'exit')
  if (worker.isConnected()) tell(worker, STOP)
  else worker.process.kill('SIGKILL')
  await ended
}

/** Tells the first process that this worker listens. */
export function reportListening(): void {
  process.send?.(LISTENING)
}

/**
 * Resolves when the first process tells this worker to stop; until then, turns its reload messages into SIGHUP. The worker
 * ignores signals to stop: service managers and Ctrl-C signal all processes at once, and a second stop would lose calls.
 */
export function stopMessage(): Promise<string> {
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => {})
  return new Promise((resolve) => {
    process.on('message', (message) => {
      if (message === RELOAD) process.emit('SIGHUP')
      if (message === STOP) resolve(STOP)
    })
  })
}
