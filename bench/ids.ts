/** Returns a number that is spread over 32 bits: neighbors of an index lie far apart. */
export function scattered(index: number): number {
  return Math.imul(index, 2_654_435_761) >>> 0
}

/** Returns an id in the form of the service's, spread over the key space and the same in every run. */
export function idOf(index: number): string {
  const hex = scattered(index).toString(16).padStart(8, '0')
  return `${hex}-${hex.slice(0, 4)}-4${hex.slice(1, 4)}-8${hex.slice(2, 5)}-${hex}${hex.slice(0, 4)}`
}
