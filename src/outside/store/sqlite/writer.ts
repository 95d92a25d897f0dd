import { afterGathering } from '../../../runtime/collections.ts'
import { backoffMs } from '../../../runtime/time.ts'
import type { StoreState } from '../state.ts'
import { StoreDown, StoreTooNew } from '../store.ts'
import { damaged, type FileIdentity, NotAStore } from './connection.ts'
import type { WriteName } from './session.ts'
import type { WriterEnd } from './thread.ts'

interface Write {
  readonly name: WriteName
  readonly args: readonly unknown[]
  /** The store's time. */
  readonly now: number
}

/** One write on its way to the thread. */
export interface WriteCall extends Write {
  readonly no: number
}

/** The outcome of one write. */
export interface WriteResult {
  readonly no: number
  readonly result?: unknown
  /** The error of this one write. */
  readonly failed?: string
  /** The error that currently keeps the store from writing anything. */
  readonly down?: string
}

/*
 * All messages but the first are sent as JSON, because V8 clones one string many times faster than the objects in it.
 */

/** A message to the worker. */
export type WriterRequest =
  /** `steps` are housekeeping: each is its own commit after the calls, which do not wait for it. */
  { readonly calls: readonly WriteCall[]; readonly steps: readonly WriteCall[] } | { readonly close: true }

/** A message from the worker. */
export type WriterReply =
  /** The results of one commit. */
  | { readonly results: readonly WriteResult[] }
  | { readonly ready: true; readonly file: FileIdentity }
  | { readonly ready: false; readonly error: string; readonly kind: 'down' | 'too-new' | 'not-a-store' | 'lost' }

/** The first message to the worker. */
export interface WorkerData {
  readonly path: string
  /** The file that this process opened before; undefined at the start. */
  readonly file: FileIdentity | undefined
  /** The store's time. */
  readonly now: number
}

interface PendingWrite extends Write {
  readonly isStep: boolean
  resolve(result: unknown): void
  reject(error: Error): void
}

/** Starts a writer by `begin`, and restarts it if it dies. `onLost` is called when the store's files are lost. */
export function startWriter(
  begin: () => WriterEnd,
  path: string,
  now: () => number,
  onState: (state: StoreState) => void,
  onLost: () => void,
) {
  /** The writes at the worker until they are answered. A `Map` would leak for a while, see `createUnorderedList`. */
  let sent: (PendingWrite | undefined)[] = []
  /** The number of the first of these writes. */
  let firstNo = 0
  let answered = 0
  const started = Promise.withResolvers<void>()
  let worker: WriterEnd | undefined
  let restart: NodeJS.Timeout | undefined
  let deaths = 0
  let unsent: PendingWrite[] = []
  /** True while the unsent writes wait for more. */
  let isGathering = false
  let opened = false
  let closed = false
  /** The file that was opened first; a restarted worker may open no other. */
  let file: FileIdentity | undefined
  let lost: StoreDown | undefined
  let isDamaged = false

  function start(): void {
    worker = begin()
    worker.postMessage({ path, now: now(), file } satisfies WorkerData)
    worker.onMessage(receive)
    worker.onEnd((cause) => {
      worker = undefined
      rejectAll(`The store's writer thread has ended: ${cause}`)
      if (closed) return
      deaths += 1
      restart = setTimeout(start, backoffMs(deaths))
    })
  }

  function receive(message: string): void {
    const reply: WriterReply = JSON.parse(message)
    if ('results' in reply) {
      for (const result of reply.results) {
        const place = result.no - firstNo
        const pending = sent[place]
        // If a batch fails in the middle, some writes are answered twice.
        if (!pending) continue
        sent[place] = undefined
        answered += 1
        if (result.down !== undefined) pending.reject(new StoreDown(`The store cannot write: ${result.down}`))
        else if (result.failed !== undefined) pending.reject(new Error(`The store refused a write: ${result.failed}`))
        else pending.resolve(result.result)
      }
      if (answered === sent.length) forgetSent()
      gather()
    } else if (reply.ready) {
      opened = true
      file = reply.file
      deaths = 0
      started.resolve()
      if (isDamaged) return
      lost = undefined
      onState({ ready: true })
    } else {
      const error = reply.kind === 'too-new' ? new StoreTooNew(reply.error) : new StoreDown(reply.error)
      if (reply.kind === 'lost') lose(new StoreDown(reply.error))
      if (reply.kind === 'too-new') started.reject(error)
      if (reply.kind === 'not-a-store') started.reject(new NotAStore(reply.error))
      started.resolve()
      onState({ ready: false, error })
    }
  }

  function forgetSent(): void {
    firstNo += sent.length
    sent = []
    answered = 0
  }

  function lose(error: StoreDown): void {
    lost = error
    onLost()
  }

  /** Rejects all writes. The dead thread may have committed some of them, but none was acknowledged. */
  function rejectAll(reason: string): void {
    for (const write of [...sent, ...unsent]) write?.reject(new StoreDown(reason))
    forgetSent()
    unsent = []
    started.resolve()
    onState({ ready: false, error: new StoreDown(reason) })
  }

  /**
   * Sends the unsent writes once a turn of the event loop adds none and the worker can take them. A message costs more than its content,
   * and so does a commit. Writes that arrive one after the other, or during a commit, share both.
   */
  function gather(): void {
    if (isGathering || unsent.length === 0 || sent.length > 0) return
    isGathering = true
    afterGathering(unsent, flush)
  }

  function flush(): void {
    isGathering = false
    if (unsent.length === 0) return
    const calls: WriteCall[] = []
    const steps: WriteCall[] = []
    for (const write of unsent) {
      const { isStep, name, args, now } = write
      const kind = isStep ? steps : calls
      kind.push({ no: firstNo + sent.length, name, args, now })
      sent.push(write)
    }
    worker?.postMessage(JSON.stringify({ calls, steps } satisfies WriterRequest))
    unsent = []
  }

  /** Sends a write or a housekeeping step; a step is done after the waiting writes, in its own commit. */
  function call(name: WriteName, args: readonly unknown[], isStep = false): Promise<unknown> {
    if (lost) return Promise.reject(lost)
    if (closed) return Promise.reject(new StoreDown('The store is closed.'))
    if (!worker) return Promise.reject(new StoreDown("The store's writer thread is restarting."))
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    unsent.push({ name, args, now: now(), isStep, resolve, reject })
    gather()
    return promise
  }

  start()
  return {
    /** Resolves when the database is open or known not to open yet; rejects if a retry cannot help. */
    started: started.promise,
    /** Returns why nothing can be read: the database has not been open yet, or its files are lost. */
    failure: () => lost ?? (opened ? undefined : new StoreDown('The store is not open yet.')),
    /** To be called when a read meets content that SQLite did not write; from then on, nothing is read or written. */
    reportDamage(reason: string): void {
      isDamaged = true
      const error = new StoreDown(damaged(path, reason).message)
      lose(error)
      onState({ ready: false, error })
    },
    call,
    async close(): Promise<void> {
      if (closed) return
      closed = true
      clearTimeout(restart)
      flush()
      const { promise: ended, resolve } = Promise.withResolvers<unknown>()
      if (!worker) return
      worker.onEnd(resolve)
      worker.postMessage(JSON.stringify({ close: true } satisfies WriterRequest))
      await ended
    },
  }
}
