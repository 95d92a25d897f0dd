import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isNear, type Learned, testsOf } from './learned.ts'
import type { Mutant } from './mutants.ts'
import { mutated } from './points.ts'
import { compiles } from './run-tests.ts'
import { createRunner } from './runner.ts'
import { functionsIn, parse } from './syntax.ts'
import type { Tree } from './tree.ts'

/** The end of a mutant: `refused` by the compiler, `uncalled` where no test calls its function. */
export type Verdict = 'killed' | 'timed out' | 'survived' | 'refused' | 'uncalled'

/** Tries mutants of one tree, one after the other. */
export interface Trials {
  readonly tryMutant: (mutant: Mutant) => Promise<Verdict>
  readonly close: () => void
}

/** The tests of each stage take about so long, run alone; most mutants do not outlive the first one. */
const STAGES_MS = [0, 4_000, 20_000] as const
/** The tests of other folders take so long at most. */
const FAR_MS = 40_000
/** A mutant may loop for ever. */
const PATIENCE = 3
const PATIENCE_MS = 30_000

/** Opens the trials of a tree. `withinMs` bounds the tests of a mutant further: what they do not notice counts as survived. */
export function openTrials(tree: Tree, learned: Learned, withinMs = Number.POSITIVE_INFINITY): Trials {
  const runner = createRunner(tree)
  /** Tests that failed for a mutant, and whether they pass without any. */
  const sound = new Map<string, boolean>()

  const msOf = (tests: readonly string[]) => tests.reduce((sum, test) => sum + (learned[test]?.ms ?? 0), 0)
  const run = (changed: string, tests: readonly string[]) =>
    runner.run({ changed, tests }, msOf(tests) * PATIENCE + PATIENCE_MS)

  const within = (tests: readonly string[]): readonly string[] => {
    let ms = 0
    return tests.filter((test, at) => {
      ms += learned[test]?.ms ?? 0
      return at === 0 || ms <= withinMs
    })
  }

  const passesAlone = async (changed: string, test: string): Promise<boolean> => {
    const answer = await run(changed, [test])
    return typeof answer === 'object' && answer.failed.length === 0 && !answer.error
  }

  const withMutant = async <T>(mutant: Mutant, work: () => Promise<T>): Promise<T> => {
    const file = join(tree.root, mutant.path)
    const source = readFileSync(file, 'utf8')
    writeFileSync(file, mutated(source, mutant))
    return await work().finally(() => writeFileSync(file, source))
  }

  /** Returns the end of a mutant in a stage. A test must fail twice: under load, some fail by chance. */
  const endOf = async (mutant: Mutant, stage: readonly string[]): Promise<'killed' | 'timed out' | undefined> => {
    const tests = stage.filter((test) => sound.get(test) !== false)
    if (tests.length === 0) return undefined
    const answer = await withMutant(mutant, () => run(mutant.path, tests))
    if (answer === 'timed out') return answer
    if (answer === 'died') return 'killed'
    const [failed] = answer.failed
    if (failed === undefined) return answer.error ? 'killed' : undefined
    if (!sound.has(failed)) sound.set(failed, await passesAlone(mutant.path, failed))
    const isNoticed = sound.get(failed) && !(await withMutant(mutant, () => passesAlone(mutant.path, failed)))
    if (isNoticed) return 'killed'
    const others = stage.filter((test) => test !== failed)
    return others.length > 0 ? await endOf(mutant, others) : undefined
  }

  const tryMutant = async (mutant: Mutant): Promise<Verdict> => {
    const functions = functionsIn(parse(readFileSync(join(tree.root, mutant.path), 'utf8')))
    const all = testsOf(learned, mutant.path, mutant.fn, functions)
    if (all.length === 0) return 'uncalled'
    for (const stage of stagesOf(within(boundedFor(mutant.path, all, learned)), learned)) {
      const end = await endOf(mutant, stage)
      if (end) return end
    }
    return (await withMutant(mutant, () => compiles(tree))) ? 'survived' : 'refused'
  }

  return { tryMutant, close: runner.close }
}

/** Divides tests into those that run together; see `STAGES_MS`. */
export function stagesOf(tests: readonly string[], learned: Learned): readonly (readonly string[])[] {
  const stages: string[][] = []
  let ms = 0
  for (const test of tests) {
    const stage = stages.at(-1)
    const limitMs = STAGES_MS[stages.length - 1] ?? STAGES_MS[2]
    const testMs = learned[test]?.ms ?? 0
    if (!stage || ms + testMs > limitMs) {
      stages.push([test])
      ms = testMs
    } else {
      stage.push(test)
      ms += testMs
    }
  }
  return stages
}

/** Returns the near tests of a file, the far ones that take so long together, and at least one. */
function boundedFor(path: string, tests: readonly string[], learned: Learned): readonly string[] {
  let farMs = 0
  const bounded = tests.filter((test) => {
    if (isNear(test, path)) return true
    farMs += learned[test]?.ms ?? 0
    return farMs <= FAR_MS
  })
  return bounded.length > 0 ? bounded : tests.slice(0, 1)
}
