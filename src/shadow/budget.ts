const SECOND_MS = 1_000

/** Returns a function that admits so many comparisons a second, and as many at once after a pause. */
export function createBudget(perSecond: number, now: () => number = () => performance.now()): () => boolean {
  let left = perSecond
  let filledAt = now()
  return () => {
    const at = now()
    left = Math.min(perSecond, left + ((at - filledAt) / SECOND_MS) * perSecond)
    filledAt = at
    if (left < 1) return false
    left -= 1
    return true
  }
}
