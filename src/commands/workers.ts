import type { Serializable } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Proofs } from '../callers/caller.ts'
import { EXIT_CONFIG, EXIT_FAILED } from '../exit-codes.ts'
import { endOfLog, type Logger } from '../observe/log.ts'
import type { CollectMetrics, ProcessMetrics } from '../observe/metrics.ts'
import { createBoundedCache } from '../tools/collections.ts'

/** A worker that ends sooner than this after its start is restarted only after a pause. */
const HEALTHY_AFTER_MS = 5_000
const RESTART_PAUSE_MS = 1_000

/** Messages between the first process and its workers. */
const STOP = 'stop'
const RELOAD = 'reload'
const LISTENING = 'listening'

/** Set in the environment of a worker that replaces another: it must find the store that the other had. */
export const REPLACEMENT = 'TRANSLOAD_REPLACEMENT'

/** Set in the environment of every worker: the key of the digests in `shareProofs`. */
const PROOF_KEY = 'TRANSLOAD_PROOF_KEY'

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
  const key = relayProofs()
  process.on('SIGHUP', () => {
    for (const worker of running()) if (worker.isConnected()) tell(worker, RELOAD)
  })
  const start = (): void => {
    const worker = cluster.fork({ [PROOF_KEY]: key, ...(hasListened && { [REPLACEMENT]: '1' }) })
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

/** The longest time for which the first process waits for the workers; one that is just starting is left out. */
const COLLECT_TIMEOUT_MS = 3_000

/** A worker sends `collect`; the first process sends `report` to every worker, receives `reported`, sends `collected`. */
type Message =
  | { readonly metrics: 'collect'; readonly id: number }
  | { readonly metrics: 'report'; readonly id: number }
  | { readonly metrics: 'reported'; readonly id: number; readonly own: ProcessMetrics }
  | { readonly metrics: 'collected'; readonly id: number; readonly all: ProcessMetrics[] }

/** Collects the metrics of all workers, in the process that started them, for each worker that asks. */
function relayMetrics(): void {
  const rounds = new Map<number, (from: Worker, own: ProcessMetrics) => void>()
  let lastRound = 0
  const collect = (asker: Worker, id: number) => {
    const waiting = new Set(Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected()))
    const all: ProcessMetrics[] = []
    lastRound += 1
    const round = lastRound
    const finish = () => {
      clearTimeout(timer)
      rounds.delete(round)
      if (asker.isConnected()) tell(asker, { metrics: 'collected', id, all } satisfies Message)
    }
    const timer = setTimeout(finish, COLLECT_TIMEOUT_MS)
    rounds.set(round, (from, own) => {
      if (waiting.delete(from)) all.push(own)
      if (waiting.size === 0) finish()
    })
    for (const worker of waiting) if (worker) tell(worker, { metrics: 'report', id: round } satisfies Message)
  }
  cluster.on('message', (worker, received: unknown) => {
    const message = metricsMessage(received)
    if (message?.metrics === 'collect') collect(worker, message.id)
    else if (message?.metrics === 'reported') rounds.get(message.id)?.(worker, message.own)
  })
}

/** Reports this worker's metrics on request; the returned function collects those of all workers. */
export function shareMetrics(own: () => Promise<ProcessMetrics>): CollectMetrics {
  const pending = new Map<number, (all: ProcessMetrics[]) => void>()
  let lastId = 0
  const send = (message: Message) => void process.send?.(message)
  process.on('message', (received: unknown) => {
    const message = metricsMessage(received)
    if (message?.metrics === 'report') {
      void own().then((metrics) => send({ metrics: 'reported', id: message.id, own: metrics }))
    }
    if (message?.metrics !== 'collected') return
    pending.get(message.id)?.(message.all)
    pending.delete(message.id)
  })
  return () =>
    new Promise((resolve) => {
      lastId += 1
      pending.set(lastId, resolve)
      send({ metrics: 'collect', id: lastId })
    })
}

/** Only this program sends these messages: one with `metrics` has the declared form. */
function metricsMessage(received: unknown): Message | undefined {
  return typeof received === 'object' && received !== null && 'metrics' in received ? (received as Message) : undefined
}

/** A verified credential, or the wish of a new worker for all of them. */
type ProofMessage =
  | { readonly proof: 'ask' }
  | { readonly proof: 'is'; readonly all: readonly (readonly [id: string, hash: string])[] }

/**
 * Keeps the credentials that workers have verified, in the memory of the process that started them, and tells the others and later
 * ones. Returns the key of their digests.
 */
function relayProofs(): string {
  const known = createBoundedCache<string, string>(PROOFS_KEPT)
  cluster.on('message', (from, received: unknown) => {
    const message = proofMessage(received)
    if (message?.proof === 'ask') tell(from, { proof: 'is', all: [...known] } satisfies ProofMessage)
    if (message?.proof !== 'is') return
    for (const [id, hash] of message.all) known.set(id, hash)
    for (const worker of running()) if (worker !== from && worker.isConnected()) tell(worker, message)
  })
  return randomBytes(PROOF_KEY_BYTES).toString('base64')
}

const PROOF_KEY_BYTES = 32
/** The most credentials that are remembered as verified. */
const PROOFS_KEPT = 100_000

/** Shares what this worker has verified with the others, and with the worker that replaces it. */
export function shareProofs(): Proofs {
  const known = createBoundedCache<string, string>(PROOFS_KEPT)
  process.on('message', (received: unknown) => {
    const message = proofMessage(received)
    if (message?.proof === 'is') for (const [id, hash] of message.all) known.set(id, hash)
  })
  const send = (message: ProofMessage) => void process.send?.(message)
  send({ proof: 'ask' })
  return {
    key: Buffer.from(process.env[PROOF_KEY] ?? '', 'base64'),
    hashOf: (id) => known.get(id),
    tell: (id, hash) => send({ proof: 'is', all: [[id, hash]] }),
  }
}

const proofMessage = (received: unknown): ProofMessage | undefined =>
  typeof received === 'object' && received !== null && 'proof' in received ? (received as ProofMessage) : undefined

/**
 * Sends a message to a worker. One that is just dying does not get it: its end is told by `exit`, and without a callback the
 * error would end this process and all workers.
 */
export function tell(worker: Worker, message: Serializable): void {
  worker.send(message, () => {})
}
