/**
 * Returns the machine's time since boot, for leases: all processes share it, and a correction of the wall clock does not
 * expire the lease of a live gateway. A renewal in the future was made before the last boot.
 */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
