import { resolve } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { type Cache, createCache, linksKey, thingKey } from './cache.ts'
import { byBytes } from './key-order.ts'
import type { StoreOptions } from './open.ts'
import { forSoundText } from './sound.ts'
import type { Call } from './sqlite-protocol.ts'
import { openReads, type Reads, SCAN_PAGE } from './sqlite-reads.ts'
import { startWriter, type Writer } from './sqlite-writer.ts'
import { FORGET_STEP } from './sqlite-writes.ts'
import { watchState } from './state.ts'
import { type Link, type LinkKey, type Store, StoreDown } from './store.ts'

/** How the embedded store is opened. */
export interface SqliteOptions extends StoreOptions {
  readonly path: string
  /** For tests: the number of pages that the disk seems to have room for. */
  readonly room?: Int32Array<SharedArrayBuffer>
}

/**
 * Opens the embedded store, a file that several processes may share. Writes go to a thread that commits in groups, so
 * that no call waits for a disk on the event loop; reads are answered here, from the cache or a connection that only
 * reads.
 */
export async function openSqliteStore({ path, cacheBytes, onState, room }: SqliteOptions): Promise<Store> {
  const file = resolve(path)
  const cache = createCache(cacheBytes)
  const reader = createReader(file, cache, () => writer)
  const state = watchState(onState)
  const writer = startWriter({ path: file, room }, { onState: state.set, onCommit: reader.account })

  try {
    await writer.started
  } catch (error) {
    await writer.close()
    throw error
  }

  return forSoundText({
    engine: 'sqlite',
    ready: state.ready,
    async close() {
      state.end()
      reader.close()
      await writer.close()
    },

    put: (write) => writer.call('put', write),
    load: (links, options) => writer.call('load', links, options),
    async forget(olderThan) {
      let dropped = 0
      for (;;) {
        const step = await writer.call('forget', olderThan)
        dropped += step
        if (step < FORGET_STEP) return dropped
      }
    },
    async links(tenant, name) {
      return reader.read((reads, cached) => {
        const known = cached?.links(tenant, name)
        if (known) return known
        const links = reads.links(tenant, name)
        cache.keepLinks(tenant, name, links)
        return links
      })
    },
    async thing(tenant, id) {
      return reader.read((reads, cached) => {
        const known = cached?.thing(tenant, id)
        if (known) return known
        const thing = reads.thing(tenant, id)
        if (thing) cache.keepThing(thing)
        return thing
      })
    },
    scan: (options) => scan(reader, options),

    claim: (wanted) => writer.call('claim', wanted),
    change: (claim, change) => writer.call('change', claim, change),
    findClaim: async (tenant, key) => reader.read((reads) => reads.findClaim(tenant, key)),
    claimByHandle: async (handle) => reader.read((reads) => reads.claimByHandle(handle)),
    claimsOfShipment: async (tenant, shipment) => reader.read((reads) => reads.claimsOfShipment(tenant, shipment)),
    listClaims: async (options) => reader.read((reads) => reads.listClaims(options)),
    audit: async (handle) => reader.read((reads) => reads.audit(handle)),
    beat: (instance) => writer.call('beat', instance),
    leave: (instance) => writer.call('leave', instance),
    orphan: (silentForMs, by) => writer.call('orphan', silentForMs, by),
  })
}

interface Reader {
  /** Runs a read; it is given the cache only while that is known to agree with the file. */
  read<T>(ask: (reads: Reads, cached: Cache | undefined) => T): T
  /** Takes note of a commit of our own. */
  account(pulse: number, calls: readonly Call[]): void
  close(): void
}

/**
 * Keeps the cache in step with the file. Each commit that touches links or things has a number. Of our own commits we
 * know what they wrote, and drop that; of another process's only that they were, and drop everything. Between a commit
 * and the thread's word of it nobody knows whose it is, and reads go past the cache. What a read puts into the cache is
 * as new as the number that was checked or newer, so the commit that makes it old is still to be accounted for.
 */
function createReader(path: string, cache: Cache, writer: () => Writer): Reader {
  let reads: Reads | undefined
  let closed = false
  let version: unknown
  let current = 0
  let accounted = 0

  function settled(from: Reads): boolean {
    const now = from.dataVersion()
    if (now !== version) {
      version = now
      current = from.pulse()
    }
    if (current <= accounted) return true
    if (writer().busy()) return false
    cache.clear()
    accounted = current
    return true
  }

  return {
    read(ask) {
      if (closed) throw new StoreDown('The store is closed.')
      if (!writer().opened()) throw new StoreDown('The store is not open yet.')
      try {
        reads ??= openReads(path)
        return ask(reads, settled(reads) ? cache : undefined)
      } catch (error) {
        reads?.close()
        reads = undefined
        // A new connection counts its versions afresh.
        version = undefined
        throw new StoreDown('The store cannot be read.', { cause: error })
      }
    },
    account(pulse, calls) {
      if (pulse <= accounted) return
      if (pulse !== accounted + 1) cache.clear()
      else for (const call of calls) drop(cache, call)
      accounted = pulse
    },
    close() {
      closed = true
      reads?.close()
      reads = undefined
    },
  }
}

/** Drops what a write may have changed. */
function drop(cache: Cache, call: Call): void {
  if (call.name === 'put') {
    // The arguments were checked against the name when the call was made.
    const [{ links, thing }] = call.args as Parameters<Store['put']>
    for (const link of links) cache.drop(linksKey(link.tenant, link.name))
    if (thing) cache.drop(thingKey(thing.tenant, thing.id))
  } else if (call.name === 'load') {
    const [links] = call.args as Parameters<Store['load']>
    for (const link of links) cache.drop(linksKey(link.tenant, link.name))
  } else if (call.name === 'forget') {
    cache.clear()
  }
}

/** Reads page after page, each by itself, so that the log can be emptied and calls answered in between. */
async function* scan(reader: Reader, options: Parameters<Store['scan']>[0]): AsyncGenerator<readonly Link[]> {
  const { tenant: only } = options
  if (only !== undefined && options.after && byBytes(only, options.after.tenant) < 0) return
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
      await turn()
    } else {
      tenant = only === undefined ? reader.read((reads) => reads.tenantAfter(name)) : undefined
    }
  }
  if (gathered.length > 0) yield gathered
}
