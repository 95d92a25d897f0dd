let endOfThisTurn: Promise<void> | undefined

/**
 * Resolves when this turn of the event loop ends. Answers that are written there leave together, one right after the
 * other: most of what a write costs is waking the process at the other end (docs/decisions/0013).
 */
export function endOfTurn(): Promise<void> {
  endOfThisTurn ??= new Promise((resolve) => {
    setImmediate(() => {
      endOfThisTurn = undefined
      resolve()
    })
  })
  return endOfThisTurn
}
