/*
 * Long harnesses run a sample in `npm test`, `npm run test:rest` and `.ci/run`, and everything in `npm run test:whole`.
 */

/** True if harnesses run whole. */
export const WHOLE = process.env['TRANSLOAD_TESTS'] === 'whole'

/** Returns the size of a harness, such as its rounds, rows or callers. */
export const size = (sample: number, whole: number): number => (WHOLE ? whole : sample)

/** Returns how often a property is tried; `TRANSLOAD_RUNS=1000000` tries it for a night. */
export const runs = (sample: number, whole: number): number =>
  Number(process.env['TRANSLOAD_RUNS'] ?? size(sample, whole))

/** Chooses the cases of a sample. @default 0 */
const SEED = Number(process.env['TRANSLOAD_SEED'] ?? 0)
/** For a property whose sample is the same in each `npm test`. In whole runs and with `TRANSLOAD_RUNS`, it always differs. */
export const SAMPLE_SEED: { readonly seed?: number } = WHOLE || process.env['TRANSLOAD_RUNS'] ? {} : { seed: SEED }
/** Knuth's multiplier: neighboring numbers get hashes that are far apart. */
const MULTIPLIER = 2_654_435_761
const HALF_BITS = 16

/** Reports whether a case belongs to a sample of one in `oneIn`; all do if harnesses run whole. */
export const inSample = (index: number, oneIn: number): boolean =>
  WHOLE || (Math.imul(index + SEED, MULTIPLIER) >>> HALF_BITS) % oneIn === 0

/** Returns all cases, or a sample of about one in `oneIn`, and at least one. */
export function sample<T>(cases: Iterable<T>, oneIn: number): readonly T[] {
  const all = [...cases]
  const chosen = all.filter((_, index) => inSample(index, oneIn))
  return chosen.length > 0 ? chosen : all.slice(0, 1)
}
