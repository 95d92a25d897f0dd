/** Promise: rooms depend on each other in one direction, and the source keeps its rules. */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './command.ts'

/*
 * The rules of the source tree, each with a breach that it must notice.
 */

interface Source {
  /** From the root of the repository: `src/routes.ts`. */
  readonly path: string
  readonly text: string
}

function sourcesIn(folder: string): readonly Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

const IMPORT = /^(?:import|export)\s+(type\s+)?(?:[^'"();]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm

/**
 * Returns the imports of a file: `node:fs`, `zod`, or a path from the root of the repository. Stripping types removes `import type`;
 * `import { type A }` stays, and still loads the module.
 */
function importsOf({ path, text }: Source): readonly { readonly target: string; readonly typeOnly: boolean }[] {
  return [...text.matchAll(IMPORT)].map(([, type, stated, dynamic]) => {
    const specifier = stated ?? dynamic ?? ''
    const target = specifier.startsWith('.') ? join(dirname(path), specifier) : specifier
    return { target, typeOnly: type !== undefined }
  })
}

/** Returns the text of a file without its comments. */
const codeOf = ({ text }: Source): string => text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '$1')

/** The layers, from the top: each imports only from itself and from those below it. */
const LAYERS: readonly string[] = [
  'src/main.ts',
  'src/operator/',
  'src/labs/',
  // A gateway and its routes: the other files at the root of src.
  'src/',
  'src/calls/',
  'src/state/',
  'src/edge/',
  'src/outside/',
  'src/runtime/',
  'mappings/',
  'src/language/',
]

/** Returns the layer of a file. */
const layerOf = (path: string) =>
  LAYERS.find((place) => (place === 'src/' ? dirname(path) === 'src' : path.startsWith(place)))

/** Returns how far down a file is; -1 if it is not in a layer. */
const depthOf = (path: string): number => LAYERS.indexOf(layerOf(path) ?? '')

/** Returns the room of a file: its folder in a layer, or the layer itself if it has no rooms. */
const roomOf = (path: string): string => path.split('/').slice(0, -1).slice(0, 3).join('/')

type Broken = Readonly<Record<string, string>>
type Breaches = (sources: readonly Source[]) => readonly string[]

/** Lists the forbidden imports. */
const imports =
  (isForbidden: (path: string, target: string) => boolean): Breaches =>
  (sources) =>
    sources.flatMap((source) =>
      importsOf(source)
        .filter(({ target }) => isForbidden(source.path, target))
        .map(({ target }) => `${source.path} imports ${target}`),
    )

/** Returns the import cycles, each once and by its shortest path. */
function cycles(sources: readonly Source[], withTypes: boolean): readonly string[] {
  const next = new Map(
    sources.map((source) => [source.path, importsOf(source).filter(({ typeOnly }) => withTypes || !typeOnly)]),
  )
  const found = new Map<string, string>()
  for (const start of next.keys()) {
    const paths: string[][] = [[start]]
    const seen = new Set<string>()
    for (let path = paths.shift(); path; path = paths.shift()) {
      for (const { target } of next.get(path.at(-1) ?? '') ?? []) {
        const members = path.toSorted().join()
        if (target === start && !found.has(members)) found.set(members, [...path, start].join(' → '))
        if (target === start || seen.has(target)) continue
        seen.add(target)
        paths.push([...path, target])
      }
    }
  }
  return [...found.values()]
}

/** A rule about what some files import or contain. */
interface RuleOfFiles {
  readonly rule: string
  readonly files: string
  readonly imports?: string
  readonly contains?: string
  /** Files that may contain it, with the reason. */
  readonly exceptions?: Readonly<Record<string, string>>
  /** The texts of files that break the rule, by path. */
  readonly broken: Broken
}

/** Lists the breaches of such a rule. */
function breachesOf({ files, imports: target, contains, exceptions = {} }: RuleOfFiles): Breaches {
  const isConcerned = (path: string) => new RegExp(files).test(path) && !Object.hasOwn(exceptions, path)
  if (target !== undefined) return imports((path, to) => isConcerned(path) && new RegExp(target).test(to))
  const forbidden = new RegExp(contains ?? expect.fail('a rule forbids nothing'))
  return (sources) =>
    sources.filter((one) => isConcerned(one.path) && forbidden.test(codeOf(one))).map(({ path }) => path)
}

const ofFiles: readonly RuleOfFiles[] = JSON.parse(readFileSync(join(ROOT, 'test/architecture.json'), 'utf8'))

const rules: readonly (readonly [rule: string, breaches: Breaches, broken: Broken])[] = [
  [
    'every file is in a layer',
    (sources) => sources.map(({ path }) => path).filter((path) => layerOf(path) === undefined),
    { 'src/attic/box.ts': '' },
  ],
  [
    'layers import downward only, types included',
    imports((path, target) => depthOf(target) !== -1 && depthOf(target) < depthOf(path)),
    { 'src/edge/nosy.ts': "import type { Call } from '../calls/legacy.ts'" },
  ],
  [
    'no files load each other in a cycle',
    (sources) => cycles(sources, false),
    {
      'src/hen.ts': "import { egg } from './egg.ts'",
      'src/egg.ts': "import { type Shell, yolk } from './yolk.ts'",
      'src/yolk.ts': "export const later = () => import('./hen.ts')",
    },
  ],
  [
    'no two rooms import each other, types included',
    (sources) => cycles(sources, true).filter((cycle) => new Set(cycle.split(' → ').map(roomOf)).size > 1),
    {
      'src/state/names/row.ts': "import type { Table } from '../uses/table.ts'",
      'src/state/uses/table.ts': "import type { Row } from '../names/row.ts'",
    },
  ],
  ...ofFiles.map((one) => [one.rule, breachesOf(one), one.broken] as const),
]

const program = [...sourcesIn('src'), ...sourcesIn('mappings')]

test.each(rules)('%s', (_rule, breaches, broken) => {
  expect(breaches(program)).toEqual([])
  // A rule that cannot fail is useless.
  const files = Object.entries(broken).map(([path, text]) => ({ path, text }))
  expect(breaches([...program, ...files]).length).toBeGreaterThan(0)
})

test('every layer holds files', () => {
  const folders = new Set(program.map(({ path }) => layerOf(path)))
  expect(LAYERS.filter((place) => !folders.has(place))).toEqual([])
})

test('every relative import leads to a file of the program, not to tests, benchmarks or scripts', () => {
  const paths = new Set([...program.map(({ path }) => path), 'package.json'])
  const targets = program.flatMap((source) => importsOf(source).map(({ target }) => target))
  const within = targets.filter((target) => /^(src\/|mappings\/|package\.json$)/.test(target))
  expect(within.filter((target) => !paths.has(target))).toEqual([])
  const specifiers = program.flatMap(({ text }) => text.match(/from '\.[^']+'|import\('\.[^']+'\)/g) ?? [])
  expect(within.length).toBe(specifiers.length)
})

test('every test file begins with the promise that it checks', () => {
  const tests = sourcesIn('test').filter(({ path }) => path.endsWith('.test.ts'))
  const silent = tests.filter(({ text }) => !/^\/\*\* Promise: .+\. \*\/\n/.test(text)).map(({ path }) => path)
  expect(silent).toEqual([])
})
