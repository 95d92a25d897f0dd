import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { retryDelayMs } from '../retry.ts'
import { StoreTooNew } from '../store.ts'
import { createLogKeeper, TOO_LONG_PAGES } from './checkpoints.ts'
import {
  type Answer,
  type Call,
  type FromWorker,
  packed,
  type ToWorker,
  touches,
  unpacked,
  type WorkerData,
} from './protocol.ts'
import { migrate, NotAStore } from './schema.ts'
import { createWrites, type Writes } from './writes.ts'

/** How long another process may hold the write lock before a write counts as failed. */
const BUSY_TIMEOUT_MS = 5_000
/** A commit takes about as long. SQLite by itself would sleep a millisecond, then two, then five, while the others go on. */
const LOCK_POLL_MS = 0.3
/** How many writes share a commit at most, so that the first does not wait for the thousands behind it. */
const GROUP = 1_000
const CACHE_KIB = 2_048
const LOG_LIMIT_BYTES = 64 * 1024 * 1024

/** Result codes of SQLite's own. */
const SQLITE = { BUSY: 5, TOOBIG: 18, CONSTRAINT: 19, MISMATCH: 20, RANGE: 25, NOTADB: 26 }

interface Connection {
  readonly db: DatabaseSync
  readonly writes: Writes
  readonly begin: StatementSync
  readonly end: StatementSync
  /** Counts the commit that is under way among those that touch what is cached. */
  pulse(): number
}

if (!parentPort) throw new Error('This module runs as a worker thread.')
const port = parentPort
// `workerData` is untyped; only the writer starts this worker.
const { path, room } = workerData as WorkerData
const logKeeper = createLogKeeper({ path })
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
    db.exec(`PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = ${TOO_LONG_PAGES}`)
    db.exec(`PRAGMA journal_size_limit = ${LOG_LIMIT_BYTES}`)
    // From here on the lock is waited for below.
    db.exec('PRAGMA busy_timeout = 0')
    const countCommit = db.prepare('UPDATE pulse SET commits = commits + 1 RETURNING commits')
    return {
      db,
      writes: createWrites(db),
      begin: db.prepare('BEGIN IMMEDIATE'),
      end: db.prepare('COMMIT'),
      pulse: () => Number(countCommit.get()?.['commits']),
    }
  } catch (error) {
    db.close()
    throw error
  }
}

const sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))

/** Begins a transaction that writes, as soon as other processes let it. */
function beginWriting({ begin }: Connection): void {
  const until = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      begin.run()
      return
    } catch (error) {
      if (codeOf(error) !== SQLITE.BUSY || performance.now() > until) throw error
    }
    // Not in step with the others, or one of them could always be faster.
    Atomics.wait(sleeper, 0, 0, LOCK_POLL_MS * (0.5 + Math.random()))
  }
}

/** One of the calls is to blame for the failure of all. */
class Refused extends Error {}

/** Commits what is asked in one transaction. */
function commit(calls: readonly Call[]): FromWorker {
  connection ??= connect()
  const { writes, pulse, end } = connection
  beginWriting(connection)
  const answers: Answer[] = calls.map((call) => {
    try {
      return { no: call.no, result: run(writes, call) }
    } catch (error) {
      throw isDown(error) ? error : new Refused(messageOf(error))
    }
  })
  const number = calls.some(touches) ? { pulse: pulse() } : {}
  end.run()
  return { answers, ...number }
}

/** Commits together what can be; where one is refused, each stands or falls by itself. */
function commitEach(calls: readonly Call[]): void {
  try {
    send(commit(calls))
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    connection?.db.exec('ROLLBACK')
    connection?.writes.forgetNumbers()
    const [only, ...others] = calls
    if (only && others.length === 0) send({ answers: [{ no: only.no, failed: error.message }] })
    else for (const call of calls) commitEach([call])
  }
}

function run(writes: Writes, { name, args }: Call): unknown {
  // Name and arguments were paired by the types of the sending side.
  const write = writes[name] as (...args: readonly unknown[]) => unknown
  return write(...args)
}

function serve(calls: readonly Call[]): void {
  for (let from = 0; from < calls.length; from += GROUP) {
    const group = calls.slice(from, from + GROUP)
    try {
      commitEach(group)
      up()
      if (connection) logKeeper.tend(connection.db)
    } catch (error) {
      down(error)
      send({ answers: group.map(({ no }) => ({ no, down: messageOf(error) })) })
    }
  }
}

/** Writes something that changes nothing, to see whether writes work. */
function probe(): void {
  try {
    connection ??= connect()
    beginWriting(connection)
    connection.db.exec('UPDATE pulse SET commits = commits; COMMIT')
    up()
  } catch (error) {
    down(error)
  }
}

function up(): void {
  clearTimeout(retry)
  retry = undefined
  if (failures !== 0) send({ ready: true })
  failures = 0
}

/** Lets go of a connection that failed: a new one trusts nothing that the old one left in memory. */
function down(error: unknown): void {
  disconnect()
  failures += 1
  send({ ready: false, error: messageOf(error), kind: kindOf(error) })
  clearTimeout(retry)
  retry = setTimeout(probe, retryDelayMs(failures))
}

/** Closing rolls back what is open. */
function disconnect(): void {
  connection?.db.close()
  connection = undefined
}

function kindOf(error: unknown): 'down' | 'too-new' | 'not-a-store' {
  if (error instanceof StoreTooNew) return 'too-new'
  return error instanceof NotAStore || codeOf(error) === SQLITE.NOTADB ? 'not-a-store' : 'down'
}

/** Whether the database failed, rather than this one write: all but what SQLite blames on the values. */
function isDown(error: unknown): boolean {
  const code = codeOf(error)
  return code !== undefined && ![SQLITE.TOOBIG, SQLITE.CONSTRAINT, SQLITE.MISMATCH, SQLITE.RANGE].includes(code)
}

function codeOf(error: unknown): number | undefined {
  // The low byte is the kind of error, the rest says which of it.
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function send(message: FromWorker): void {
  port.postMessage(packed(message))
}

port.on('message', (first: string) => {
  const calls: Call[] = []
  let message: ToWorker | undefined = unpacked(first)
  let closing = false
  // Everything that waits goes into the same commit: the slower the disk, the more share it.
  while (message) {
    if ('close' in message) closing = true
    else calls.push(...message.calls)
    const next: { message: string } | undefined = receiveMessageOnPort(port)
    message = next && unpacked(next.message)
  }
  serve(calls)
  if (!closing) return
  clearTimeout(retry)
  // The last connection to be closed empties the log for good.
  void logKeeper.close().then(() => {
    disconnect()
    port.close()
  })
})

failures = 1
probe()
