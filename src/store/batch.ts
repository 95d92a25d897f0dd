/** The longest wait for others. */
const GATHER_MS = 5

/** Calls `then` once a turn of the event loop adds no other item: those that arrive one after the other share what they cost. */
export function afterGathering(count: () => number, then: () => void): void {
  const until = performance.now() + GATHER_MS
  let gathered = 0
  const look = (): void => {
    if (count() === gathered || performance.now() > until) then()
    else {
      gathered = count()
      setImmediate(look)
    }
  }
  setImmediate(look)
}
