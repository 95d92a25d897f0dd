import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hitModule, recording } from './hits.ts'
import { runTests } from './run-tests.ts'
import { copyTree, folderOf, ROOT, sourceFiles, testFiles } from './tree.ts'

/** The functions that each test file calls, and its time. */
export interface Learned {
  readonly [test: string]: { readonly ms: number; readonly calls: readonly string[] }
}

const FILE = join(ROOT, 'node_modules/.cache/mutants/learned.json')
const LONGEST_MS = 300_000

/** Reads the record of earlier runs. */
export const readLearned = (): Learned => (existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {})

/** Runs each test file alone in a tree that records calls, and keeps the record. */
export async function learn(which: (test: string) => boolean, say: (line: string) => void): Promise<Learned> {
  const tree = copyTree()
  const hits = join(tree.scratch, '../hits.txt')
  const module = join(tree.root, 'hit.mjs')
  const learned: Record<string, Learned[string]> = { ...readLearned() }
  try {
    writeFileSync(module, hitModule(hits))
    for (const path of sourceFiles(tree.root)) {
      const file = join(tree.root, path)
      writeFileSync(file, recording(readFileSync(file, 'utf8'), path, module))
    }
    const tests = testFiles(tree.root)
    for (const test of Object.keys(learned).filter((known) => !tests.includes(known))) delete learned[test]
    for (const test of tests.filter(which)) {
      rmSync(hits, { force: true })
      const start = performance.now()
      const outcome = await runTests(tree, [test], LONGEST_MS, [])
      const ms = Math.round(performance.now() - start)
      const calls = existsSync(hits) ? [...new Set(readFileSync(hits, 'utf8').split('\n'))].filter(Boolean).sort() : []
      learned[test] = { ms, calls }
      say(`${test}: ${calls.length} functions, ${ms} ms, ${outcome}`)
      mkdirSync(dirname(FILE), { recursive: true })
      writeFileSync(FILE, JSON.stringify(learned))
    }
  } finally {
    tree.remove()
  }
  return learned
}

/** Tells whether a test is in the folder that mirrors a file's. */
export const isNear = (test: string, path: string): boolean =>
  test.startsWith(`test/${folderOf(path).replace(/^src\/?/, '')}/`)

/**
 * Returns the test files that call a function, the likeliest to notice a mutant first: those of the same folder, then
 * the quickest.
 */
export function testsOf(learned: Learned, path: string, fn: number): readonly string[] {
  const id = `${path}#${fn}`
  return Object.entries(learned)
    .filter(([, { calls }]) => calls.includes(id))
    .sort(
      ([one, { ms }], [other, { ms: otherMs }]) =>
        Number(isNear(other, path)) - Number(isNear(one, path)) || ms - otherMs,
    )
    .map(([test]) => test)
}
