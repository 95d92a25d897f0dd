import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { book } from '../../src/operator/commands/harness.ts'

const CALLERS = 12
const RETRY_PAUSE_MS = 20

/** Starts callers that book references of their own, each until it is answered for good, until they are stopped. */
export function startCallers(urlOf: (nth: number) => string | Promise<string>) {
  const acknowledged = new Map<string, string>()
  const unknown = new Set<string>()
  let references = 0
  let isOver = false
  /** When the last accepted booking was asked for. */
  let latestAccepted = 0

  async function bookUntilAnswered(nth: number): Promise<void> {
    const reference = `REF-${nth}`
    for (let tries = 0; ; tries += 1) {
      const askedAt = performance.now()
      const answer = await book(await urlOf(nth + tries), reference)
      if (answer?.word === 'Unknown') return void unknown.add(reference)
      if (answer?.word === 'Yes') {
        latestAccepted = Math.max(latestAccepted, askedAt)
        return void acknowledged.set(reference, answer.id)
      }
      await pause(RETRY_PAUSE_MS)
    }
  }

  async function caller(): Promise<void> {
    while (!isOver) {
      references += 1
      await bookUntilAnswered(references)
    }
  }

  onTestFinished(() => {
    isOver = true
  })
  const calling = Array.from({ length: CALLERS }, caller)
  return {
    acknowledged,
    unknown,
    latestAccepted: () => latestAccepted,
    /** Asks again for every acknowledged booking, and counts those that are not answered as before. */
    async forgotten(): Promise<number> {
      let count = 0
      const again = [...acknowledged]
      const asking = Array.from({ length: CALLERS }, async () => {
        for (let next = again.pop(); next; next = again.pop()) {
          const [reference, id] = next
          let answer = await book(await urlOf(again.length), reference)
          // A call that found no time or no store was not answered for good. One that is in progress again stays so: its end was lost.
          while (answer?.word !== 'Yes' && answer?.word !== 'Unknown' && answer?.word !== 'in progress') {
            await pause(RETRY_PAUSE_MS)
            answer = await book(await urlOf(again.length), reference)
          }
          if (answer.id !== id) count += 1
        }
      })
      await Promise.all(asking)
      return count
    },
    /** Lets the callers end what they have begun, and returns how many references they wanted booked. */
    async stop(): Promise<number> {
      isOver = true
      await Promise.all(calling)
      return references
    },
  }
}
