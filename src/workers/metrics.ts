import cluster, { type Worker } from 'node:cluster'
import type { MetricObjectWithValues, MetricValue } from 'prom-client'

/** The metrics of one process. */
export type Figures = MetricObjectWithValues<MetricValue<string>>[]

/** Asks every process for its metrics, this one included. */
export type Gather = () => Promise<Figures[]>

/** Whoever has not told by then, such as a worker that is just starting, is left out. */
const PATIENCE_MS = 3_000

/** A worker asks for the metrics of all; the first process asks each of them; each tells; the worker gets the whole. */
type Message =
  | { readonly metrics: 'of all'; readonly id: number }
  | { readonly metrics: 'yours'; readonly id: number }
  | { readonly metrics: 'mine'; readonly id: number; readonly own: Figures }
  | { readonly metrics: 'whole'; readonly id: number; readonly all: Figures[] }

/** In the process that started the workers: collects from all of them for whichever is asked. */
export function relayMetrics(): void {
  const rounds = new Map<number, (from: Worker, own: Figures) => void>()
  let last = 0
  const collect = (asker: Worker, id: number) => {
    const waiting = new Set(Object.values(cluster.workers ?? {}).filter((worker) => worker?.isConnected()))
    const all: Figures[] = []
    last += 1
    const round = last
    const finish = () => {
      clearTimeout(timer)
      rounds.delete(round)
      if (asker.isConnected()) asker.send({ metrics: 'whole', id, all } satisfies Message)
    }
    const timer = setTimeout(finish, PATIENCE_MS)
    rounds.set(round, (from, own) => {
      if (waiting.delete(from)) all.push(own)
      if (waiting.size === 0) finish()
    })
    for (const worker of waiting) worker?.send({ metrics: 'yours', id: round } satisfies Message)
  }
  cluster.on('message', (worker, said: unknown) => {
    const heard = aboutMetrics(said)
    if (heard?.metrics === 'of all') collect(worker, heard.id)
    else if (heard?.metrics === 'mine') rounds.get(heard.id)?.(worker, heard.own)
  })
}

/** In a worker: tells its own metrics whenever it is asked; the answer asks for those of all. */
export function shareMetrics(own: () => Promise<Figures>): Gather {
  const asking = new Map<number, (all: Figures[]) => void>()
  let last = 0
  const say = (message: Message) => void process.send?.(message)
  process.on('message', (said: unknown) => {
    const heard = aboutMetrics(said)
    if (heard?.metrics === 'yours') void own().then((mine) => say({ metrics: 'mine', id: heard.id, own: mine }))
    if (heard?.metrics !== 'whole') return
    asking.get(heard.id)?.(heard.all)
    asking.delete(heard.id)
  })
  return () =>
    new Promise((resolve) => {
      last += 1
      asking.set(last, resolve)
      say({ metrics: 'of all', id: last })
    })
}

/** Only this program writes to these lines, so that what is about metrics has the form that it should have. */
function aboutMetrics(said: unknown): Message | undefined {
  return typeof said === 'object' && said !== null && 'metrics' in said ? (said as Message) : undefined
}
