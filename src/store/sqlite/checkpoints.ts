import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { WorkerData } from './protocol.ts'

/** The length of the WAL, in pages, that starts a checkpoint in the checkpoint worker. */
const CHECKPOINT_PAGES = 2_000
/** The length at which a commit runs the checkpoint itself: bulk writes can outrun the worker. */
export const MAX_WAL_PAGES = 4 * CHECKPOINT_PAGES
/** How many commits pass between two looks at the length. */
const CHECK_EVERY_COMMITS = 32
/** The worker holds a connection and little else. */
const WORKER_LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 }

/** Keeps the WAL of a database short. */
export interface Checkpoints {
  afterCommit(db: DatabaseSync): void
  close(): Promise<void>
}

/**
 * Runs checkpoints in a thread of their own: they take milliseconds in which no write would be answered
 * (docs/decisions/0012). The writing thread then copies the pages that were written meanwhile. They are few, and the WAL
 * starts over only after a complete checkpoint.
 */
export function createCheckpoints(data: WorkerData): Checkpoints {
  let worker: Worker | undefined
  let state: 'idle' | 'running' | 'done' = 'idle'
  let commits = 0

  function start(): Worker {
    // The worker runs from the same kind of file as this module: .ts in development, .js once built.
    const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
    const url = new URL(`./checkpoint-worker${extension}`, import.meta.url)
    const thread = new Worker(url, { workerData: data, resourceLimits: WORKER_LIMITS })
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
    afterCommit(db) {
      if (state === 'done') {
        state = 'idle'
        checkpoint(db)
      }
      commits += 1
      if (state === 'running' || commits % CHECK_EVERY_COMMITS !== 0 || walPages(db) < CHECKPOINT_PAGES) return
      worker ??= start()
      worker.postMessage('run')
      state = 'running'
    },
    close: async () => void (await worker?.terminate()),
  }
}

/** Copies what can be copied from the WAL into the database. */
export function checkpoint(db: DatabaseSync): void {
  runCheckpoint(db, 'PASSIVE')
}

function walPages(db: DatabaseSync): number {
  return runCheckpoint(db, 'NOOP')
}

/** Returns the length of the WAL in pages. A full or broken disk fails the commits; the pages in the WAL are not lost. */
function runCheckpoint(db: DatabaseSync, mode: 'PASSIVE' | 'NOOP'): number {
  try {
    return Number(db.prepare(`PRAGMA wal_checkpoint(${mode})`).get()?.['log'])
  } catch {
    return 0
  }
}
