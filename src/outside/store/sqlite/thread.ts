import { Worker } from 'node:worker_threads'

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

/** Returns a thread that waits for its `WorkerData`. */
export function takeThread(): Worker {
  const thread = early ?? newThread()
  early = undefined
  thread.ref()
  return thread
}

function newThread(): Worker {
  // The thread runs from the same kind of file as this module: .ts in development, .js once built.
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  return new Worker(new URL(`./writer-thread${extension}`, import.meta.url), {
    // See `openOnce`: a descriptor that is closed with the thread would release locks of other connections.
    trackUnmanagedFds: false,
  })
}
