import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { WHOLE } from './test/size.ts'

/** Many tests wait more than they compute, so a small machine has time for several files. */
const LEAST_AT_ONCE = 4

// Tests start hundreds of processes and threads, and compiling the program is half of what most of them do.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'compiled')

/** `npm test` needs nothing but npm packages; `npm run test:all` adds tests that call programs from Debian (test/debian). */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: WHOLE ? [] : ['test/debian/**'],
    maxWorkers: Math.max(LEAST_AT_ONCE, availableParallelism() - 1),
    expect: { requireAssertions: true },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
