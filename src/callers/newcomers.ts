import type { IncomingMessage } from 'node:http'
import type { CredentialsDeps } from './caller.ts'
import { turnOf } from './caller-gone.ts'
import { createFairQueue, type Turn } from './fair-queue.ts'
import type { Limits } from './limits.ts'
import { sourceOf } from './source-address.ts'

/** Calls with credentials that the service has not accepted yet. */
export interface Newcomers<T> {
  /**
   * Waits for a turn, or until the service has decided on the credential. Calls of one credential share what `make` makes,
   * for as long as any of them is under way.
   */
  readonly arrive: (incoming: IncomingMessage, header: string, make: () => T) => Promise<Arrival<T>>
  /** Tells the calls that wait with this header what the service said of it. */
  readonly decide: (header: string, refusal: Error | undefined) => void
}

export interface Arrival<T> {
  readonly shared: T
  readonly leave: () => void
}

interface Newcomer<T> {
  readonly shared: T
  readonly turns: Set<Turn>
}

/** Each call has a connection of its own to the service. */
const AT_ONCE = 32
const AT_ONCE_OF_SOURCE = 8

/** Makes the queue of calls whose credentials are not proven: few at a time, and each source gets its turn. */
export function createNewcomers<T>({
  config: { MAX_IN_FLIGHT, UPSTREAM_CONNECTIONS },
  addressOf,
}: Pick<CredentialsDeps, 'config' | 'addressOf'>): Newcomers<T> {
  const queue = createFairQueue({
    atOnce: AT_ONCE,
    atOnceOfSource: Math.min(AT_ONCE_OF_SOURCE, UPSTREAM_CONNECTIONS),
    calls: MAX_IN_FLIGHT,
  })
  const underWay = new Map<string, Newcomer<T>>()

  return {
    arrive: async (incoming, header, make) => {
      const known = underWay.get(header)
      const newcomer = known ?? { shared: make(), turns: new Set() }
      if (!known) underWay.set(header, newcomer)
      const turn = queue.enter(sourceOf(addressOf(incoming)))
      newcomer.turns.add(turn)
      const leave = () => {
        turn.end()
        newcomer.turns.delete(turn)
        if (newcomer.turns.size === 0 && underWay.get(header) === newcomer) underWay.delete(header)
      }
      try {
        await turnOf(incoming, turn)
        return { shared: newcomer.shared, leave }
      } catch (error) {
        leave()
        throw error
      }
    },
    decide: (header, refusal) => {
      if (underWay.size === 0) return
      for (const turn of underWay.get(header)?.turns ?? []) {
        turn.settle(refusal)
        // Over the connections of an accepted credential, a call needs no turn.
        if (!refusal) turn.end()
      }
    },
  }
}

/** Limits that a call has entered already, and that it leaves when it is over. */
export function enteredLimits(leave: () => void): Limits {
  return { enter: () => leave }
}
