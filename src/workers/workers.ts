import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { EXIT_CONFIG, EXIT_FAILED } from '../exit-codes.ts'
import type { Logger } from '../observe/log.ts'
import { relayMetrics } from './metrics.ts'
import { serveMutex } from './mutex.ts'

/** A worker that ends sooner than this after its start is started anew only after a pause. */
const HEALTHY_AFTER_MS = 5_000
const PAUSE_MS = 1_000

const STOP = 'stop'
const READ_AGAIN = 'read again'
const SERVES = 'serves'

/** Runs processes that share the ports and the store; replaces those that die, and ends with all of them. */
export async function runWorkers(
  count: number,
  log: Logger,
  stopSignal: () => Promise<NodeJS.Signals>,
): Promise<number> {
  let stopping = false
  let exitCode = 0
  let served = false
  const hopeless = Promise.withResolvers<undefined>()
  // Metrics may be no numbers, which JSON does not know.
  cluster.setupPrimary({ serialization: 'advanced' })
  cluster.on('message', (_worker, message) => {
    if (message === SERVES) served = true
  })
  relayMetrics()
  serveMutex()
  process.on('SIGHUP', () => {
    for (const worker of running()) if (worker.isConnected()) worker.send(READ_AGAIN)
  })
  const start = (): void => {
    const worker = cluster.fork()
    const startedAt = performance.now()
    worker.once('exit', (code, signal) => {
      if (stopping) return
      // What keeps all of them from ever serving, such as a port that is taken, is for somebody else to mend.
      if (code === EXIT_CONFIG || (code === EXIT_FAILED && !served)) {
        exitCode = code
        return hopeless.resolve(undefined)
      }
      log.error({ pid: worker.process.pid, code, signal }, 'a worker ended and is replaced')
      if (performance.now() - startedAt > HEALTHY_AFTER_MS) start()
      else setTimeout(() => stopping || start(), PAUSE_MS)
    })
  }
  for (let i = 0; i < count; i += 1) start()

  const signal = await Promise.race([stopSignal(), hopeless.promise])
  stopping = true
  log.info({ signal, workers: count }, 'draining')
  const workers = running()
  void stopSignal().then(() => {
    exitCode ||= 1
    for (const worker of workers) worker.process.kill('SIGKILL')
  })
  await Promise.all(workers.map(end))
  await new Promise<void>((resolve) => log.flush(() => resolve()))
  return exitCode
}

const running = () => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)

async function end(worker: Worker): Promise<void> {
  if (worker.isDead()) return
  const ended = once(worker, 'exit')
  if (worker.isConnected()) worker.send(STOP)
  else worker.process.kill('SIGKILL')
  await ended
}

/** Tells the process that started this worker that its doors are open. */
export function reportService(): void {
  process.send?.(SERVES)
}

/**
 * Resolves when the process that started this worker says that it is time; until then, hands on what else it says.
 * Signals to stop say nothing here: whoever stops a service or presses Ctrl-C signals all of its processes, and one that
 * came twice would lose calls.
 */
export function workerOrders(): Promise<string> {
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => {})
  return new Promise((resolve) => {
    process.on('message', (message) => {
      if (message === READ_AGAIN) process.emit('SIGHUP')
      if (message === STOP) resolve(STOP)
    })
  })
}
