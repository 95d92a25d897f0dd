import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hitModule, recording } from '../../scripts/mutants/hits.ts'
import { testsOf } from '../../scripts/mutants/learned.ts'
import { type Equivalent, isAccepted, describe as lineOf, mutantsOf, sampleOf } from '../../scripts/mutants/mutants.ts'
import { mutated, pointsOf } from '../../scripts/mutants/points.ts'
import { report } from '../../scripts/mutants/report.ts'
import { parse } from '../../scripts/mutants/syntax.ts'
import { folderOf, ROOT, testFiles } from '../../scripts/mutants/tree.ts'
import { stagesOf } from '../../scripts/mutants/try.ts'

/** Every mutant of a text. */
const mutantsIn = (source: string) => pointsOf(source).map((point) => mutated(source, point))

const all = mutantsOf(ROOT)
const equivalents: readonly Equivalent[] = JSON.parse(
  readFileSync(join(ROOT, 'scripts/mutants/equivalents.json'), 'utf8'),
)

describe('the mutants', () => {
  test.each([
    ['a < b', ['a <= b', 'a >= b', ';']],
    ['a && b', ['a || b', ';']],
    ['a ?? b', ['a', ';']],
    ['a === 1', ['a !== 1', 'a === 2', 'a === 0', ';']],
    ['x += 2', ['x -= 2', 'x += 3', 'x += 1', ';']],
    ['if (a) b()', ['if (!(a)) b()', 'if (a) ;']],
    ['for (; a; ) b()', ['for (; false; ) b()', 'for (; a; ) ;']],
    ['const f = () => a', ['const f = () => undefined']],
    ['function f() { return a }', ['function f() { return undefined }']],
    ["const a = ['', 'b']", ["const a = ['mutant', 'b']", "const a = ['', '']"]],
    ['const a = `b`', ['const a = ``']],
    ['const a = !b', ['const a = (b)']],
    ['const a = { b: true }', ['const a = { b: false }']],
    ['const a = [...b]', ['const a = [...[]]']],
    ['const a = { ...b }', ['const a = { ...{} }']],
    ['throw a', [';']],
  ])('of %s', (source, mutants) => {
    expect(mutantsIn(source).sort()).toEqual([...mutants].sort())
  })

  test.each([
    "import a from 'b'",
    "import type { A } from 'b'",
    "export * from 'b'",
    "const a = await import('b')",
    'interface A { b: 1 | 2 }',
    "type A = 'b' | 'c'",
    'const a = b as 1',
    'const a: 1 = b',
    'const a = b satisfies never',
  ])('of %s are none: it has no code that runs', (source) => {
    expect(pointsOf(source).filter(({ kind }) => kind !== 'returned nothing')).toEqual([])
  })

  test('of the whole program are well-formed, each differs, and many', () => {
    expect(all.length).toBeGreaterThan(20_000)
    for (const path of ['src/store/claim.ts', 'src/bookings/record.ts', 'mappings/codecs/money.ts']) {
      const source = readFileSync(join(ROOT, path), 'utf8')
      for (const mutant of mutantsIn(source)) {
        expect(mutant).not.toBe(source)
        expect(() => parse(mutant)).not.toThrow()
      }
    }
  })

  test('of one seed are the same sample, so many of each folder; of another one, others', () => {
    const one = sampleOf(all, 2, 1).map(lineOf)
    expect(
      sampleOf([...all].reverse(), 2, 1)
        .map(lineOf)
        .sort(),
    ).toEqual(one.toSorted())
    expect(sampleOf(all, 2, 2).map(lineOf)).not.toEqual(one)
    const folders = new Set(all.map(({ folder }) => folder))
    expect(one).toHaveLength(2 * folders.size)
    expect(folders).toContain('src/bookings')
    expect(folderOf('src/errors.ts')).toBe('src')
    expect(folderOf('src/store/sqlite/writer.ts')).toBe('src/store')
  })

  test('that are accepted as equivalent exist, and each has a reason', () => {
    for (const entry of equivalents) {
      expect(
        all.filter((mutant) => isAccepted(mutant, entry)),
        entry.context,
      ).not.toEqual([])
      expect(entry.why).not.toBe('')
    }
  })
})

test('a recording file runs as before, and writes down each function that is called', () => {
  const folder = mkdtempSync(join(tmpdir(), 'transload-hits-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [hits, module] = [join(folder, 'hits.txt'), join(folder, 'hit.mjs')]
  const source = [
    'const twice = (n: number) => ({ n: n * 2 })',
    'function never() { return 1 }',
    'class A { b() { return twice(3).n } }',
    'process.stdout.write(String([1, 2].map((n) => twice(n).n).concat(new A().b())) + typeof never)',
  ].join('\n')
  writeFileSync(module, hitModule(hits))
  writeFileSync(join(folder, 'a.ts'), recording(source, 'src/a.ts', module))
  const { stdout, stderr } = spawnSync(process.execPath, [join(folder, 'a.ts')], { encoding: 'utf8' })
  expect({ stdout, stderr }).toEqual({ stdout: '2,4,6function', stderr: '' })
  const called = readFileSync(hits, 'utf8').trim().split('\n').sort()
  expect(called).toEqual(['src/a.ts#-1', 'src/a.ts#0', 'src/a.ts#2', 'src/a.ts#3'])
  // The numbers are those of the points.
  expect(pointsOf(source).find(({ text }) => text === 'return undefined')?.fn).toBe(1)
})

test('the tests of a mutant are those that call its function: its own first, then the near ones, then those that call most of its file', () => {
  const calls = ['src/store/claim.ts#1']
  const functions = { 'src/store/claim.ts': 4 }
  const learned = {
    'test/calls/quick.test.ts': { ms: 10, calls, functions },
    'test/calls/most.test.ts': { ms: 900, calls: [...calls, 'src/store/claim.ts#2'], functions },
    'test/docs.test.ts': { ms: 600, calls, functions },
    'test/store/slow.test.ts': { ms: 500, calls, functions },
    'test/store/quick.test.ts': { ms: 100, calls, functions },
    'test/store/claim.test.ts': { ms: 900, calls, functions },
    'test/store/other.test.ts': { ms: 1, calls: ['src/store/claim.ts#2'], functions },
    'test/body/other.test.ts': { ms: 1, calls: ['src/body/bytes.ts#1'], functions: { 'src/body/bytes.ts': 4 } },
  }
  const own = 'test/store/claim.test.ts'
  const near = ['test/store/quick.test.ts', 'test/store/slow.test.ts', 'test/docs.test.ts']
  const far = ['test/calls/most.test.ts', 'test/calls/quick.test.ts']
  expect(testsOf(learned, 'src/store/claim.ts', 1, 4)).toEqual([own, ...near, ...far])
  // The file has one function more than when the tests were learned: its numbers mean others now.
  expect(testsOf(learned, 'src/store/claim.ts', 1, 5)).toEqual([own, 'test/store/other.test.ts', ...near, ...far])
  expect(testFiles(ROOT).filter((path) => /^test\/(?!commands).*\.slow\.|debian/.test(path))).toEqual([])
})

test('the first test of a mutant runs alone, then some quick ones, then the others', () => {
  const times = [3_000, 1_000, 2_000, 2_000, 9_000, 9_000, 9_000]
  const learned = Object.fromEntries(times.map((ms, n) => [`t${n}`, { ms, calls: [] }]))
  const stages = [['t0'], ['t1', 't2'], ['t3', 't4', 't5'], ['t6']]
  expect(stagesOf(Object.keys(learned), learned)).toEqual(stages)
})

test('the report counts by folder, and lists who survived', () => {
  const [mutant] = sampleOf(all, 1, 1)
  if (!mutant) return expect.fail('no mutant')
  const verdicts = ['killed', 'timed out', 'survived', 'refused', 'uncalled'] as const
  const text = report(
    verdicts.map((verdict) => ({ mutant, verdict })),
    '7',
  )
  expect(text).toContain('Seed 7.')
  expect(text).toMatch(new RegExp(`^${mutant.folder} +2/4 +50 % +\\(1 refused\\)$`, 'm'))
  expect(text).toContain(`2 survive:\n${lineOf(mutant)}\n${lineOf(mutant)} (never called)`)
})
