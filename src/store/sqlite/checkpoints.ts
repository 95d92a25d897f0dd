import type { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { WorkerData } from './protocol.ts'

/** How long the log gets, in pages, before another thread is asked to copy it into the database. */
const LONG_PAGES = 2_000
/** How long it gets before a commit copies it: a bulk of writes can be faster than the other thread. */
export const TOO_LONG_PAGES = 4 * LONG_PAGES
/** How many commits go by between two looks at its length. */
const LOOK_EVERY = 32
/** A connection and little else. */
const EMPTIER_LIMITS = { maxYoungGenerationSizeMb: 1, maxOldGenerationSizeMb: 32 }

/** Keeps the log of a database short. */
export interface LogKeeper {
  /** To be called after each commit. */
  tend(db: DatabaseSync): void
  close(): Promise<void>
}

/**
 * Has the log copied into the database by a thread of its own, for that takes milliseconds in which no call would get its
 * answer (docs/decisions/0012). What was written meanwhile the writing thread copies itself: it is little, and only a log
 * that was copied to its end begins anew.
 */
export function createLogKeeper(data: WorkerData): LogKeeper {
  let emptier: Worker | undefined
  let state: 'resting' | 'emptying' | 'emptied' = 'resting'
  let commits = 0

  function start(): Worker {
    // The worker runs from the same kind of file as this module: .ts in development, .js once built.
    const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
    const url = new URL(`./checkpoint-worker${extension}`, import.meta.url)
    const thread = new Worker(url, { workerData: data, resourceLimits: EMPTIER_LIMITS })
    thread.on('message', () => {
      state = 'emptied'
    })
    // Should it die, the writing thread copies everything this time.
    thread.on('error', () => {})
    thread.on('exit', () => {
      if (state === 'emptying') state = 'emptied'
      emptier = undefined
    })
    return thread
  }

  return {
    tend(db) {
      if (state === 'emptied') {
        state = 'resting'
        copy(db)
      }
      commits += 1
      if (state === 'emptying' || commits % LOOK_EVERY !== 0 || checkpoint(db, 'NOOP') < LONG_PAGES) return
      emptier ??= start()
      emptier.postMessage('empty')
      state = 'emptying'
    },
    close: async () => void (await emptier?.terminate()),
  }
}

/** Copies what can be copied from the log into the database. */
export function copy(db: DatabaseSync): void {
  checkpoint(db, 'PASSIVE')
}

/** The log's length in pages. A disk that is full or broken is told of by the commits, and what stays in the log is not lost. */
function checkpoint(db: DatabaseSync, mode: 'PASSIVE' | 'NOOP'): number {
  try {
    return Number(db.prepare(`PRAGMA wal_checkpoint(${mode})`).get()?.['log'])
  } catch {
    return 0
  }
}
