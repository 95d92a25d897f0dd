import { Worker } from 'node:worker_threads'

/** The end of a channel to what writes the file: `serveWrites` answers at the other one. */
export interface WriterEnd {
  postMessage(message: unknown): void
  onMessage(listener: (message: string) => void): void
  /** Calls back once, with why nothing is written any more. */
  onEnd(listener: (cause: string) => void): void
}

/** A thread that was started early and that no store uses yet. */
let early: Worker | undefined

/** Starts the thread for a store that is about to be opened. If it cannot start, the store reports why. */
export function startThread(): void {
  try {
    const thread = newThread()
    const forget = () => {
      if (early === thread) early = undefined
    }
    thread.once('error', forget).once('exit', forget).unref()
    early = thread
  } catch {
    early = undefined
  }
}

/** Returns the end of a thread that waits for its `WorkerData`. */
export function takeThread(): WriterEnd {
  const thread = early ?? newThread()
  early = undefined
  thread.ref()
  let cause = 'it ended'
  thread.on('error', (error) => {
    cause = error.message
  })
  return {
    postMessage: (message) => thread.postMessage(message),
    onMessage: (listener) => thread.on('message', listener),
    onEnd: (listener) => thread.once('exit', () => listener(cause)),
  }
}

function newThread(): Worker {
  // The thread runs from the same kind of file as this module: .ts in development, .js once built.
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  return new Worker(new URL(`./writer-thread${extension}`, import.meta.url), {
    // See `openOnce`: a descriptor that is closed with the thread would release locks of other connections.
    trackUnmanagedFds: false,
  })
}
