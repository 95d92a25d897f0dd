import { newInstance } from '../instance.ts'
import { createLocks } from '../locks.ts'
import { createReadiness, type StoreOptions } from '../state.ts'
import { withTextChecks } from '../storable-text.ts'
import { type LinkKey, type Store, StoreDown } from '../store.ts'
import { readAddress } from './address.ts'
import { CAPACITY_EVERY_MS, capacityWarning } from './capacity.ts'
import { createClaims, type InTransaction } from './claims.ts'
import { createPool } from './connect.ts'
import { createDoubts } from './doubts.ts'
import { asStoreError, isReadOnly } from './errors.ts'
import { createEvents } from './events.ts'
import { createLockRows } from './locks.ts'
import { createPruning } from './pruning.ts'
import { createLinks, createThing } from './reads.ts'
import { createScoreboard } from './scoreboard.ts'
import { startSession } from './session.ts'
import { createPut, forget, linksAfter, load, SCAN_PAGE, unlink } from './xref.ts'

/** The most connections of a gateway, besides its session. */
const CONNECTIONS = 10

/** Options of a store on PostgreSQL. */
export interface PostgresOptions extends StoreOptions {
  readonly url: string
}

/**
 * Opens a store on PostgreSQL, which several gateways may share. Nothing is cached: what one gateway has written, every other one
 * reads. It keeps no state of a session, so a pooler may give each transaction another one.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const { url, onState, onNotice = () => undefined } = options
  const { connections = CONNECTIONS, processes = 1 } = options
  const { servers, notices } = readAddress(url)
  const readiness = createReadiness(onState)
  let closed = false

  const { pool, use, leave } = createPool(servers[0], connections, (error) => session.leave(error))
  notices.forEach(onNotice)

  const session = startSession({
    servers,
    onUp(target) {
      use(target)
      readiness.set({ ready: true, server: target.server.place })
      void warnOfCapacity()
    },
    onDown(error) {
      readiness.set({ ready: false, error })
      leave()
    },
    onNotice,
  })

  let warned: string | undefined
  async function warnOfCapacity(): Promise<void> {
    if (closed || !readiness.ready()) return
    const warning = await capacityWarning(pool, connections, processes).catch(() => warned)
    if (warning !== undefined && warning !== warned) onNotice(warning)
    warned = warning
  }
  const capacityTimer = setInterval(() => void warnOfCapacity(), CAPACITY_EVERY_MS)

  /** Runs a query; fails at once while the server is down, and converts errors for the contract. */
  async function ask<T>(work: () => Promise<T>): Promise<T> {
    if (closed) throw new StoreDown('The store is closed.')
    if (!readiness.ready()) throw new StoreDown('PostgreSQL does not answer.')
    try {
      return await work()
    } catch (error) {
      if (isReadOnly(error)) session.leave(error)
      throw asStoreError(error)
    }
  }

  const inTransaction: InTransaction = async (work) => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const result = await work(client)
      await client.query('COMMIT')
      client.release()
      return result
    } catch (error) {
      // The connection ends with the transaction, in any state.
      client.release(true)
      throw error
    }
  }

  const put = createPut(pool)
  const links = createLinks(pool)
  const thing = createThing(pool)
  const claims = createClaims(pool, inTransaction)
  const lockRows = createLockRows(pool)
  const counts = createScoreboard(pool, inTransaction)
  const locks = createLocks(
    {
      takeLock: (key, holder, leaseMs) => ask(() => lockRows.takeLock(key, holder, leaseMs)),
      dropLock: (key, holder) => ask(() => lockRows.dropLock(key, holder)),
    },
    newInstance(),
  )

  async function close(): Promise<void> {
    clearInterval(capacityTimer)
    await Promise.all([session.close(), pool.end()])
  }

  try {
    await session.started
  } catch (error) {
    await close()
    throw error
  }

  return withTextChecks({
    engine: 'postgres',
    ready: readiness.ready,
    now: session.now,
    async close() {
      if (closed) return
      closed = true
      readiness.end()
      await close()
    },

    put: (names) => ask(() => put(names)),
    unlink: (all) => ask(() => unlink(pool, all)),
    load: (all, { replace }) => ask(() => inTransaction((client) => load(client, all, replace))),
    forget: (olderThanMs) => ask(() => forget(pool, olderThanMs)),
    links: (tenant, name) => ask(() => links({ tenant, name })),
    thing: (tenant, id) => ask(() => thing({ tenant, id })),
    async *scan({ tenant, after }) {
      let last: LinkKey | undefined = after
      for (;;) {
        const page = await ask(() => linksAfter(pool, tenant, last))
        if (page.length > 0) yield page
        if (page.length < SCAN_PAGE) return
        last = page.at(-1)
      }
    },

    claim: (wanted) => ask(() => claims.claim(wanted)),
    change: (claim, change, names) => ask(() => claims.change(claim, change, names)),
    findClaim: (tenant, key) => ask(() => claims.findClaim(tenant, key)),
    claimByHandle: (handle) => ask(() => claims.claimByHandle(handle)),
    claimsOfShipment: (tenant, shipment) => ask(() => claims.claimsOfShipment(tenant, shipment)),
    listClaims: (options) => ask(() => claims.listClaims(options)),
    audit: (handle) => ask(() => claims.audit(handle)),
    renewLease: (instance, maxAgeMs) => ask(() => claims.renewLease(instance, maxAgeMs)),
    endLease: (instance) => ask(() => claims.endLease(instance)),
    orphanClaims: (silentForMs, by) => ask(() => claims.orphanClaims(silentForMs, by)),
    addCounts: (batch) => ask(() => counts.addCounts(batch)),
    dropCounts: (beforeDay) => ask(() => counts.dropCounts(beforeDay)),
    countedTenants: (after) => ask(() => counts.countedTenants(after)),
    callCounts: (tenant, fromDay) => ask(() => counts.callCounts(tenant, fromDay)),
    nameCounts: (tenant) => ask(() => counts.nameCounts(tenant)),
    watchedDays: () => ask(() => counts.watchedDays()),
    ...createDoubts(pool, inTransaction, ask),
    exclusive: locks.exclusive,
    ...createEvents(pool, inTransaction, ask),
    ...createPruning(pool, ask),
  })
}
