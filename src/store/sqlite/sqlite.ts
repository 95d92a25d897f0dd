import { resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createCache } from '../cache.ts'
import { isInForce } from '../doubt.ts'
import { newInstance } from '../instance.ts'
import { compareBytes } from '../key-order.ts'
import { createLocks } from '../locks.ts'
import { createReadiness, type StoreOptions } from '../state.ts'
import { withTextChecks } from '../storable-text.ts'
import type { Link, LinkKey, Store } from '../store.ts'
import { createReader, type Reader } from './cache.ts'
import { createEvents } from './events.ts'
import { createPruning } from './pruning.ts'
import { SCAN_PAGE } from './reads.ts'
import { originOf, readStamp } from './stamp.ts'
import { startWriter } from './writer.ts'
import { FORGET_BATCH } from './writes.ts'

/** Options of the embedded store. */
export interface SqliteOptions extends StoreOptions {
  readonly path: string
  /** For tests: the number of pages that fit on the disk. */
  readonly room?: Int32Array<SharedArrayBuffer>
}

/**
 * Opens the embedded store, a file that several processes may share. Writes go to a thread that commits them in batches:
 * the event loop never waits for the disk. Reads are answered in this thread, from the cache or a read-only connection.
 */
export async function openSqliteStore({
  path,
  cacheBytes,
  onState,
  room,
  mustExist,
  now = Date.now,
}: SqliteOptions): Promise<Store> {
  const file = resolve(path)
  const cache = createCache(cacheBytes)
  const reader = createReader(file, cache, () => writer)
  const readiness = createReadiness(onState)
  const writer = startWriter(
    { path: file, room, mustExist },
    { onState: readiness.set, onCommit: reader.noteCommit, onLost: reader.reset },
  )

  try {
    await writer.started
  } catch (error) {
    await writer.close()
    throw error
  }

  const locks = createLocks(
    {
      takeLock: (key, holder, leaseMs) => writer.call('takeLock', key, holder, leaseMs),
      dropLock: (key, holder) => writer.call('dropLock', key, holder),
    },
    newInstance(),
  )

  return withTextChecks({
    engine: 'sqlite',
    ready: readiness.ready,
    now,
    lookups: cache.lookups,
    async close() {
      readiness.end()
      reader.close()
      await writer.close()
    },

    put: (write) => writer.call('put', write, now()),
    unlink: (links) => writer.call('unlink', links),
    load: (links, options) => writer.call('load', links, options, now()),
    async forget(olderThanMs) {
      let dropped = 0
      for (;;) {
        const batch = await writer.step('forget', olderThanMs, now())
        dropped += batch
        if (batch < FORGET_BATCH) return dropped
      }
    },
    links: async (tenant, name) =>
      reader.read(
        (reads) => {
          const links = reads.links(tenant, name)
          cache.keepLinks(tenant, name, links)
          return links
        },
        (isCurrent) => cache.links(tenant, name, isCurrent),
      ),
    thing: async (tenant, id) =>
      reader.read(
        (reads) => {
          const thing = reads.thing(tenant, id)
          if (thing) cache.keepThing(thing)
          return thing
        },
        (isCurrent) => cache.thing(tenant, id, isCurrent),
      ),
    scan: (options) => scan(reader, options),

    claim: (wanted) => writer.call('claim', wanted, now()),
    change: (claim, change, names) => writer.call('change', claim, change, names ?? null, now()),
    findClaim: async (tenant, key) => reader.read((reads) => reads.findClaim(tenant, key)),
    claimByHandle: async (handle) => reader.read((reads) => reads.claimByHandle(handle)),
    claimsOfShipment: async (tenant, shipment) => reader.read((reads) => reads.claimsOfShipment(tenant, shipment)),
    listClaims: async (options) => reader.read((reads) => reads.listClaims(options)),
    audit: async (handle) => reader.read((reads) => reads.audit(handle)),
    renewLease: (instance, maxAgeMs) => writer.call('renewLease', instance, maxAgeMs),
    endLease: (instance) => writer.call('endLease', instance),
    orphanClaims: (silentForMs, by) => writer.call('orphanClaims', silentForMs, by, now()),
    addCounts: (batch) => writer.call('addCounts', batch, now()),
    dropCounts: (beforeDay) => writer.step('dropCounts', beforeDay, now()),
    countedTenants: async (after) => reader.read((reads) => reads.countedTenants(after)),
    callCounts: async (tenant, fromDay) => reader.read((reads) => reads.callCounts(tenant, fromDay)),
    nameCounts: async (tenant) => reader.read((reads) => reads.nameCounts(tenant)),
    watchedDays: async () => reader.read((reads) => reads.watchedDays()),
    doubt: async () => {
      const doubt = reader.read((reads) => reads.doubt())
      return doubt && isInForce(doubt, now()) ? doubt : undefined
    },
    declareDoubt: (doubt) => writer.call('declareDoubt', doubt, now()),
    trust: () => writer.call('trust', readStamp(file) ?? null),
    origin: async () =>
      originOf(
        reader.read((reads) => reads.identity()),
        readStamp(file),
      ),
    exclusive: locks.exclusive,
    ...createEvents(reader, writer, now),
    ...createPruning(reader, writer, file, now),
  })
}

/** Reads page by page in separate transactions, which lets checkpoints and calls run in between. */
async function* scan(reader: Reader, options: Parameters<Store['scan']>[0]): AsyncGenerator<readonly Link[]> {
  const { tenant: only } = options
  if (only !== undefined && options.after && compareBytes(only, options.after.tenant) < 0) return
  let after: LinkKey | undefined = options.after
  let gathered: Link[] = []
  let tenant = reader.read((reads) => {
    const name = only ?? after?.tenant
    const no = name === undefined ? undefined : reads.tenantNo(name)
    if (name !== undefined && no !== undefined) return { no, name }
    return only === undefined ? reads.tenantAfter(after?.tenant) : undefined
  })
  while (tenant) {
    const { no, name } = tenant
    const from = after?.tenant === name ? after : undefined
    const page = reader.read((reads) => reads.page(no, name, from, SCAN_PAGE - gathered.length))
    gathered = gathered.concat(page)
    after = gathered.at(-1)
    if (gathered.length >= SCAN_PAGE) {
      yield gathered
      gathered = []
      await nextTurn()
    } else {
      tenant = only === undefined ? reader.read((reads) => reads.tenantAfter(name)) : undefined
    }
  }
  if (gathered.length > 0) yield gathered
}
