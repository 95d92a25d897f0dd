import type pg from 'pg'
import { readAddress } from '../../../language/config/postgres-address.ts'
import { READS, WRITES } from '../all-verbs.ts'
import { claimPlace } from '../claim.ts'
import { copyWrites, demandWhole } from '../copy.ts'
import { contentOf, doubtReads, dropDoubt, type Inspection } from '../doubt.ts'
import { newInstance } from '../instance.ts'
import { createLocks } from '../locks.ts'
import { scan } from '../names.ts'
import type { StoreSize } from '../pruning.ts'
import { VERSION } from '../schema.ts'
import { createReadiness, type StoreOptions } from '../state.ts'
import { type Claim, type NewClaim, type Store, StoreDown } from '../store.ts'
import { bind, type DatabaseRow, sql, type Work } from '../work.ts'
import { createBatches } from './batches.ts'
import { asStoreError, isInvalidWrite, isReadOnly } from './errors.ts'
import { connectTo, createPool, end } from './server.ts'
import { startSession, stepsOf } from './session.ts'

/** A gateway's most connections, besides its session. */
const CONNECTIONS = 10
/** Loading thousands of names takes longer than other queries may. */
const LOAD_TIMEOUT_MS = 60_000
/** Long, because all rows are counted. */
const INSPECTION_TIMEOUT_MS = 3_600_000

/** Writes with one statement, which is a transaction by itself. */
const SINGLE: ReadonlySet<string> = new Set(['takeLock', 'dropLock', 'endLease', 'keepBody', 'resumeEndpoint'])

/**
 * Opens a store on PostgreSQL, which several gateways may share. Nothing is cached: every gateway reads what any other has written. It
 * keeps no session state, so a pooler may give each transaction another session.
 */
export async function openPostgresStore({
  url,
  onState,
  onNotice = () => undefined,
}: StoreOptions & { readonly url: string }): Promise<Store> {
  const { server, notices } = readAddress(url)
  const readiness = createReadiness(onState)
  let closed = false

  const { pool, leave } = createPool(server, CONNECTIONS, (error) => session.leave(error))
  notices.forEach(onNotice)

  const session = startSession(
    server,
    () => readiness.set({ ready: true }),
    (error) => {
      readiness.set({ ready: false, error })
      leave()
    },
  )

  /** Runs queries; fails at once while the server is down, and converts errors for the contract. */
  async function ask<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw new StoreDown('The store is closed.')
    if (!readiness.ready()) throw new StoreDown('PostgreSQL does not answer.')
    try {
      return await work()
    } catch (error) {
      const known = asStoreError(error)
      if (isReadOnly(error)) session.leave(known)
      throw known
    }
  }

  /** Runs work in a transaction on one connection. */
  async function inTransaction<T>(work: Work<T>, timeoutMs?: number): Promise<T> {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const result = await run(client, work, timeoutMs)
      await client.query('COMMIT')
      client.release()
      return result
    } catch (error) {
      // The connection is closed, whatever state the transaction is in.
      client.release(true)
      throw error
    }
  }

  const calls = createBatches(pool)
  const reader: Queryable = { query: (query) => found<Rows>(pool.query(query), { rows: [] }) }
  const reads = bind(
    READS,
    (_name, work) =>
      (...args) =>
        ask(() => run(reader, work(...args))),
  )
  const { takeLock, dropLock, ...writes } = bind(WRITES, (name, work) => {
    if (SINGLE.has(name)) return (...args) => ask(() => run(pool, work(...args)))
    const timeoutMs = name === 'load' ? LOAD_TIMEOUT_MS : undefined
    return (...args) => ask(() => inTransaction(work(...args), timeoutMs))
  })
  const { exclusive } = createLocks({ takeLock, dropLock }, newInstance())

  async function close(): Promise<void> {
    await Promise.all([session.close(), pool.end()])
  }

  try {
    await session.started
  } catch (error) {
    await close()
    throw error
  }

  return {
    engine: 'postgres',
    ready: readiness.ready,
    now: session.now,
    async close() {
      if (closed) return
      closed = true
      readiness.end()
      await close()
    },
    ...reads,
    ...writes,
    exclusive,
    scan: (options) => scan(reads.namesAfter, options),
    named: (tenant, name) => ask(() => found(calls.named({ tenant, name }), [])),
    quote: (tenant, id) => ask(() => found(calls.quote({ tenant, id }), undefined)),
    shipment: (tenant, id) => ask(() => found(calls.shipment({ tenant, id }), undefined)),
    put: (names) => ask(() => calls.put(names)),
    async claim(wanted) {
      const claim = wanted.doubtSince === undefined ? await ask(() => calls.claim(wanted)) : undefined
      if (claim) return { won: true, claim }
      // The key exists, usually with a claim that holds it permanently.
      const holder = await ask(() => run(pool, heldInWhole(wanted)))
      return holder ? { won: false, claim: holder } : writes.claim(wanted)
    },
    change: (claim, change, names) => ask(() => calls.change({ claim, change, names })),
    beginCopy: (from) => ask(() => inTransaction(beginCopy(from))),
    async endCopy(day) {
      await writes.endCopy(day)
      await ask(() => pool.query(CONTINUE_NUMBERS))
    },
    trust: () => ask(() => run(pool, dropDoubt())),
    // A database is not tied to a place, so it never counts as a copy.
    origin: () => ask(async () => ({ kind: 'own' })),
    size: () => ask(() => run(pool, sizeOf())),
  }
}

/** Returns the claim that holds a key, if the store may be relied on: a store that was copied to another one knows no later changes. */
function* heldInWhole(wanted: NewClaim): Work<Claim | undefined> {
  yield* demandWhole()
  return (yield* claimPlace(wanted, Number.POSITIVE_INFINITY)).holder
}

interface Rows {
  readonly rows: readonly DatabaseRow[]
}

interface Queryable {
  query(query: pg.QueryConfig): Promise<Rows>
}

/** Returns an answer; a lookup of text that PostgreSQL rejects, such as NUL, finds nothing. */
async function found<T>(answer: Promise<T>, nothing: T): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (isInvalidWrite(error)) return nothing
    throw error
  }
}

async function run<T>(client: Queryable, work: Work<T>, timeoutMs?: number): Promise<T> {
  let step = work.next()
  while (step.done !== true) {
    const { text, values } = step.value
    // The driver supports a timeout per query, but its types do not have it.
    const query = { text, values: [...values], ...(timeoutMs !== undefined && { query_timeout: timeoutMs }) }
    step = work.next((await client.query(query)).rows)
  }
  return step.value
}

/** Begins a copy after waiting for the claims that started before they could see the mark. */
function* beginCopy(from: string): Work<void> {
  yield sql('LOCK TABLE transload.claims IN SHARE ROW EXCLUSIVE MODE')
  yield* copyWrites.beginCopy(from)
}

/** Continues after the numbers that copied rows brought along. */
const CONTINUE_NUMBERS = ['events', 'quotes']
  .map(
    (table) =>
      `SELECT setval(pg_get_serial_sequence('transload.${table}', 'no'), (SELECT max(no) FROM transload.${table}))`,
  )
  .join('; ')

const BYTES = `SELECT sum(pg_total_relation_size(pg_class.oid)) AS bytes FROM pg_catalog.pg_class
  JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'transload' AND relkind = 'r'`

function* sizeOf(): Work<StoreSize> {
  const [size] = yield sql(BYTES)
  return { bytes: Number(size?.['bytes']), freeBytes: 0 }
}

const TABLES = "SELECT tablename AS name FROM pg_catalog.pg_tables WHERE schemaname = 'transload' ORDER BY tablename"

/** Returns the statement that lets the user create the schema; no row if it may. */
const MISSING_RIGHT = `SELECT format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user) AS remedy
  WHERE NOT has_database_privilege(current_database(), 'CREATE')`

/** Inspects a store on PostgreSQL at one moment; undefined if there is none. Nothing is written, and gateways keep running. */
export const inspectPostgres = (url: string): Promise<Inspection | undefined> =>
  lookAt(url, async (client, version) => {
    if (version === 0) {
      const { rows } = await client.query(MISSING_RIGHT)
      if (rows.length > 0) throw new StoreDown(`The user may not create the schema. Run: ${rows[0].remedy}`)
      return undefined
    }
    const content = await run(client, contentOf(TABLES), INSPECTION_TIMEOUT_MS)
    const doubt = await run(client, doubtReads.doubt())
    return { version, programVersion: VERSION, faults: [], ...content, origin: { kind: 'own' }, doubt }
  })

/** Reports whether there may be a store: true unless a server says that there is none. */
export const mayHaveStore = async (url: string): Promise<boolean> =>
  lookAt(url, async (_client, version) => version > 0).catch(() => true)

/** Looks at a store at one moment; its version is 0 if there is none. */
async function lookAt<T>(url: string, look: (client: pg.Client, version: number) => Promise<T>) {
  let client: pg.Client | undefined
  try {
    client = await connectTo(readAddress(url).server)
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    return await look(client, await stepsOf(client))
  } catch (error) {
    throw asStoreError(error)
  } finally {
    if (client) end(client)
  }
}
