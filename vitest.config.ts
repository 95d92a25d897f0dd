import { defineConfig } from 'vitest/config'

/** `npm test` needs nothing but npm packages; `.ci/run` adds the suites that call programs from Debian (test/debian). */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: process.env['TRANSLOAD_TESTS'] === 'all' ? [] : ['test/debian/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
})
