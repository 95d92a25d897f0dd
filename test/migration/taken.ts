import type { Counts } from '../../src/migration/counts.ts'

/** Returns all counts since the last call. */
export function taken(counts: Counts) {
  const batches = [...counts.take()]
  return { calls: batches.flatMap(({ calls }) => calls), names: batches.flatMap(({ names }) => names) }
}
