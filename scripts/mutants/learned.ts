import { hash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hitModule, recording } from './hits.ts'
import { runTestFile } from './run-tests.ts'
import { functionsIn, parse } from './syntax.ts'
import { copyTree, folderOf, ROOT, sourceFiles, testFiles } from './tree.ts'

/** The functions that each test file calls, and its time. */
export interface Learned {
  readonly [test: string]: {
    readonly ms: number
    readonly calls: readonly string[]
    /** How many functions each called file had: with another number, they are counted otherwise now. */
    readonly functions?: Readonly<Record<string, number>>
    /** The digest of the test file; one that changed since may call other functions. */
    readonly digest?: string
  }
}

const FILE = join(ROOT, 'node_modules/.cache/mutants/learned.json')
const LONGEST_MS = 300_000

/** Reads the record of earlier runs. */
export const readLearned = (): Learned => (existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : {})

const digestOf = (test: string): string => hash('sha256', readFileSync(join(ROOT, test)))

/** Tells whether a test file is known as it is now. */
export const isLearned = (learned: Learned, test: string): boolean => learned[test]?.digest === digestOf(test)

/** Runs each test file alone in a tree that records calls, and keeps the record. */
export async function learn(which: (test: string) => boolean, say: (line: string) => void): Promise<Learned> {
  const tree = copyTree()
  const hits = join(tree.scratch, '../hits.txt')
  const module = join(tree.root, 'hit.mjs')
  const learned: Record<string, Learned[string]> = { ...readLearned() }
  try {
    writeFileSync(module, hitModule(hits))
    const counts = new Map<string, number>()
    for (const path of sourceFiles(tree.root)) {
      const file = join(tree.root, path)
      const source = readFileSync(file, 'utf8')
      counts.set(path, functionsIn(parse(source)))
      writeFileSync(file, recording(source, path, module))
    }
    const tests = testFiles(tree.root)
    for (const test of Object.keys(learned).filter((known) => !tests.includes(known))) delete learned[test]
    for (const test of tests.filter(which)) {
      rmSync(hits, { force: true })
      const start = performance.now()
      const outcome = await runTestFile(tree, test, LONGEST_MS)
      const ms = Math.round(performance.now() - start)
      const calls = existsSync(hits) ? [...new Set(readFileSync(hits, 'utf8').split('\n'))].filter(Boolean).sort() : []
      const files = new Set(calls.map((call) => call.split('#')[0] ?? ''))
      learned[test] = {
        ms,
        calls,
        digest: digestOf(test),
        functions: Object.fromEntries([...files].map((path) => [path, counts.get(path) ?? 0])),
      }
      say(`${test}: ${calls.length} functions, ${ms} ms, ${outcome}`)
      mkdirSync(dirname(FILE), { recursive: true })
      writeFileSync(FILE, JSON.stringify(learned))
    }
  } finally {
    tree.remove()
  }
  return learned
}

/** Tells whether a test is the one that mirrors a file. */
const isOwn = (test: string, path: string): boolean =>
  test === path.replace(/^src\//, 'test/').replace(/\.ts$/, '.test.ts')

/** Tells whether a test is in the folder that mirrors a file's, or is about the whole program, as those in no folder are. */
export const isNear = (test: string, path: string): boolean =>
  test.startsWith(`test/${folderOf(path).replace(/^src\/?/, '')}/`) || !test.slice('test/'.length).includes('/')

/**
 * Returns the test files that call a function, the likeliest to notice a mutant first: the file's own, those of the same
 * folder, then those that call most functions of the file. A test that was learned with another number of functions in the
 * file counts for all of them.
 */
export function testsOf(learned: Learned, path: string, fn: number, functions: number): readonly string[] {
  const id = `${path}#${fn}`
  return Object.entries(learned)
    .map(([test, { ms, calls, functions: counts }]) => {
      const inFile = calls.filter((call) => call.startsWith(`${path}#`))
      const isCaller = counts?.[path] === functions ? inFile.includes(id) : inFile.length > 0
      return { test, ms, isCaller, calls: inFile.length, own: isOwn(test, path), near: isNear(test, path) }
    })
    .filter(({ isCaller }) => isCaller)
    .sort(
      (one, other) =>
        Number(other.own) - Number(one.own) ||
        Number(other.near) - Number(one.near) ||
        (one.near ? 0 : other.calls - one.calls) ||
        one.ms - other.ms,
    )
    .map(({ test }) => test)
}
