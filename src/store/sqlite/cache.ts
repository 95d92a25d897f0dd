import { type Cache, linksKey, thingKey } from '../cache.ts'
import { StoreDown, type XrefWrite } from '../store.ts'
import { isDamage, messageOf } from './errors.ts'
import { namesOf, type WrittenCall } from './protocol.ts'
import { openReads, type Reads } from './reads.ts'
import type { Writer } from './writer.ts'
import type { Writes } from './writes.ts'

/** Reads from the file, through the cache or past it. */
export interface Reader {
  /** Reads from the file, unless `look` finds the answer in the cache; it must find only what is current. */
  read<T>(ask: (reads: Reads) => T, look?: (isCurrent: () => boolean) => T | undefined): T
  /** Drops what a commit of this process has written from the cache. */
  noteCommit(cacheVersion: number, calls: readonly WrittenCall[]): void
  /** Closes the connection and clears the cache; the next read opens a new one. */
  reset(): void
  close(): void
}

/**
 * Keeps the cache consistent with the file. Each commit that changes links or things has a number, the cache version. For
 * a commit of this process, the reader drops what it wrote; for one of another process, it clears the cache. Between a
 * commit and the message of the writing thread, its origin is not known, and reads bypass the cache. What the cache does
 * not have is read without a look at the version: it is at least as new as the noted version, and a commit that outdates it
 * is still to be noted.
 */
export function createReader(path: string, cache: Cache, writer: () => Writer): Reader {
  let reads: Reads | undefined
  let closed = false
  let dataVersion: unknown
  let fileVersion = 0
  let notedVersion = 0
  /**
   * True while the last look at the version counts: until the callback of the event loop under way ends, for a lock of another
   * process may end before the next one, and until something newer is read from the file.
   */
  let isChecked = false
  const uncheck = () => {
    isChecked = false
  }

  /** Tells if the entries of the cache agree with the file; clears a cache of which that is not known. */
  function isCacheCurrent(): boolean {
    if (isChecked) return true
    reads ??= openReads(path)
    const now = reads.dataVersion()
    if (now !== dataVersion) {
      dataVersion = now
      fileVersion = reads.cacheVersion()
    }
    if (fileVersion <= notedVersion) {
      isChecked = true
      process.nextTick(uncheck)
      return true
    }
    if (writer().isChangingCachedData()) return false
    cache.clear()
    notedVersion = fileVersion
    return false
  }

  function disconnect(): void {
    reads?.close()
    reads = undefined
    uncheck()
    // A new connection has its own data versions.
    dataVersion = undefined
  }

  return {
    read(ask, look) {
      if (closed) throw new StoreDown('The store is closed.')
      const { opened, lost, reportDamage } = writer()
      if (!opened()) throw new StoreDown('The store is not open yet.')
      const loss = lost()
      if (loss) throw loss
      try {
        const known = look?.(isCacheCurrent)
        if (known !== undefined) return known
        uncheck()
        reads ??= openReads(path)
        return ask(reads)
      } catch (error) {
        disconnect()
        if (isDamage(error)) reportDamage(messageOf(error))
        throw new StoreDown('The store cannot be read.', { cause: error })
      }
    },
    noteCommit(cacheVersion, calls) {
      uncheck()
      if (cacheVersion <= notedVersion) return
      if (cacheVersion !== notedVersion + 1) cache.clear()
      else for (const call of calls) dropWritten(cache, call)
      notedVersion = cacheVersion
    },
    reset() {
      disconnect()
      cache.clear()
    },
    close() {
      closed = true
      disconnect()
    },
  }
}

/** Drops the entries that a write may have changed. */
function dropWritten(cache: Cache, call: WrittenCall): void {
  if (call.name === 'put') {
    // The types of the sending side paired name and arguments.
    dropNames(cache, (call.args as Parameters<Writes['put']>)[0])
  } else if (call.name === 'change') {
    const names = namesOf(call.args)
    if (names) dropNames(cache, names)
  } else if (call.name === 'load' || call.name === 'unlink') {
    const [links] = call.args as Parameters<Writes['load'] | Writes['unlink']>
    for (const link of links) cache.drop(linksKey(link.tenant, link.name))
  } else if (call.name === 'prune') {
    // The result has the type of the write of that name.
    for (const key of (call.result as ReturnType<Writes['prune']>).dropped) cache.drop(key)
  } else if (call.name === 'forget') {
    cache.clear()
  }
}

function dropNames(cache: Cache, { links, thing }: XrefWrite): void {
  for (const { tenant, name } of links) cache.drop(linksKey(tenant, name))
  if (thing) cache.drop(thingKey(thing.tenant, thing.id))
}
