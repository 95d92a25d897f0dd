import { gatewayError, retryAfter } from '../../language/errors.ts'
import type { Share, Source } from '../../runtime/call.ts'
import { createBoundedCache } from '../../runtime/collections.ts'

/* Limits on calls per second, for a tenant and for a source. */

/** The limits of one tenant. */
export interface Limits {
  /** Admits a call until it ends, or throws `too-many-calls`. */
  readonly enter: (share: Share) => void
}

/** Limits calls per second, with a burst of one second's worth, and concurrent calls. */
export function createLimits(perSecond: number | undefined, concurrent = Number.POSITIVE_INFINITY): Limits {
  let inside = 0
  const spend = perSecond === undefined ? () => {} : createRate(perSecond)
  const leave = () => {
    inside -= 1
  }
  return {
    enter: (share) => {
      if (inside >= concurrent) throw tooMany(1)
      spend()
      inside += 1
      share.hold(leave)
    },
  }
}

/** Makes a function that counts a call, and throws `too-many-calls` if there are too many in its second. */
function createRate(perSecond: number): () => void {
  const most = Math.max(perSecond, 1)
  let left = most
  let filledAt = performance.now()
  return () => {
    const now = performance.now()
    left = Math.min(most, left + ((now - filledAt) / 1000) * perSecond)
    filledAt = now
    if (left < 1) throw tooMany(Math.ceil((1 - left) / perSecond))
    left -= 1
  }
}

const tooMany = (seconds: number) => gatewayError('too-many-calls', { seconds }, retryAfter(seconds))

/** The most sources that are remembered. */
const SOURCES_KEPT = 10_000

/** Limits the calls per second of each source; throws `too-many-calls`. */
export function createSourceLimits(perSecond: number): (source: Source) => void {
  const sources = createBoundedCache<string, () => void>(SOURCES_KEPT)
  return ({ name }) => {
    const spend = sources.get(name) ?? createRate(perSecond)
    sources.set(name, spend)
    spend()
  }
}
