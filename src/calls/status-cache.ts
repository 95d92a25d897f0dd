import { LRUCache } from 'lru-cache'
import type { CountedMetric } from '../observe/counters.ts'
import { createLabeledCounter } from '../observe/labeled-counter.ts'
import type { Account } from '../service/account.ts'

/** A read that is under way. */
export interface Reading {
  /** Keeps what the service showed, unless the shipment was dropped since the read began. */
  readonly keep: (shipment: unknown, sizeBytes: number) => void
  readonly end: () => void
}

/** The last reads of shipments, each for the account that the service showed it to. */
export interface StatusCache {
  readonly find: (id: string, account: Account) => unknown
  /** Called before the service is asked; `end` must follow. */
  readonly begin: (id: string, account: Account) => Reading
  /** Drops a shipment by its id or by the service's number, for every account. */
  readonly drop: (name: string) => void
  readonly metric: CountedMetric
}

const SHIPMENTS_KEPT = 10_000
const KEPT_BYTES = 32 * 1024 * 1024
/** A parsed reply takes several times the memory of its text. */
const BYTES_PER_CHARACTER = 4
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

interface Kept {
  readonly shipment: unknown
  readonly account: Account
}

/** Makes the cache of this process; a read is answered from it for so long. */
export function createStatusCache(freshForMs: number): StatusCache {
  const kept = new LRUCache<string, Kept>({ max: SHIPMENTS_KEPT, maxSize: KEPT_BYTES, ttl: freshForMs })
  /** The reads that are under way, by the id that was asked for. */
  const underWay = new Map<string, Set<{ isDropped: boolean }>>()
  const counter = createLabeledCounter('transload_status_cache_total', 'Reads of shipments by source of the answer.', [
    { answer: 'cache' },
    { answer: 'service' },
  ])
  return {
    metric: counter.metric,
    find: (id, account) => {
      const found = kept.get(id.toLowerCase())
      const isFound = found?.account === account
      counter.count({ answer: isFound ? 'cache' : 'service' })
      return isFound ? found.shipment : undefined
    },
    begin: (id, account) => {
      const key = id.toLowerCase()
      const reading = { isDropped: false }
      const others = underWay.get(key)
      if (others) others.add(reading)
      else underWay.set(key, new Set([reading]))
      return {
        keep: (shipment, sizeBytes) => {
          if (!reading.isDropped) kept.set(key, { shipment, account }, { size: 1 + sizeBytes * BYTES_PER_CHARACTER })
        },
        end: () => {
          const all = underWay.get(key)
          all?.delete(reading)
          if (all?.size === 0) underWay.delete(key)
        },
      }
    },
    drop: (name) => {
      const key = name.toLowerCase()
      kept.delete(key)
      for (const reading of underWay.get(key) ?? []) reading.isDropped = true
      // The service may know a shipment by its number, too: what is cached has it under its id.
      if (!UUID.test(key)) dropAll()
    },
  }

  function dropAll(): void {
    kept.clear()
    for (const readings of underWay.values()) for (const reading of readings) reading.isDropped = true
  }
}
