import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { WHOLE } from './test/size.ts'

/** Many tests wait more than they compute, so a small machine has time for several files. */
const LEAST_AT_ONCE = 4

/** A harness of minutes that stops gateways for seconds: `npm run test:pauses`. */
const PAUSES = 'test/bookings/pauses.test.ts'

/** `npm test` needs nothing but npm packages; `npm run test:all` adds tests that call programs from Debian (test/debian). */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: [...(WHOLE ? [] : ['test/debian/**']), ...(process.env['TRANSLOAD_TESTS'] === 'pauses' ? [] : [PAUSES])],
    maxWorkers: Math.max(LEAST_AT_ONCE, availableParallelism() - 1),
    expect: { requireAssertions: true },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
