import type { IncomingMessage } from 'node:http'
import { createBoundedCache } from '../collections/bounded-cache.ts'
import { compileNetworks } from '../networks.ts'
import { createLimits, type Limits } from './limits.ts'
import { sourceAddress, sourceOf } from './source-address.ts'

const SOURCES_KEPT = 10_000

/** Limits the calls per second of each source; throws `too-many-calls`. */
export function createSourceLimits(
  perSecond: number | undefined,
  trustProxy: readonly string[] | undefined,
): (incoming: IncomingMessage) => void {
  if (perSecond === undefined) return () => {}
  const trusted = trustProxy && compileNetworks(trustProxy)
  const sources = createBoundedCache<string, Limits>(SOURCES_KEPT)
  return (incoming) => {
    const source = sourceOf(sourceAddress(incoming, trusted))
    const limits = sources.get(source) ?? createLimits({ perSecond })
    sources.set(source, limits)
    limits.enter()()
  }
}
