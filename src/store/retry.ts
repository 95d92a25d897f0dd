const SHORTEST_MS = 100
const LONGEST_MS = 5_000

/** Returns the backoff before the next attempt: doubling, bounded, and with jitter to spread gateways out. */
export function backoffMs(failures: number, longestMs: number = LONGEST_MS): number {
  const longest = Math.min(longestMs, SHORTEST_MS * 2 ** Math.max(0, failures - 1))
  return longest * (0.5 + Math.random() / 2)
}
