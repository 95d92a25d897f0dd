import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { backoffMs } from '../../../runtime/time.ts'
import { StoreDown, StoreTooNew } from '../store.ts'
import {
  type Connection,
  damaged,
  FilesLost,
  isDamage,
  isNoDatabase,
  isStoreFailure,
  messageOf,
  NotAStore,
  openConnection,
} from './connection.ts'
import { workOf } from './session.ts'
import { keepStamp } from './stamp.ts'
import type { WriterEnd } from './thread.ts'
import type { WorkerData, WriteCall, WriteResult, WriterReply, WriterRequest } from './writer.ts'

/** The most writes that share a commit, which bounds the wait of the first one. */
const MAX_BATCH = 1_000
/** How often the files are checked while there is nothing to write. */
const WATCH_EVERY_MS = 500
/** How often the stamp is written. A copy made in between is recognized only by its other marks. */
const STAMP_EVERY_MS = 2_000
/** A checkpoint follows this many writes, after they are answered, because it takes milliseconds. */
const CHECKPOINT_WRITES = 1_500

/** Answers the messages of `startWriter` by the other end of a port: the first opens a store, and one closes it and the port. */
export function serveWrites(port: MessagePort): void {
  let file: ReturnType<typeof openFile> | undefined
  const nextMessage = (): string | undefined => receiveMessageOnPort(port)?.message

  port.on('message', (first: WorkerData | string) => {
    if (typeof first !== 'string') {
      file = openFile(first, (reply) => port.postMessage(JSON.stringify(reply)))
      return
    }
    const calls: WriteCall[] = []
    const steps: WriteCall[] = []
    let isClosing = false
    // All requests that have arrived: the slower the disk, the larger the batch.
    for (let text: string | undefined = first; text !== undefined; text = nextMessage()) {
      const request: WriterRequest = JSON.parse(text)
      if ('close' in request) isClosing = true
      else {
        calls.push(...request.calls)
        steps.push(...request.steps)
      }
    }
    file?.commit(calls)
    for (const step of steps) file?.commit([step])
    if (!isClosing) return
    file?.close()
    port.close()
  })
}

/** Writes in this thread: a command has nothing else to do meanwhile, and a thread takes longer to start than most commands to run. */
export function inThisThread(): WriterEnd {
  const { port1: port, port2: other } = new MessageChannel()
  serveWrites(other)
  return {
    postMessage: (message) => port.postMessage(message),
    onMessage: (listener) => port.on('message', listener),
    onEnd: (listener) => port.once('close', () => listener('it ended')),
  }
}

/** Thrown if a write is invalid, so that its batch cannot be committed. */
class InvalidWrite extends Error {}

/** Opens a store to write in it, and watches its files. */
function openFile(data: WorkerData, send: (reply: WriterReply) => void) {
  let connection: Connection | undefined
  /** The file that was opened first: while the process lives, the store is in no other. */
  let identity = data.file
  /** The count of the last commit. */
  let commits: number | undefined
  let writesSinceCheckpoint = 0
  /** Why the open connection cannot be trusted any more. */
  let lost: FilesLost | undefined
  let failures = 1
  let retry: NodeJS.Timeout | undefined

  function connect(): Connection {
    const opened = openConnection({ ...data, file: identity, commits })
    identity = opened.guard.identity
    return opened
  }

  /** Commits a batch in one transaction. The files are checked before, and again before any write is acknowledged. */
  function commitBatch(calls: readonly WriteCall[]): WriterReply {
    connection ??= connect()
    const { session, guard } = connection
    guard.check()
    connection.begin()
    const results: WriteResult[] = calls.map(({ no, name, args, now }) => {
      try {
        return { no, result: session.run(workOf(name, args), now) }
      } catch (error) {
        // This write has written nothing.
        if (error instanceof StoreDown) return { no, down: error.message }
        throw isStoreFailure(error) ? error : new InvalidWrite(messageOf(error))
      }
    })
    commits = connection.commit() ?? commits
    guard.check()
    writesSinceCheckpoint += calls.length
    return { results }
  }

  /** Commits a batch; if one of its writes is invalid, commits each write by itself. */
  function commitAll(calls: readonly WriteCall[]): void {
    try {
      send(commitBatch(calls))
    } catch (error) {
      if (!(error instanceof InvalidWrite)) throw error
      connection?.db.exec('ROLLBACK')
      const [only, ...others] = calls
      if (only && others.length === 0) send({ results: [{ no: only.no, failed: error.message }] })
      else for (const call of calls) commitAll([call])
    }
  }

  function commit(calls: readonly WriteCall[]): void {
    for (let from = 0; from < calls.length; from += MAX_BATCH) {
      const batch = calls.slice(from, from + MAX_BATCH)
      try {
        if (lost) throw lost
        commitAll(batch)
        markUp()
        if (connection && writesSinceCheckpoint >= CHECKPOINT_WRITES) checkpoint(connection, 'PASSIVE')
      } catch (error) {
        if (error !== lost) markDown(error)
        send({ results: batch.map(({ no }) => ({ no, down: messageOf(error) })) })
      }
    }
  }

  /**
   * Copies pages from the WAL into the database: those that can be copied (`PASSIVE`), or all, which empties the WAL (`TRUNCATE`). If the
   * disk is full or broken, commits fail, but the pages in the WAL are not lost.
   */
  function checkpoint({ db }: Connection, mode: 'PASSIVE' | 'TRUNCATE'): void {
    writesSinceCheckpoint = 0
    try {
      db.prepare(`PRAGMA wal_checkpoint(${mode})`).get()
    } catch {
      // The next commit reports the failure.
    }
  }

  /** Tests whether writes work, with one that changes nothing. */
  function probe(): void {
    try {
      connection ??= connect()
      connection.guard.check()
      connection.begin()
      connection.db.exec('UPDATE identity SET one = 1; COMMIT')
      lost = undefined
      markUp()
    } catch (error) {
      markDown(error)
    }
  }

  /** Writes the stamp beside the store. */
  function stamp(): void {
    if (!connection || lost) return
    try {
      keepStamp(connection.session, data.path)
    } catch {
      // The next write reports what is wrong with the store.
    }
  }

  /** Detects lost files while there is nothing to write. */
  function watch(): void {
    if (!connection || lost) return
    try {
      connection.guard.check()
    } catch (error) {
      markDown(error)
    }
  }

  function markUp(): void {
    clearTimeout(retry)
    if (failures !== 0 && identity) send({ ready: true, file: identity })
    failures = 0
  }

  /**
   * Closes a failed connection, because a new one relies on nothing that the old one left in memory. A connection whose files are lost stays
   * open instead, because a new one would lead to other files.
   */
  function markDown(failure: unknown): void {
    const error = identity && isDamage(failure) ? damaged(data.path, messageOf(failure)) : failure
    if (error instanceof FilesLost && connection) markLost(connection, error)
    else disconnect()
    failures += 1
    send({ ready: false, error: messageOf(error), kind: kindOf(error) })
    clearTimeout(retry)
    if (lost?.kind !== 'spoiled') retry = setTimeout(probe, backoffMs(failures))
  }

  function markLost(open: Connection, error: FilesLost): void {
    const { db } = open
    if (db.isTransaction) db.exec('ROLLBACK')
    // Everything goes into the database file, so that at the next start neither that file nor a restored backup meets the other's WAL.
    if (error.kind === 'moved' && !lost) checkpoint(open, 'TRUNCATE')
    lost = error
  }

  function disconnect(): void {
    connection?.close()
    connection = undefined
  }

  const watching = setInterval(watch, WATCH_EVERY_MS)
  const stamping = setInterval(stamp, STAMP_EVERY_MS)
  probe()
  return {
    commit,
    close(): void {
      clearTimeout(retry)
      clearInterval(watching)
      clearInterval(stamping)
      stamp()
      // Closing the last connection runs the last checkpoint and removes the WAL.
      disconnect()
    },
  }
}

function kindOf(error: unknown): 'down' | 'too-new' | 'not-a-store' | 'lost' {
  if (error instanceof StoreTooNew) return 'too-new'
  if (error instanceof FilesLost) return 'lost'
  return error instanceof NotAStore || isNoDatabase(error) ? 'not-a-store' : 'down'
}
