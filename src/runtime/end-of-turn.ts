let endOfThisTurn: Promise<void> | undefined

/**
 * Resolves at the end of this turn of the event loop. Answers that are written there leave right after each other,
 * because most of the cost of a write is to wake the receiving process (docs/architecture.md).
 */
export function endOfTurn(): Promise<void> {
  if (endOfThisTurn) return endOfThisTurn
  const { promise, resolve } = Promise.withResolvers<void>()
  endOfThisTurn = promise
  setImmediate(() => {
    endOfThisTurn = undefined
    resolve()
  })
  return promise
}
