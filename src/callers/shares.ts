import { createUnorderedList } from '../collections/unordered-list.ts'
import type { Share } from '../observe/call.ts'
import { type Quota, shortage } from './fair-share.ts'
import { type Reply, RequestShare, type SharedLimits } from './request-share.ts'
import type { Source } from './source-address.ts'
import { createUsages, noUsage, type Usage } from './usage.ts'

/** The limits for all callers together and for one source. */
export interface ShareLimits {
  readonly maxConnections: number
  readonly sourceConnections: number
  readonly maxInFlight: number
  /** @default a quarter of `maxInFlight` */
  readonly sourceInFlight?: number | undefined
  /** One source may use a quarter of it. */
  readonly bodiesLimitBytes: number
}

/** Divides the gateway's connections, calls and memory among sources. */
export interface Shares {
  /** Admits a connection and returns the function to call when it closes; undefined refuses it. */
  readonly connect: (source: Source) => (() => void) | undefined
  /** Starts the share of one request, without any resources. */
  readonly open: (source: Source, reply: Reply) => Share
  /** The largest body that one source can send. */
  readonly largestBodyBytes: number
  /** The current usage of all sources together. */
  readonly total: Readonly<Usage>
}

const QUARTER = 4
const FEW_CONNECTIONS = 8
const FEW_CALLS = 4
const SMALL_BODIES_BYTES = 16 * 1024

/** Makes the shares of this process. */
export function createShares(limits: ShareLimits): Shares {
  const usageOf = createUsages()
  const shared: SharedLimits = {
    connections: quota(limits.maxConnections, limits.sourceConnections, FEW_CONNECTIONS),
    calls: quota(limits.maxInFlight, limits.sourceInFlight ?? quarterOf(limits.maxInFlight), FEW_CALLS),
    bodyBytes: quota(limits.bodiesLimitBytes, quarterOf(limits.bodiesLimitBytes), SMALL_BODIES_BYTES),
    total: noUsage(),
    underWay: createUnorderedList(),
  }
  const { connections, total } = shared
  return {
    connect: ({ name, isEverybody }) => {
      const usage = usageOf(name)
      const lacking = shortage(connections, total.connections, usage.connections, 1)
      if (lacking && !isEverybody) return undefined
      total.connections += 1
      usage.connections += 1
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        total.connections -= 1
        usage.connections -= 1
      }
    },
    open: (source, reply) => new RequestShare(shared, source, usageOf(source.name), reply),
    largestBodyBytes: shared.bodyBytes.perSource,
    total,
  }
}

function quota(limit: number, perSource: number, little: number): Quota {
  return { limit, perSource: Math.min(perSource, limit), little }
}

const quarterOf = (limit: number) => Math.max(1, Math.floor(limit / QUARTER))
