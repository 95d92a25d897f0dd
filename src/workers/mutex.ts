import cluster, { type Worker } from 'node:cluster'
import { createKeyedMutex, type KeyedMutex } from '../keyed-mutex.ts'

/** A first process that has not noted a wish by then is not waited for. */
const PATIENCE_MS = 1_000

/** A worker asks for a turn; the first process notes it, and says when it has come; the worker gives it back. */
type Message =
  | { readonly turn: 'please'; readonly id: number; readonly key: string }
  | { readonly turn: 'noted'; readonly id: number }
  | { readonly turn: 'yours'; readonly id: number }
  | { readonly turn: 'over'; readonly id: number }

/** In the process that started the workers: keeps the queues of all of them. */
export function serveMutex(): void {
  const turns = createKeyedMutex()
  /** What gives back the turns that each worker has or waits for. */
  const asked = new Map<Worker, Map<number, () => void>>()
  // Without a callback, one that cannot be told because it is just dying would end this process.
  const say = (worker: Worker, message: Message) => void worker.send(message, () => {})
  cluster.on('message', (worker, said: unknown) => {
    const heard = aboutTurns(said)
    const ofWorker = asked.get(worker) ?? new Map<number, () => void>()
    if (heard?.turn === 'please') {
      const { id, key } = heard
      const { promise: over, resolve } = Promise.withResolvers<void>()
      asked.set(worker, ofWorker.set(id, resolve))
      say(worker, { turn: 'noted', id })
      void turns(key, async () => {
        if (ofWorker.has(id)) say(worker, { turn: 'yours', id })
        await over
      })
    } else if (heard?.turn === 'over') {
      ofWorker.get(heard.id)?.()
      ofWorker.delete(heard.id)
    }
  })
  // The last that is heard of a worker, however it ended.
  cluster.on('disconnect', (worker) => {
    const ofWorker = asked.get(worker)
    asked.delete(worker)
    for (const giveBack of ofWorker?.values() ?? []) giveBack()
    ofWorker?.clear()
  })
}

/**
 * In a worker: turns among all workers. Calls of one key queue here first, so that the first process hears of one at a
 * time; should it not answer, they queue here alone. No turn is waited for longer than a call may take: whoever has it
 * must be done by then.
 */
export function createWorkerMutex(longestMs: number): KeyedMutex {
  const own = createKeyedMutex()
  const asking = new Map<number, (answer: Message['turn']) => void>()
  let last = 0
  process.on('message', (said: unknown) => {
    const heard = aboutTurns(said)
    if (heard) asking.get(heard.id)?.(heard.turn)
  })
  const say = (message: Message, failed = () => {}) => void process.send?.(message, (error) => error && failed())
  const turnCame = (id: number, key: string) =>
    new Promise<void>((resolve) => {
      const go = () => {
        clearTimeout(timer)
        asking.delete(id)
        resolve()
      }
      let timer = setTimeout(go, PATIENCE_MS)
      asking.set(id, (answer) => {
        if (answer === 'yours') return go()
        clearTimeout(timer)
        timer = setTimeout(go, longestMs)
      })
      say({ turn: 'please', id, key }, go)
    })
  return (key, work) =>
    own(key, async () => {
      last += 1
      const id = last
      await turnCame(id, key)
      try {
        return await work()
      } finally {
        say({ turn: 'over', id })
      }
    })
}

/** Only this program writes to these lines, so that what is about turns has the form that it should have. */
function aboutTurns(said: unknown): Message | undefined {
  return typeof said === 'object' && said !== null && 'turn' in said ? (said as Message) : undefined
}
