import { Worker } from 'node:worker_threads'
import { retryDelayMs } from '../retry.ts'
import type { StoreState } from '../state.ts'
import { StoreDown, StoreTooNew } from '../store.ts'
import {
  type Answer,
  type Call,
  type FromWorker,
  packed,
  type ToWorker,
  touches,
  unpacked,
  type WorkerData,
  type WriteName,
} from './protocol.ts'
import { NotAStore } from './schema.ts'
import type { Writes } from './writes.ts'

/** What hears of the worker. */
export interface WriterEvents {
  readonly onState: (state: StoreState) => void
  /** Called with each commit that touched links or things, before its callers hear of it. */
  readonly onCommit: (pulse: number, calls: readonly Call[]) => void
}

/** The way to the thread that writes. */
export interface Writer {
  call<N extends WriteName>(name: N, ...args: Parameters<Writes[N]>): Promise<ReturnType<Writes[N]>>
  /** Resolves when the database is open, or known not to open yet; rejects if trying again cannot help. */
  readonly started: Promise<void>
  /** True once the database has been open. */
  opened(): boolean
  /** Whether calls that touch links or things are waiting for their commit. */
  touching(): boolean
  close(): Promise<void>
}

interface Waiting {
  readonly call: Call
  resolve(result: unknown): void
  reject(error: Error): void
}

/** Starts the thread that writes, and starts it again should it die. */
export function startWriter(data: WorkerData, { onState, onCommit }: WriterEvents): Writer {
  /** What the worker has, in the order of its numbers; what has been answered is taken out. */
  let atWorker: (Waiting | undefined)[] = []
  let firstNo = 1
  let unanswered = 0
  const started = Promise.withResolvers<void>()
  let worker: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let deaths = 0
  let lastNo = 0
  let unsent: Waiting[] = []
  /** Whether calls are with the worker, or will be at the end of this turn of the event loop. */
  let busy = false
  let opened = false
  let closed = false

  function start(): void {
    // The worker runs from the same kind of file as this module: .ts in development, .js once built.
    const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
    const thread = new Worker(new URL(`./worker${extension}`, import.meta.url), { workerData: data })
    worker = thread
    let cause = 'it ended'
    thread.on('message', (text: string) => receive(unpacked(text)))
    thread.on('error', (error) => {
      cause = error.message
    })
    thread.on('exit', () => {
      worker = undefined
      lose(`The store's writing thread is gone: ${cause}`)
      if (closed) return
      deaths += 1
      restart = setTimeout(start, retryDelayMs(deaths))
    })
  }

  function receive(message: FromWorker): void {
    if ('answers' in message) {
      settle(message.answers, message.pulse)
      if (unanswered === 0) flush()
    } else if (message.ready) {
      opened = true
      deaths = 0
      started.resolve()
      onState({ ready: true })
    } else {
      const error = message.kind === 'too-new' ? new StoreTooNew(message.error) : new StoreDown(message.error)
      if (message.kind === 'too-new') started.reject(error)
      if (message.kind === 'not-a-store') started.reject(new NotAStore(message.error))
      started.resolve()
      onState({ ready: false, error })
    }
  }

  function settle(answers: readonly Answer[], pulse: number | undefined): void {
    if (pulse !== undefined) {
      onCommit(
        pulse,
        answers.flatMap(({ no }) => atWorker[no - firstNo]?.call ?? []),
      )
    }
    for (const answer of answers) {
      const one = atWorker[answer.no - firstNo]
      if (!one) continue
      atWorker[answer.no - firstNo] = undefined
      unanswered -= 1
      if (answer.down !== undefined) one.reject(new StoreDown(`The store cannot write: ${answer.down}`))
      else if (answer.failed !== undefined) one.reject(new Error(`The store refused a write: ${answer.failed}`))
      else one.resolve(answer.result)
    }
  }

  /** Whether the dead thread had committed is not known; that nobody was told so, is. */
  function lose(reason: string): void {
    for (const one of [...atWorker, ...unsent]) one?.reject(new StoreDown(reason))
    atWorker = []
    unsent = []
    unanswered = 0
    busy = false
    started.resolve()
    onState({ ready: false, error: new StoreDown(reason) })
  }

  function send(message: ToWorker): void {
    worker?.postMessage(packed(message))
  }

  /** Sends what has gathered, unless there is nothing. */
  function flush(): void {
    busy = unsent.length > 0
    const [next] = unsent
    if (!next) return
    if (unanswered === 0) {
      atWorker = unsent
      firstNo = next.call.no
    } else {
      atWorker.push(...unsent)
    }
    unanswered += unsent.length
    send({ calls: unsent.map(({ call }) => call) })
    unsent = []
  }

  start()
  return {
    started: started.promise,
    opened: () => opened,
    touching: () => [...atWorker, ...unsent].some((one) => one && touches(one.call)),
    call(name, ...args) {
      if (closed) return Promise.reject(new StoreDown('The store is closed.'))
      if (!worker) return Promise.reject(new StoreDown("The store's writing thread is starting again."))
      lastNo += 1
      const call = { no: lastNo, name, args }
      const { promise, resolve, reject } = Promise.withResolvers<never>()
      // The worker answers with what the write of that name returned.
      unsent.push({ call, resolve: resolve as (result: unknown) => void, reject })
      // A message costs more than what is in it, and so does a commit: what one turn of the event loop asks for travels
      // together, and so does all that comes while the worker commits.
      if (!busy) setImmediate(flush)
      busy = true
      return promise
    },
    async close() {
      if (closed) return
      closed = true
      clearTimeout(restart)
      flush()
      const thread = worker
      if (!thread) return
      const ended = new Promise((resolve) => thread.once('exit', resolve))
      send({ close: true })
      await ended
    },
  }
}
