import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

/** Many files do little but wait for time-outs, so that a small machine has time for several. */
const LEAST_AT_ONCE = 3

/** `npm test` needs nothing but npm packages; `.ci/run` adds the suites that call programs from Debian (test/debian). */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: process.env['TRANSLOAD_TESTS'] === 'all' ? [] : ['test/debian/**'],
    maxWorkers: Math.max(LEAST_AT_ONCE, availableParallelism() - 1),
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
