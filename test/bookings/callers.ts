import { setTimeout as pause } from 'node:timers/promises'

const RETRY_PAUSE_MS = 20

/**
 * Starts callers that book one reference after another, repeating each until it gets a final answer. Returns the function that stops them
 * and returns the number of references.
 */
export function startCallers(
  callers: number,
  attempt: (reference: string, tries: number) => Promise<boolean>,
): () => Promise<number> {
  let references = 0
  let isOver = false
  const calling = Array.from({ length: callers }, async () => {
    while (!isOver) {
      references += 1
      const nth = references
      for (let tries = nth; !(await attempt(`REF-${nth}`, tries)); tries += 1) await pause(RETRY_PAUSE_MS)
    }
  })
  return async () => {
    isOver = true
    await Promise.all(calling)
    return references
  }
}
