import type { IncomingMessage } from 'node:http'
import type { CredentialsDeps } from './caller.ts'
import { turnOf } from './caller-gone.ts'
import { createFairQueue, type Turn } from './fair-queue.ts'
import type { Limits } from './limits.ts'
import { sourceOf } from './source-address.ts'

/** Calls with credentials that the service has not accepted yet. */
export interface UnprovenCalls<T> {
  /**
   * Waits for a turn, or until the service has decided on the credential. Concurrent calls of one credential share the
   * result of `make`.
   */
  readonly enter: (incoming: IncomingMessage, header: string, make: () => T) => Promise<Entered<T>>
  /** Tells the waiting calls with this header the service's verdict. */
  readonly decide: (header: string, refusal: Error | undefined) => void
}

export interface Entered<T> {
  readonly shared: T
  readonly leave: () => void
}

interface SharedCredential<T> {
  readonly shared: T
  readonly turns: Set<Turn>
}

/** Each call uses its own connection to the service. */
const AT_ONCE = 32
const AT_ONCE_OF_SOURCE = 8

/** Queues calls with unproven credentials: few at a time, served round robin by source. */
export function createUnprovenCalls<T>({
  config: { MAX_IN_FLIGHT, UPSTREAM_CONNECTIONS },
  addressOf,
}: Pick<CredentialsDeps, 'config' | 'addressOf'>): UnprovenCalls<T> {
  const queue = createFairQueue({
    atOnce: AT_ONCE,
    atOnceOfSource: Math.min(AT_ONCE_OF_SOURCE, UPSTREAM_CONNECTIONS),
    calls: MAX_IN_FLIGHT,
  })
  const underWay = new Map<string, SharedCredential<T>>()

  return {
    enter: async (incoming, header, make) => {
      const known = underWay.get(header)
      const current = known ?? { shared: make(), turns: new Set() }
      if (!known) underWay.set(header, current)
      const turn = queue.enter(sourceOf(addressOf(incoming)))
      current.turns.add(turn)
      const leave = () => {
        turn.end()
        current.turns.delete(turn)
        if (current.turns.size === 0 && underWay.get(header) === current) underWay.delete(header)
      }
      try {
        await turnOf(incoming, turn)
        return { shared: current.shared, leave }
      } catch (error) {
        leave()
        throw error
      }
    },
    decide: (header, refusal) => {
      if (underWay.size === 0) return
      for (const turn of underWay.get(header)?.turns ?? []) {
        turn.settle(refusal)
        // A call over the connections of an accepted credential needs no turn.
        if (!refusal) turn.end()
      }
    },
  }
}

/** Limits that a call has passed already, and that it leaves when it is over. */
export function enteredLimits(leave: () => void): Limits {
  return { enter: () => leave }
}
