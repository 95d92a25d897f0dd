import type { Serializable } from 'node:child_process'
import type { Worker } from 'node:cluster'
import cluster from 'node:cluster'
import type { CollectMetrics, ProcessMetrics } from '../observe/metrics.ts'

/** The longest time for which the first process waits for the workers; one that is just starting is left out. */
const COLLECT_TIMEOUT_MS = 3_000

/** A worker sends `collect`; the first process sends `report` to every worker, receives `reported`, sends `collected`. */
type Message =
  | { readonly metrics: 'collect'; readonly id: number }
  | { readonly metrics: 'report'; readonly id: number }
  | { readonly metrics: 'reported'; readonly id: number; readonly own: ProcessMetrics }
  | { readonly metrics: 'collected'; readonly id: number; readonly all: ProcessMetrics[] }

/** Collects the metrics of all workers, in the process that started them, for each worker that asks. */
export function relayMetrics(): void {
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

/**
 * Sends a message to a worker. One that is just dying does not get it: its end is told by `exit`, and without a callback the
 * error would end this process and all workers.
 */
export function tell(worker: Worker, message: Serializable): void {
  worker.send(message, () => {})
}
