import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { book } from '../../src/operator/commands/harness.ts'
import { startCallers as startBooking } from '../bookings/callers.ts'

const CALLERS = 12
const RETRY_PAUSE_MS = 20

/** Starts callers that book references of their own, each until it is answered for good, until they are stopped. */
export function startCallers(urlOf: (nth: number) => string | Promise<string>) {
  const acknowledged = new Map<string, string>()
  const unknown = new Set<string>()
  /** When the last accepted booking was asked for. */
  let latestAccepted = 0
  const stop = startBooking(CALLERS, async (reference, tries) => {
    const askedAt = performance.now()
    const answer = await book(urlOf(tries), reference)
    if (answer?.word === 'Unknown') unknown.add(reference)
    else if (answer?.word === 'Yes') {
      latestAccepted = Math.max(latestAccepted, askedAt)
      acknowledged.set(reference, answer.id)
    } else return false
    return true
  })
  onTestFinished(() => void stop())
  return {
    acknowledged,
    unknown,
    latestAccepted: () => latestAccepted,
    /** Lets the callers end what they have begun, and returns how many references they wanted booked. */
    stop,
    /** Asks again for every acknowledged booking, and counts those that are not answered as before. */
    async forgotten(): Promise<number> {
      let count = 0
      const again = [...acknowledged]
      const asking = Array.from({ length: CALLERS }, async () => {
        for (let next = again.pop(); next; next = again.pop()) {
          const [reference, id] = next
          let answer = await book(urlOf(again.length), reference)
          // A call that found no time or no store was not answered for good. One that is in progress again stays so: its end was lost.
          while (!['Yes', 'Unknown', 'in progress'].includes(answer?.word ?? '')) {
            await pause(RETRY_PAUSE_MS)
            answer = await book(urlOf(again.length), reference)
          }
          if (answer?.id !== id) count += 1
        }
      })
      await Promise.all(asking)
      return count
    },
  }
}
