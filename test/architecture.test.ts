/** Promise: rooms depend on each other in one direction, and the source keeps its rules. */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT } from './command.ts'

/*
 * The rules of the source tree. Each one comes with a breach that it must notice, because a rule that cannot fail
 * protects nothing. A folder is one of src, or `mappings`.
 */

interface Source {
  /** From the root of the repository: `src/app.ts`. */
  readonly path: string
  readonly text: string
}

interface Import {
  /** `node:fs`, `zod`, or a path from the root of the repository. */
  readonly target: string
  /** Removed when types are stripped. `import { type A }` stays: it still loads the module. */
  readonly typeOnly: boolean
}

function sourcesIn(folder: string): readonly Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

const IMPORT = /^(?:import|export)\s+(type\s+)?(?:[^'"();]*?\sfrom\s+)?'([^']+)'|\bimport\('([^']+)'\)/gm

function importsOf({ path, text }: Source): readonly Import[] {
  return [...text.matchAll(IMPORT)].map(([, type, stated, dynamic]) => {
    const specifier = stated ?? dynamic ?? ''
    const target = specifier.startsWith('.') ? join(dirname(path), specifier) : specifier
    return { target, typeOnly: type !== undefined }
  })
}

/** Returns the text of a file without its comments. */
function codeOf({ text }: Source): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}

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

/** Run the gateway in front of the stand-in of the service. */
const DEMO: readonly string[] = ['demo', 'demo-history', 'chaos', 'harness'].map(
  (name) => `src/operator/commands/${name}.ts`,
)

/** Returns the band of a file. */
function bandOf(path: string): string | undefined {
  return BANDS.find((place) => (place === 'src/' ? dirname(path) === 'src' : inside(path, place)))
}

/** Returns how far down a file is; -1 if it is in no band. */
const depthOf = (path: string): number => BANDS.indexOf(bandOf(path) ?? '')

/** Returns the room of a file: its folder in a band, or the band where it has no rooms. */
const roomOf = (path: string): string => path.split('/').slice(0, -1).slice(0, 3).join('/')

interface Rule {
  readonly name: string
  /** Returns one line for each breach. */
  readonly breaches: (sources: readonly Source[]) => readonly string[]
  /** Files that break the rule. */
  readonly broken: readonly Source[]
}

const importLine = (path: string, target: string) => `${path} imports ${target}`

/** Makes a rule about what files of one kind import. */
function mayNotImport(concerns: (path: string) => boolean, forbidden: (target: string) => boolean): Rule['breaches'] {
  return (sources) =>
    sources
      .filter(({ path }) => concerns(path))
      .flatMap((source) =>
        importsOf(source)
          .filter(({ target }) => forbidden(target))
          .map(({ target }) => importLine(source.path, target)),
      )
}

/** Makes a rule about what files of one kind contain; an exception is a file, with its reason. */
function mayNotContain(
  concerns: (path: string) => boolean,
  forbidden: RegExp,
  exceptions: Readonly<Record<string, string>> = {},
): Rule['breaches'] {
  return (sources) =>
    sources
      .filter((source) => concerns(source.path) && !Object.hasOwn(exceptions, source.path))
      .filter((source) => forbidden.test(codeOf(source)))
      .map(({ path }) => `${path} contains ${forbidden}`)
}

/** Returns the import cycles, each once and by its shortest path. */
function cycles(sources: readonly Source[], counts: (found: Import) => boolean): readonly string[] {
  const next = new Map(
    sources.map((source) => [
      source.path,
      importsOf(source)
        .filter(counts)
        .map(({ target }) => target),
    ]),
  )
  const found = new Map<string, string>()
  for (const start of next.keys()) {
    const paths: string[][] = [[start]]
    const seen = new Set<string>()
    for (let path = paths.shift(); path; path = paths.shift()) {
      const here = path.at(-1) ?? ''
      for (const target of next.get(here) ?? []) {
        if (target === start) {
          const members = [...path].sort().join()
          if (!found.has(members)) found.set(members, [...path, start].join(' → '))
        } else if (!seen.has(target)) {
          seen.add(target)
          paths.push([...path, target])
        }
      }
    }
  }
  return [...found.values()]
}

const isMapping = (path: string) => inside(path, 'src/language/mapping/')
/** What loads the declarations is none. */
const isLoader = (path: string) => inside(path, 'mappings/load.ts', 'mappings/own.ts')
const isDeclaration = (path: string) => inside(path, 'mappings/') && !isLoader(path)
const isSandbox = (path: string) => inside(path, 'src/labs/demo/')

const rules: readonly Rule[] = [
  {
    name: 'every file is in a band',
    breaches: (sources) => sources.map(({ path }) => path).filter((path) => bandOf(path) === undefined),
    broken: [{ path: 'src/attic/box.ts', text: '' }],
  },
  {
    name: 'bands import downward only, types included',
    breaches: (sources) =>
      sources.flatMap((source) =>
        importsOf(source)
          .filter(({ target }) => depthOf(target) !== -1 && depthOf(target) < depthOf(source.path))
          .map(({ target }) => importLine(source.path, target)),
      ),
    broken: [{ path: 'src/edge/nosy.ts', text: "import type { Call } from '../calls/legacy.ts'" }],
  },
  {
    name: 'the mapping engine imports nothing but itself, text and zod',
    breaches: mayNotImport(
      isMapping,
      (target) => !isMapping(target) && !inside(target, 'src/language/text/') && target !== 'zod',
    ),
    broken: [{ path: 'src/language/mapping/nosy.ts', text: "import { readFileSync } from 'node:fs'" }],
  },
  {
    name: 'the mapping engine does no I/O, reads no clock and uses no random numbers',
    breaches: mayNotContain(
      isMapping,
      /\bDate\b|\bperformance\b|Math\.random|\bcrypto\b|\bprocess\b|\bfetch\(|\bset(Timeout|Interval|Immediate)\b|\bawait\b/,
    ),
    broken: [{ path: 'src/language/mapping/restless.ts', text: 'export const at = () => Date.now()' }],
  },
  {
    name: 'declarations import nothing but the vocabulary, each other, text and zod',
    breaches: mayNotImport(
      isDeclaration,
      (target) =>
        !isMapping(target) &&
        !isDeclaration(target) &&
        !inside(target, 'src/language/text/', 'src/language/config/lookups.ts') &&
        target !== 'zod',
    ),
    broken: [{ path: 'mappings/nosy.ts', text: "import { createXref } from '../src/state/names/names.ts'" }],
  },
  {
    name: 'declarations do no I/O and read no clock',
    breaches: mayNotContain(isDeclaration, /\bDate\b|\bperformance\b|Math\.random|\bprocess\b|\bfetch\(|\bawait\b/, {
      'mappings/codecs/vehicle.ts': 'the latest model year depends on today',
    }),
    broken: [{ path: 'mappings/restless.ts', text: 'export const lot = Math.random()' }],
  },
  {
    name: 'the stores import nothing of the gateway but runtime, text and their address',
    breaches: mayNotImport(
      (path) => inside(path, 'src/outside/store/'),
      (target) =>
        bandOf(target) !== undefined &&
        !inside(target, 'src/outside/store/', 'src/runtime/', 'src/language/text/', 'src/language/config/'),
    ),
    broken: [
      { path: 'src/outside/store/nosy.ts', text: "import { vehicleTypes } from '../../../mappings/vehicle-types.ts'" },
    ],
  },
  {
    name: 'the stand-in of the service imports nothing of the gateway',
    breaches: mayNotImport(isSandbox, (target) => inside(target, 'src/', 'mappings/') && !isSandbox(target)),
    broken: [{ path: 'src/labs/demo/nosy.ts', text: "import { GatewayError } from '../errors.ts'" }],
  },
  {
    name: 'only the demo imports the stand-in of the service',
    breaches: mayNotImport((path) => !isSandbox(path) && !DEMO.includes(path), isSandbox),
    broken: [{ path: 'src/gateway-with-toys.ts', text: "import { startSandbox } from './labs/demo/sandbox.ts'" }],
  },
  {
    name: 'every error of the gateway has a message of the table',
    breaches: mayNotContain((path) => path !== 'src/language/errors.ts', /new GatewayError\(/),
    broken: [{ path: 'src/calls/free.ts', text: "export const free = new GatewayError('draining', 'Wait.')" }],
  },
  {
    name: 'only the configuration and the commands read the environment',
    breaches: mayNotContain(
      (path) => !inside(path, 'src/language/config/', 'src/operator/commands/'),
      /process\.env|\bimport\.meta\.env/,
      {
        'src/labs/demo/sandbox.ts': 'the stand-in refuses to start in production',
        'src/operator/pages/snippets.ts': 'the programs that it writes read theirs',
      },
    ),
    broken: [{ path: 'src/whimsical.ts', text: "export const loud = process.env['LOUD'] === 'yes'" }],
  },
  {
    name: 'the service is called through undici, never through the global fetch, which costs six times as much',
    breaches: mayNotContain((path) => inside(path, 'src/'), /(?<![.\w])fetch\(|globalThis\.fetch/, {
      'src/operator/pages/snippets.ts': 'the programs that it writes are not the gateway',
    }),
    broken: [{ path: 'src/slow.ts', text: "export const slow = () => fetch('https://service.example.com')" }],
  },
  {
    name: 'no files load each other in a cycle',
    breaches: (sources) => cycles(sources, ({ typeOnly }) => !typeOnly),
    broken: [
      { path: 'src/hen.ts', text: "import { egg } from './egg.ts'" },
      { path: 'src/egg.ts', text: "import { type Shell, yolk } from './yolk.ts'" },
      { path: 'src/yolk.ts', text: "export const later = () => import('./hen.ts')" },
    ],
  },
  {
    name: 'no two rooms import each other, types included',
    breaches: (sources) =>
      cycles(sources, () => true).filter((cycle) => new Set(cycle.split(' → ').map(roomOf)).size > 1),
    broken: [
      { path: 'src/state/names/row.ts', text: "import type { Table } from '../uses/table.ts'" },
      { path: 'src/state/uses/table.ts', text: "import type { Row } from '../names/row.ts'" },
    ],
  },
]

const program = [...sourcesIn('src'), ...sourcesIn('mappings')]

describe('the source tree', () => {
  test.each(rules)('$name', ({ breaches }) => {
    expect(breaches(program)).toEqual([])
  })
})

describe('a breach is noticed', () => {
  test.each(rules)('$name', ({ breaches, broken }) => {
    expect(breaches([...program, ...broken]).length).toBeGreaterThan(breaches(program).length)
  })
})

test('every band holds files', () => {
  const folders = new Set(program.map(({ path }) => bandOf(path)))
  expect(BANDS.filter((place) => !folders.has(place))).toEqual([])
})

test('every relative import leads to a file of the program: not to tests, benchmarks or scripts', () => {
  const paths = new Set([...program.map(({ path }) => path), 'package.json'])
  const found = program.flatMap((source) => importsOf(source).map(({ target }) => ({ source, target })))
  const within = found.filter(({ target }) => inside(target, 'src/', 'mappings/', 'package.json'))
  const lost = within
    .filter(({ target }) => !paths.has(target))
    .map(({ source, target }) => importLine(source.path, target))
  expect(lost).toEqual([])
  const specifiers = program.flatMap(({ text }) => text.match(/from '\.[^']+'|import\('\.[^']+'\)/g) ?? [])
  expect(within.length).toBe(specifiers.length)
})

test('every file of tests begins with the promise that it checks', () => {
  const tests = sourcesIn('test').filter(({ path }) => path.endsWith('.test.ts'))
  const silent = tests.filter(({ text }) => !/^\/\*\* Promise: .+\. \*\/\n/.test(text)).map(({ path }) => path)
  expect(silent).toEqual([])
})
