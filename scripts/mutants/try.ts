import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isNear, type Learned, testsOf } from './learned.ts'
import type { Mutant } from './mutants.ts'
import { mutated } from './points.ts'
import { compiles, runTests } from './run-tests.ts'
import { functionsIn, parse } from './syntax.ts'
import type { Tree } from './tree.ts'

/** The end of a mutant: `refused` by the compiler, `uncalled` where no test calls its function. */
export type Verdict = 'killed' | 'timed out' | 'survived' | 'refused' | 'uncalled'

/** The first tests of a mutant take about so long; most mutants live no longer. */
const FIRST_MS = 8_000
/** The tests of other folders take so long at most. */
const FAR_MS = 40_000
/** A mutant may loop for ever. */
const PATIENCE = 3
const PATIENCE_MS = 30_000

/** Tries one mutant: it is killed if a test fails. */
export async function tryMutant(tree: Tree, mutant: Mutant, learned: Learned): Promise<Verdict> {
  const file = join(tree.root, mutant.path)
  const source = readFileSync(file, 'utf8')
  const tests = testsOf(learned, mutant.path, mutant.fn, functionsIn(parse(source)))
  if (tests.length === 0) return 'uncalled'
  const first = within(tests, learned, FIRST_MS)
  const near = tests.filter((test) => isNear(test, mutant.path))
  const far = within(tests.slice(near.length), learned, FAR_MS)
  const rest = [...near, ...far].filter((test) => !first.includes(test))
  writeFileSync(file, mutated(source, mutant))
  try {
    for (const files of [first, rest].filter(({ length }) => length > 0)) {
      const expectedMs = files.reduce((sum, test) => sum + (learned[test]?.ms ?? 0), 0)
      const outcome = await runTests(tree, files, expectedMs * PATIENCE + PATIENCE_MS)
      if (outcome !== 'passed') return outcome === 'failed' ? 'killed' : 'timed out'
    }
    return (await compiles(tree)) ? 'survived' : 'refused'
  } finally {
    writeFileSync(file, source)
  }
}

/** Returns the first tests that take so long together, and at least one. */
function within(tests: readonly string[], learned: Learned, limitMs: number): readonly string[] {
  let ms = 0
  const fits = tests.filter((test) => {
    ms += learned[test]?.ms ?? 0
    return ms <= limitMs
  })
  return fits.length > 0 ? fits : tests.slice(0, 1)
}
