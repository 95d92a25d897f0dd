/** A number that says nothing of its neighbours'. */
export function scattered(index: number): number {
  return Math.imul(index, 2_654_435_761) >>> 0
}

/** Ids as the service makes them, spread over the key space and the same in every run. */
export function idOf(index: number): string {
  const hex = scattered(index).toString(16).padStart(8, '0')
  return `${hex}-${hex.slice(0, 4)}-4${hex.slice(1, 4)}-8${hex.slice(2, 5)}-${hex}${hex.slice(0, 4)}`
}
