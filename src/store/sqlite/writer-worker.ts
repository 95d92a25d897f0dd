import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { backoffMs } from '../retry.ts'
import { StoreTooNew } from '../store.ts'
import { createCheckpoints, MAX_WAL_PAGES } from './checkpoints.ts'
import {
  changesCachedData,
  decode,
  encode,
  type WorkerData,
  type WriteCall,
  type WriteResult,
  type WriterReply,
  type WriterRequest,
} from './protocol.ts'
import { migrate, NotAStore } from './schema.ts'
import { createWrites, type Writes } from './writes.ts'

/** How long another process may hold the write lock before a write fails. */
const BUSY_TIMEOUT_MS = 5_000
/** About the time of a commit. SQLite itself would sleep one millisecond, then two, then five, while others go on. */
const LOCK_POLL_MS = 0.3
/** How many writes share a commit at most, to bound the wait of the first one. */
const MAX_BATCH = 1_000
const CACHE_KIB = 2_048
const WAL_LIMIT_BYTES = 64 * 1024 * 1024

/** Result codes of SQLite. */
const SQLITE = { BUSY: 5, TOOBIG: 18, CONSTRAINT: 19, MISMATCH: 20, RANGE: 25, NOTADB: 26 }

interface Connection {
  readonly db: DatabaseSync
  readonly writes: Writes
  readonly begin: StatementSync
  readonly commit: StatementSync
  /** Counts a commit that changes cached data. */
  nextCacheVersion(): number
}

if (!parentPort) throw new Error('This module runs as a worker thread.')
const port = parentPort
// `workerData` is untyped; only `startWriter` starts this worker.
const { path, room } = workerData as WorkerData
const checkpoints = createCheckpoints({ path })
let connection: Connection | undefined
let failures = 0
let retry: NodeJS.Timeout | undefined

function connect(): Connection {
  mkdirSync(dirname(path), { recursive: true })
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
  try {
    db.exec(`PRAGMA cache_size = -${CACHE_KIB}; PRAGMA temp_store = MEMORY`)
    if (room?.[0]) db.exec(`PRAGMA max_page_count = ${room[0]}`)
    migrate(db)
    db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${MAX_WAL_PAGES}`)
    db.exec(`PRAGMA journal_size_limit = ${WAL_LIMIT_BYTES}`)
    // From here on `beginTransaction` waits for the lock.
    db.exec('PRAGMA busy_timeout = 0')
    const countCommit = db.prepare('UPDATE change_counter SET commits = commits + 1 RETURNING commits')
    return {
      db,
      writes: createWrites(db),
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      nextCacheVersion: () => Number(countCommit.get()?.['commits']),
    }
  } catch (error) {
    db.close()
    throw error
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/** Begins a write transaction as soon as other processes release the lock. */
function beginTransaction({ begin }: Connection): void {
  const until = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      begin.run()
      return
    } catch (error) {
      if (codeOf(error) !== SQLITE.BUSY || performance.now() > until) throw error
    }
    // With jitter: in step with another process, this one could always come second.
    Atomics.wait(sleeper, 0, 0, LOCK_POLL_MS * (0.5 + Math.random()))
  }
}

/** One write of a batch is invalid, and the batch cannot be committed. */
class InvalidWrite extends Error {}

/** Commits a batch in one transaction. */
function commitBatch(calls: readonly WriteCall[]): WriterReply {
  connection ??= connect()
  const { writes, nextCacheVersion, commit } = connection
  beginTransaction(connection)
  const results: WriteResult[] = calls.map((call) => {
    try {
      return { no: call.no, result: run(writes, call) }
    } catch (error) {
      throw isStoreFailure(error) ? error : new InvalidWrite(messageOf(error))
    }
  })
  const version = calls.some(changesCachedData) ? { cacheVersion: nextCacheVersion() } : {}
  commit.run()
  return { results, ...version }
}

/** Commits a batch; if one of its writes is invalid, commits each write by itself. */
function commitAll(calls: readonly WriteCall[]): void {
  try {
    send(commitBatch(calls))
  } catch (error) {
    if (!(error instanceof InvalidWrite)) throw error
    connection?.db.exec('ROLLBACK')
    connection?.writes.clearTenantNumbers()
    const [only, ...others] = calls
    if (only && others.length === 0) send({ results: [{ no: only.no, failed: error.message }] })
    else for (const call of calls) commitAll([call])
  }
}

function run(writes: Writes, { name, args }: WriteCall): unknown {
  // The types of the sending side paired name and arguments.
  const write = writes[name] as (...args: readonly unknown[]) => unknown
  return write(...args)
}

function serve(calls: readonly WriteCall[]): void {
  for (let from = 0; from < calls.length; from += MAX_BATCH) {
    const batch = calls.slice(from, from + MAX_BATCH)
    try {
      commitAll(batch)
      markUp()
      if (connection) checkpoints.afterCommit(connection.db)
    } catch (error) {
      markDown(error)
      send({ results: batch.map(({ no }) => ({ no, down: messageOf(error) })) })
    }
  }
}

/** Tests if writes work, with one that changes nothing. */
function probe(): void {
  try {
    connection ??= connect()
    beginTransaction(connection)
    connection.db.exec('UPDATE change_counter SET commits = commits; COMMIT')
    markUp()
  } catch (error) {
    markDown(error)
  }
}

function markUp(): void {
  clearTimeout(retry)
  retry = undefined
  if (failures !== 0) send({ ready: true })
  failures = 0
}

/** Closes a failed connection: a new one relies on nothing that the old one left in memory. */
function markDown(error: unknown): void {
  disconnect()
  failures += 1
  send({ ready: false, error: messageOf(error), kind: kindOf(error) })
  clearTimeout(retry)
  retry = setTimeout(probe, backoffMs(failures))
}

/** Closes the connection, which rolls back an open transaction. */
function disconnect(): void {
  connection?.db.close()
  connection = undefined
}

function kindOf(error: unknown): 'down' | 'too-new' | 'not-a-store' {
  if (error instanceof StoreTooNew) return 'too-new'
  return error instanceof NotAStore || codeOf(error) === SQLITE.NOTADB ? 'not-a-store' : 'down'
}

/** Tells a failure of the database from an invalid write, which SQLite blames on the values. */
function isStoreFailure(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && ![SQLITE.TOOBIG, SQLITE.CONSTRAINT, SQLITE.MISMATCH, SQLITE.RANGE].includes(code)
}

function codeOf(error: unknown): number | undefined {
  // The low byte is the primary result code.
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function send(reply: WriterReply): void {
  port.postMessage(encode(reply))
}

port.on('message', (first: string) => {
  const calls: WriteCall[] = []
  let request: WriterRequest | undefined = decode(first)
  let closing = false
  // All waiting writes share a commit: the slower the disk, the larger the batch.
  while (request) {
    if ('close' in request) closing = true
    else calls.push(...request.calls)
    const next: { message: string } | undefined = receiveMessageOnPort(port)
    request = next && decode(next.message)
  }
  serve(calls)
  if (!closing) return
  clearTimeout(retry)
  // Closing the last connection runs the last checkpoint and removes the WAL.
  void checkpoints.close().then(() => {
    disconnect()
    port.close()
  })
})

failures = 1
probe()
