let endOfThisTurn: Promise<void> | undefined

/**
 * Resolves at the end of this turn of the event loop. Answers that are written there leave right after each other,
 * because most of the cost of a write is to wake the receiving process (docs/architecture.md).
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
