import { createMemoryComparisons } from './memory-comparisons.ts'
import { createMemoryDrift } from './memory-drift.ts'
import { createMemoryScoreboard } from './memory-scoreboard.ts'

/** Creates everything that a store that ends with the process counts. */
export const createMemoryCounts = (checkOpen: () => void) => ({
  ...createMemoryScoreboard(checkOpen),
  ...createMemoryComparisons(checkOpen),
  ...createMemoryDrift(checkOpen),
})
