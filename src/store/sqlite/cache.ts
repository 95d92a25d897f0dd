import { type Cache, linksKey, thingKey } from '../cache.ts'
import { type Store, StoreDown } from '../store.ts'
import type { Call } from './protocol.ts'
import { openReads, type Reads } from './reads.ts'
import type { Writer } from './writer.ts'

/** The way to what is stored, past the cache or through it. */
export interface Reader {
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
export function createReader(path: string, cache: Cache, writer: () => Writer): Reader {
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
    if (writer().touching()) return false
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
