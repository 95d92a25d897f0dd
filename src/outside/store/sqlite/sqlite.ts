import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { READS } from '../all-verbs.ts'
import { newInstance } from '../instance.ts'
import { createLocks } from '../locks.ts'
import { scan } from '../names.ts'
import type { StoreSize } from '../pruning.ts'
import { createReadiness, type StoreOptions } from '../state.ts'
import { type Engine, type Store, StoreDown } from '../store.ts'
import { type AnyVerb, bind, sql, type Work } from '../work.ts'
import { isDamage, messageOf, migrate, openReader } from './connection.ts'
import { inThisThread } from './file-writer.ts'
import { createSession, WRITES, type WriteName, workOf } from './session.ts'
import { identity, originOf, readStamp, type Stamp } from './stamp.ts'
import { takeThread } from './thread.ts'
import { startWriter } from './writer.ts'

/** The housekeeping steps, which no write waits for. */
const STEPS: ReadonlySet<string> = new Set(['prune', 'turnDay'])

/**
 * Opens the embedded store, a file that several processes may share. Writes go to a thread that commits them in batches, so that the event
 * loop never waits for the disk. Reads are answered in this thread.
 */
export async function openSqliteStore({
  path,
  onState,
  now = Date.now,
  blocks = false,
}: StoreOptions & { readonly path: string }): Promise<Store> {
  const file = resolve(path)
  const readiness = createReadiness(onState)
  let reader: ReturnType<typeof openReader> | undefined
  let closed = false

  function disconnect(): void {
    reader?.db.close()
    reader = undefined
  }

  const writer = startWriter(blocks ? inThisThread : takeThread, file, now, readiness.set, disconnect)

  function read<T>(work: Work<T>): T {
    if (closed) throw new StoreDown('The store is closed.')
    const failure = writer.failure()
    if (failure) throw failure
    try {
      reader ??= openReader(file)
      return reader.session.run(work, now())
    } catch (error) {
      disconnect()
      if (isDamage(error)) writer.reportDamage(messageOf(error))
      throw new StoreDown('The store cannot be read.', { cause: error })
    }
  }

  try {
    await writer.started
  } catch (error) {
    await writer.close()
    throw error
  }

  return createStore({
    engine: 'sqlite',
    ready: readiness.ready,
    now,
    async close() {
      readiness.end()
      closed = true
      disconnect()
      await writer.close()
    },
    read,
    writeOf: (name) => {
      const isStep = STEPS.has(name)
      return (...args) => writer.call(name, args, isStep)
    },
    logBytes: () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    stamp: () => readStamp(file),
  })
}

/** Creates a store in this thread that ends with the process, so nothing in it is durable. */
export function createMemoryStore({
  now = Date.now,
  monotonicNow,
}: StoreOptions & {
  /** The clock for leases, in milliseconds. @default the time since the machine started */
  readonly monotonicNow?: () => number
} = {}): Store {
  const db = new DatabaseSync(':memory:')
  const session = createSession(db, now(), monotonicNow)
  migrate(db)
  function run<T>(work: Work<T>): T {
    if (!db.isOpen) throw new StoreDown('The store is closed.')
    return session.run(work, now())
  }
  return createStore({
    engine: 'memory',
    ready: () => db.isOpen,
    now,
    async close() {
      if (db.isOpen) db.close()
    },
    read: run,
    writeOf:
      (name) =>
      async (...args) => {
        if (db.isOpen) db.exec('BEGIN')
        try {
          const result = run(workOf(name, args))
          db.exec('COMMIT')
          return result
        } catch (error) {
          if (db.isOpen) db.exec('ROLLBACK')
          throw error
        }
      },
    logBytes: () => 0,
    stamp: () => undefined,
  })
}

/** The differences between the two kinds of store. */
interface Parts extends Engine {
  readonly read: <T>(work: Work<T>) => T
  readonly writeOf: (name: WriteName) => AnyVerb
  readonly logBytes: () => number
  readonly stamp: () => Stamp | undefined
}

function createStore({ read, writeOf, logBytes, stamp, ...own }: Parts): Store {
  const reads = bind(
    READS,
    (_name, work) =>
      async (...args) =>
        read(work(...args)),
  )
  const { takeLock, dropLock, trust, ...writes } = bind(WRITES, writeOf)
  const { exclusive } = createLocks({ takeLock, dropLock }, newInstance())
  return {
    ...own,
    ...reads,
    ...writes,
    exclusive,
    // Only what is needed, because each property takes time on the way to the writer thread.
    change: ({ tenant, key, version }, change, names) => writes.change({ tenant, key, version }, change, names),
    scan: (options) => scan(reads.namesAfter, options),
    size: async () => read(sizeOf(logBytes())),
    // `null`, because messages to the writer thread cannot contain `undefined`.
    trust: async () => trust(stamp() ?? null),
    origin: async () => originOf(read(identity()), stamp()),
  }
}

function* sizeOf(logBytes: number): Work<StoreSize> {
  const [pages] = yield sql(`SELECT page_count * page_size AS bytes, freelist_count * page_size AS free
    FROM pragma_page_count, pragma_freelist_count, pragma_page_size`)
  return { bytes: Number(pages?.['bytes']) + logBytes, freeBytes: Number(pages?.['free']) }
}
