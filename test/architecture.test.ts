/** Promise: rooms depend on each other in one direction, and the source keeps its rules. */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './command.ts'

/*
 * The rules of the source tree. Each one comes with a breach that it must notice.
 */

interface Source {
  /** From the root of the repository: `src/app.ts`. */
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
 * Returns what a file imports: `node:fs`, `zod`, or a path from the root of the repository. Types alone are removed when types
 * are stripped; `import { type A }` stays, and still loads the module.
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

/** Reports whether a path is one of these files, or in one of these folders. */
const inside = (path: string, ...places: readonly string[]) =>
  places.some((place) => path === place || (place.endsWith('/') && path.startsWith(place)))

/** The bands, the uppermost first: each imports from itself and from those below it. */
const BANDS: readonly string[] = [
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

/** Returns the band of a file. */
const bandOf = (path: string) =>
  BANDS.find((place) => (place === 'src/' ? dirname(path) === 'src' : inside(path, place)))

/** Returns how far down a file is; -1 if it is in no band. */
const depthOf = (path: string): number => BANDS.indexOf(bandOf(path) ?? '')

/** Returns the room of a file: its folder in a band, or the band where it has no rooms. */
const roomOf = (path: string): string => path.split('/').slice(0, -1).slice(0, 3).join('/')

interface Rule {
  readonly name: string
  /** Returns one line for each breach. */
  readonly breaches: (sources: readonly Source[]) => readonly string[]
  /** The texts of files that break the rule, by path. */
  readonly broken: Readonly<Record<string, string>>
}

/** Lists imports that a rule forbids. */
const imports =
  (forbidden: (path: string, target: string) => boolean): Rule['breaches'] =>
  (sources) =>
    sources.flatMap((source) =>
      importsOf(source)
        .filter(({ target }) => forbidden(source.path, target))
        .map(({ target }) => `${source.path} imports ${target}`),
    )

/** Lists files of one kind that contain what a rule forbids; an exception is a file, with its reason. */
const contents =
  (
    concerns: (path: string) => boolean,
    forbidden: RegExp,
    exceptions: Readonly<Record<string, string>> = {},
  ): Rule['breaches'] =>
  (sources) =>
    sources
      .filter((source) => concerns(source.path) && !Object.hasOwn(exceptions, source.path))
      .flatMap((source) => (forbidden.test(codeOf(source)) ? [`${source.path} contains ${forbidden}`] : []))

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

const isMapping = (path: string) => inside(path, 'src/language/mapping/')
/** What loads the declarations is none. */
const isDeclaration = (path: string) => inside(path, 'mappings/') && !/^mappings\/(load|own)\.ts$/.test(path)
const isSandbox = (path: string) => inside(path, 'src/labs/demo/')
/** Run the gateway in front of the stand-in of the service. */
const isDemo = (path: string) => /^src\/operator\/commands\/(demo|demo-history|chaos|harness)\.ts$/.test(path)
const isStore = (path: string) => inside(path, 'src/outside/store/')
const isText = (path: string) => inside(path, 'src/language/text/')

const rules: readonly Rule[] = [
  {
    name: 'every file is in a band',
    breaches: (sources) => sources.map(({ path }) => path).filter((path) => bandOf(path) === undefined),
    broken: { 'src/attic/box.ts': '' },
  },
  {
    name: 'bands import downward only, types included',
    breaches: imports((path, target) => depthOf(target) !== -1 && depthOf(target) < depthOf(path)),
    broken: { 'src/edge/nosy.ts': "import type { Call } from '../calls/legacy.ts'" },
  },
  {
    name: 'the mapping engine imports nothing but itself, text and zod',
    breaches: imports((path, target) => isMapping(path) && !isMapping(target) && !isText(target) && target !== 'zod'),
    broken: { 'src/language/mapping/nosy.ts': "import { readFileSync } from 'node:fs'" },
  },
  {
    name: 'the mapping engine does no I/O, reads no clock and uses no random numbers',
    breaches: contents(
      isMapping,
      /\bDate\b|\bperformance\b|Math\.random|\bcrypto\b|\bprocess\b|\bfetch\(|\bset(Timeout|Interval|Immediate)\b|\bawait\b/,
    ),
    broken: { 'src/language/mapping/restless.ts': 'export const at = () => Date.now()' },
  },
  {
    name: 'declarations import nothing but the vocabulary, each other, text and zod',
    breaches: imports(
      (path, target) =>
        isDeclaration(path) &&
        ![isMapping, isDeclaration, isText].some((isAllowed) => isAllowed(target)) &&
        !['src/language/config/lookups.ts', 'zod'].includes(target),
    ),
    broken: { 'mappings/nosy.ts': "import { createXref } from '../src/state/names/names.ts'" },
  },
  {
    name: 'declarations do no I/O and read no clock',
    breaches: contents(isDeclaration, /\bDate\b|\bperformance\b|Math\.random|\bprocess\b|\bfetch\(|\bawait\b/, {
      'mappings/codecs/vehicle.ts': 'the latest model year depends on today',
    }),
    broken: { 'mappings/restless.ts': 'export const lot = Math.random()' },
  },
  {
    name: 'the stores import nothing of the gateway but runtime, text and their address',
    breaches: imports(
      (path, target) =>
        isStore(path) &&
        bandOf(target) !== undefined &&
        ![isStore, isText].some((isAllowed) => isAllowed(target)) &&
        !inside(target, 'src/runtime/', 'src/language/config/'),
    ),
    broken: { 'src/outside/store/nosy.ts': "import { vehicleTypes } from '../../../mappings/vehicle-types.ts'" },
  },
  {
    name: 'the stand-in of the service imports nothing of the gateway',
    breaches: imports((path, target) => isSandbox(path) && inside(target, 'src/', 'mappings/') && !isSandbox(target)),
    broken: { 'src/labs/demo/nosy.ts': "import { GatewayError } from '../errors.ts'" },
  },
  {
    name: 'only the demo imports the stand-in of the service',
    breaches: imports((path, target) => !isSandbox(path) && !isDemo(path) && isSandbox(target)),
    broken: { 'src/gateway-with-toys.ts': "import { startSandbox } from './labs/demo/sandbox.ts'" },
  },
  {
    name: 'every error of the gateway has a message of the table',
    breaches: contents((path) => path !== 'src/language/errors.ts', /new GatewayError\(/),
    broken: { 'src/calls/free.ts': "export const free = new GatewayError('draining', 'Wait.')" },
  },
  {
    name: 'only the configuration and the commands read the environment',
    breaches: contents(
      (path) => !inside(path, 'src/language/config/', 'src/operator/commands/'),
      /process\.env|\bimport\.meta\.env/,
      {
        'src/labs/demo/sandbox.ts': 'the stand-in refuses to start in production',
        'src/operator/pages/snippets.ts': 'the programs that it writes read theirs',
      },
    ),
    broken: { 'src/whimsical.ts': "export const loud = process.env['LOUD'] === 'yes'" },
  },
  {
    name: 'the service is called through undici, never through the global fetch, which costs six times as much',
    breaches: contents((path) => inside(path, 'src/'), /(?<![.\w])fetch\(|globalThis\.fetch/, {
      'src/operator/pages/snippets.ts': 'the programs that it writes are not the gateway',
    }),
    broken: { 'src/slow.ts': "export const slow = () => fetch('https://service.example.com')" },
  },
  {
    name: 'no files load each other in a cycle',
    breaches: (sources) => cycles(sources, false),
    broken: {
      'src/hen.ts': "import { egg } from './egg.ts'",
      'src/egg.ts': "import { type Shell, yolk } from './yolk.ts'",
      'src/yolk.ts': "export const later = () => import('./hen.ts')",
    },
  },
  {
    name: 'no two rooms import each other, types included',
    breaches: (sources) => cycles(sources, true).filter((cycle) => new Set(cycle.split(' → ').map(roomOf)).size > 1),
    broken: {
      'src/state/names/row.ts': "import type { Table } from '../uses/table.ts'",
      'src/state/uses/table.ts': "import type { Row } from '../names/row.ts'",
    },
  },
]

const program = [...sourcesIn('src'), ...sourcesIn('mappings')]

test.each(rules)('$name', ({ breaches, broken }) => {
  expect(breaches(program)).toEqual([])
  // A rule that cannot fail protects nothing.
  const files = Object.entries(broken).map(([path, text]) => ({ path, text }))
  expect(breaches([...program, ...files]).length).toBeGreaterThan(0)
})

test('every band holds files', () => {
  const folders = new Set(program.map(({ path }) => bandOf(path)))
  expect(BANDS.filter((place) => !folders.has(place))).toEqual([])
})

test('every relative import leads to a file of the program: not to tests, benchmarks or scripts', () => {
  const paths = new Set([...program.map(({ path }) => path), 'package.json'])
  const targets = program.flatMap((source) => importsOf(source).map(({ target }) => target))
  const within = targets.filter((target) => inside(target, 'src/', 'mappings/', 'package.json'))
  expect(within.filter((target) => !paths.has(target))).toEqual([])
  const specifiers = program.flatMap(({ text }) => text.match(/from '\.[^']+'|import\('\.[^']+'\)/g) ?? [])
  expect(within.length).toBe(specifiers.length)
})

test('every file of tests begins with the promise that it checks', () => {
  const tests = sourcesIn('test').filter(({ path }) => path.endsWith('.test.ts'))
  const silent = tests.filter(({ text }) => !/^\/\*\* Promise: .+\. \*\/\n/.test(text)).map(({ path }) => path)
  expect(silent).toEqual([])
})
