import type { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { FileGuard } from './file-guard.ts'

/** The length of the WAL, in pages, that starts a checkpoint in the checkpoint worker. */
const CHECKPOINT_PAGES = 2_000
/** The length at which SQLite runs a checkpoint with the commit: bulk writes can outrun the worker. */
export const MAX_WAL_PAGES = 4 * CHECKPOINT_PAGES
/** The worker holds a connection and little else. */
const WORKER_LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 }

/** Keeps the WAL of a database short. */
export interface Checkpoints {
  afterCommit(db: DatabaseSync, guard: FileGuard): void
  close(): Promise<void>
}

/**
 * Runs checkpoints in a thread of their own: they take milliseconds in which no write would be answered
 * (bench/README.md). The writing thread then copies the pages that were written meanwhile. They are few, and the WAL
 * starts over only after a complete checkpoint.
 */
export function createCheckpoints(path: string): Checkpoints {
  let worker: Worker | undefined
  let state: 'idle' | 'running' | 'done' = 'idle'

  function start(): Worker {
    // The worker runs from the same kind of file as this module: .ts in development, .js once built.
    const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
    const url = new URL(`./checkpoint-worker${extension}`, import.meta.url)
    const thread = new Worker(url, { workerData: path, resourceLimits: WORKER_LIMITS })
    thread.on('message', () => {
      state = 'done'
    })
    // If it dies, the writing thread runs this checkpoint alone.
    thread.on('error', () => {})
    thread.on('exit', () => {
      if (state === 'running') state = 'done'
      worker = undefined
    })
    return thread
  }

  return {
    afterCommit(db, { walPages, identity }) {
      if (state === 'done') {
        state = 'idle'
        return checkpoint(db, 'PASSIVE')
      }
      if (state === 'running' || walPages() < CHECKPOINT_PAGES) return
      worker ??= start()
      worker.postMessage(identity)
      state = 'running'
    },
    close: async () => void (await worker?.terminate()),
  }
}

/**
 * Copies pages from the WAL into the database: what can be copied (`PASSIVE`), or all, and empties the WAL (`TRUNCATE`). A
 * full or broken disk fails the commits; the pages in the WAL are not lost.
 */
export function checkpoint(db: DatabaseSync, mode: 'PASSIVE' | 'TRUNCATE'): void {
  try {
    db.prepare(`PRAGMA wal_checkpoint(${mode})`).get()
  } catch {
    // The next commit tells.
  }
}

/** Returns the address of a database that is opened only if it exists. */
export function existingDatabase(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('mode', 'rw')
  return url
}
