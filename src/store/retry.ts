const SHORTEST_MS = 100
const LONGEST_MS = 5_000

/** How long to wait before the next attempt: doubling, bounded, and jittered so that gateways do not knock together. */
export function retryDelayMs(failures: number): number {
  const longest = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** Math.max(0, failures - 1))
  return longest * (0.5 + Math.random() / 2)
}
