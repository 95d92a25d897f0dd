import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Many tests wait more than they compute, so a small machine runs several files at once. */
const LEAST_AT_ONCE = 4

/**
 * The tests that `npm test` leaves to `npm run test:rest`: tests with programs from Debian, those that load, stop and crash
 * servers of PostgreSQL, and those that take long because they start, kill and stop processes, let leases lapse or fill
 * pipes.
 */
const REST = ['test/debian/**/*.test.ts', 'test/**/*.server.test.ts', 'test/**/*.slow.test.ts']
const EVERY = ['test/**/*.test.ts']
/** Floods, kills and measured costs, which slow down other tests or prove little beside them. */
const ALONE = [
  'test/strangers/{explained,memory,shares,together}.slow.test.ts',
  'test/callers/hashes.slow.test.ts',
  // On a busy machine, a gateway is killed again and again before it answers anything.
  'test/bookings/kill.slow.test.ts',
]

/** The tests of `npm test`, if it is not set. `whole` runs the harnesses at their full size; see `test/size.ts`. */
const CHOICE = process.env['TRANSLOAD_TESTS']

/**
 * Flags of Node for the tests and every program that they start. Not for Vitest itself: its lexer evaluates the specifier of
 * a dynamic import, and where it may not, the import is resolved from the wrong folder.
 */
const NODE_FLAGS = process.env['TRANSLOAD_NODE_FLAGS']

/** Tests wait for events. This ends one that would wait forever, also where a slow disk holds up everything for a minute. */
const LONG_MS = 240_000

/** The files that take longest, the longest first: one that began last would run alone at the end. */
const LONGEST = [
  'bookings/several-gateways.server',
  'bookings/protocol/explore.slow',
  'bookings/changed-store.slow',
  'debian/snippets',
  'debian/image',
  'debian/pages',
  'store/postgres.server',
  'names/meaning.server',
  'events/kill-healing.slow',
  'commands/failures.slow',
  'debian/postgres-primary',
  'bookings/paused.slow',
  'store/locks.slow',
  'store/file-loss.slow',
  'store/backup.slow',
  'names/mistakes.slow',
  'bookings/changed-meanwhile',
  'debian/failover',
  'xref/failure.server',
  'debian/deploy',
  'commands/demo.slow',
  'bookings/approved',
  'debian/documented-commands',
  'debian/clock-skew',
  'calls/stories',
  'names/meaning',
  'store/steps.server',
  'debian/callers',
  'xref/two-gateways.slow',
  'operations/log-output.slow',
  'store/postgres-contract.server',
  'bookings/canceled',
  'commands/transcripts',
  'callers/proof',
  'doubt/no-answer',
  'calls/cases',
  'rehearsal/rehearse',
  'mappings/codecs',
  'bookings/once',
].map((name) => `/test/${name}.test.ts`)

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((path) => moduleId.endsWith(path))
      return at < 0 ? LONGEST.length : at
    }
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other))
  }
}

// Tests start hundreds of processes and threads, and compiling the program is half of what most of them do.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules', '.cache', 'compiled')

export default defineConfig({
  test: {
    ...(CHOICE === undefined
      ? { include: EVERY, exclude: REST }
      : {
          globalSetup: ['test/built.ts'],
          projects: [
            { extends: true, test: { name: 'rest', include: CHOICE === 'rest' ? REST : EVERY, exclude: ALONE } },
            { extends: true, test: { name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } } },
          ],
        }),
    maxWorkers: Math.max(LEAST_AT_ONCE, availableParallelism() - 1),
    sequence: { sequencer: LongestFirst },
    // Files share processes, and thereby what they import.
    isolate: false,
    ...(NODE_FLAGS && { execArgv: NODE_FLAGS.split(' '), env: { NODE_OPTIONS: NODE_FLAGS } }),
    // A poll ends when its state is there; a slow machine takes its time.
    expect: { requireAssertions: true, poll: { timeout: 20_000 } },
    testTimeout: LONG_MS,
    hookTimeout: LONG_MS,
    // A green run prints one line per file.
    slowTestThreshold: 60_000,
  },
})
