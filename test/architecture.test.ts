import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'

/*
 * The rules of the house, each with a breach that it has to notice: a rule that cannot turn red holds nothing.
 * Dependencies point inward: main → cli → commands → gateway → app → the rooms → mapping and store.
 */

interface Source {
  /** From the root of the repository: `src/app.ts`. */
  readonly path: string
  readonly text: string
}

interface Import {
  /** `node:fs`, `zod`, or a path from the root of the repository. */
  readonly target: string
  /** Gone once types are stripped. `import { type A }` is not: it still loads the module. */
  readonly typeOnly: boolean
}

const ROOT = join(import.meta.dirname, '..')

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

/** What a file does, without what it says about it. */
function codeOf({ text }: Source): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}

const inside = (path: string, ...places: readonly string[]) =>
  places.some((place) => path === place || (place.endsWith('/') && path.startsWith(place)))

/** From the street to the innermost room: nothing imports from a floor further out than its own. */
const FLOORS: readonly (readonly string[])[] = [
  ['src/main.ts'],
  ['src/cli.ts'],
  ['src/commands/'],
  ['src/gateway.ts'],
  ['src/app.ts'],
  ['src/'],
  ['src/store/', 'src/sandbox/', 'mappings/'],
  ['src/mapping/'],
  ['src/json.ts', 'src/service-text.ts'],
]

/** The most telling place wins: `src/mapping/` before `src/`. */
function floorOf(path: string): number {
  const places = FLOORS.flatMap((floor, level) => floor.map((place) => ({ place, level })))
  const [found] = places
    .filter(({ place }) => inside(path, place))
    .sort((one, other) => other.place.length - one.place.length)
  return found?.level ?? -1
}

interface Rule {
  readonly name: string
  /** One line for each breach. */
  readonly breaches: (sources: readonly Source[]) => readonly string[]
  /** A file, or several, that break the rule. */
  readonly broken: readonly Source[]
}

/** A rule about what files of one kind import. */
function mayNotImport(concerns: (path: string) => boolean, forbidden: (target: string) => boolean): Rule['breaches'] {
  return (sources) =>
    sources
      .filter(({ path }) => concerns(path))
      .flatMap((source) =>
        importsOf(source)
          .filter(({ target }) => forbidden(target))
          .map(({ target }) => `${source.path} imports ${target}`),
      )
}

/** A rule about what files of one kind say; the exceptions are files, each with its reason. */
function mayNotSay(
  concerns: (path: string) => boolean,
  forbidden: RegExp,
  exceptions: Readonly<Record<string, string>> = {},
): Rule['breaches'] {
  return (sources) => {
    const sayers = sources.filter((source) => concerns(source.path) && forbidden.test(codeOf(source)))
    const idle = Object.keys(exceptions).filter((path) => !sayers.some((source) => source.path === path))
    return [
      ...sayers.filter(({ path }) => !Object.hasOwn(exceptions, path)).map(({ path }) => `${path} says ${forbidden}`),
      ...idle.map((path) => `${path} needs no exception any more`),
    ]
  }
}

/** Files that import each other in a circle; each circle once, by its shortest way. */
function circles(sources: readonly Source[], counts: (found: Import) => boolean): readonly string[] {
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
    const ways: string[][] = [[start]]
    const seen = new Set<string>()
    for (let way = ways.shift(); way; way = ways.shift()) {
      const here = way.at(-1) ?? ''
      for (const target of next.get(here) ?? []) {
        if (target === start) {
          const members = [...way].sort().join()
          if (!found.has(members)) found.set(members, [...way, start].join(' → '))
        } else if (!seen.has(target)) {
          seen.add(target)
          ways.push([...way, target])
        }
      }
    }
  }
  return [...found.values()]
}

const MAX_LINES = 250

const isGround = (path: string) => inside(path, 'src/json.ts', 'src/service-text.ts')
const isMapping = (path: string) => inside(path, 'src/mapping/')
const isDeclaration = (path: string) => inside(path, 'mappings/')
const isSandbox = (path: string) => inside(path, 'src/sandbox/')

const rules: readonly Rule[] = [
  {
    name: 'dependencies point inward',
    breaches: (sources) =>
      sources.flatMap((source) =>
        importsOf(source)
          .filter(({ target }) => floorOf(target) !== -1 && floorOf(target) < floorOf(source.path))
          .map(({ target }) => `${source.path} imports ${target}, which is further out`),
      ),
    broken: [{ path: 'src/store/nosy.ts', text: "import type { Answer } from '../legacy.ts'" }],
  },
  {
    name: 'the mapping engine imports only itself, the ground floor and zod',
    breaches: mayNotImport(isMapping, (target) => !isMapping(target) && !isGround(target) && target !== 'zod'),
    broken: [{ path: 'src/mapping/nosy.ts', text: "import { readFileSync } from 'node:fs'" }],
  },
  {
    name: 'the mapping engine does no I/O, reads no clock and draws no lots',
    breaches: mayNotSay(
      isMapping,
      /\bDate\b|\bperformance\b|Math\.random|\bcrypto\b|\bprocess\b|\bfetch\(|\bset(Timeout|Interval|Immediate)\b|\bawait\b/,
    ),
    broken: [{ path: 'src/mapping/restless.ts', text: 'export const at = () => Date.now()' }],
  },
  {
    name: 'declarations import nothing but the vocabulary, each other and zod',
    breaches: mayNotImport(isDeclaration, (target) => !isMapping(target) && !isDeclaration(target) && target !== 'zod'),
    broken: [{ path: 'mappings/nosy.ts', text: "import { createXref } from '../src/xref/xref.ts'" }],
  },
  {
    name: 'declarations do no I/O and read no clock',
    breaches: mayNotSay(isDeclaration, /\bDate\b|\bperformance\b|Math\.random|\bprocess\b|\bfetch\(|\bawait\b/, {
      'mappings/codecs/vehicle.ts': 'the latest model year moves with the calendar',
    }),
    broken: [{ path: 'mappings/restless.ts', text: 'export const lot = Math.random()' }],
  },
  {
    name: 'the stores know nothing of the gateway',
    breaches: mayNotImport(
      (path) => inside(path, 'src/store/'),
      (target) => inside(target, 'src/', 'mappings/') && !inside(target, 'src/store/'),
    ),
    broken: [{ path: 'src/store/nosy.ts', text: "import type { Call } from '../call.ts'" }],
  },
  {
    name: 'the stand-in of the service imports nothing of the gateway',
    breaches: mayNotImport(isSandbox, (target) => inside(target, 'src/', 'mappings/') && !isSandbox(target)),
    broken: [{ path: 'src/sandbox/nosy.ts', text: "import { GatewayError } from '../errors.ts'" }],
  },
  {
    name: 'the stand-in of the service is imported by the demo alone',
    breaches: mayNotImport((path) => !isSandbox(path) && path !== 'src/commands/demo.ts', isSandbox),
    broken: [{ path: 'src/gateway-with-toys.ts', text: "import { startSandbox } from './sandbox/sandbox.ts'" }],
  },
  {
    name: 'the environment is read by the configuration and the commands alone',
    breaches: mayNotSay((path) => !inside(path, 'src/config/', 'src/commands/'), /process\.env|\bimport\.meta\.env/, {
      'src/sandbox/sandbox.ts': 'refuses to start in production',
    }),
    broken: [{ path: 'src/whimsical.ts', text: "export const loud = process.env['LOUD'] === 'yes'" }],
  },
  {
    name: 'the service is called through undici, never through the global fetch, which costs six times as much',
    breaches: mayNotSay((path) => inside(path, 'src/'), /(?<![.\w])fetch\(|globalThis\.fetch/),
    broken: [{ path: 'src/slow.ts', text: "export const slow = () => fetch('https://service.example.com')" }],
  },
  {
    name: 'no files load each other in a circle',
    breaches: (sources) => circles(sources, ({ typeOnly }) => !typeOnly),
    broken: [
      { path: 'src/hen.ts', text: "import { egg } from './egg.ts'" },
      { path: 'src/egg.ts', text: "import { type Shell, yolk } from './yolk.ts'" },
      { path: 'src/yolk.ts', text: "export const later = () => import('./hen.ts')" },
    ],
  },
  {
    name: 'files know each other in a circle, even by type alone, only within one folder',
    breaches: (sources) =>
      circles(sources, () => true).filter(
        (circle) => new Set(circle.split(' → ').map((path) => dirname(path))).size > 1,
      ),
    broken: [
      { path: 'src/store/cellar.ts', text: "import type { Attic } from '../attic.ts'" },
      { path: 'src/attic.ts', text: "import type { Cellar } from './store/cellar.ts'" },
    ],
  },
  {
    name: `no file is longer than ${MAX_LINES} lines`,
    breaches: (sources) =>
      sources
        .map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
        .filter(({ lines }) => lines > MAX_LINES)
        .map(({ path, lines }) => `${path} has ${lines} lines`),
    broken: [{ path: 'src/epic.ts', text: '\n'.repeat(MAX_LINES + 1) }],
  },
  {
    name: 'folders are at most three deep',
    breaches: (sources) => sources.map(({ path }) => path).filter((path) => path.split('/').length > 4),
    broken: [{ path: 'src/pages/parts/small/button.ts', text: '' }],
  },
  {
    name: 'no drawer is called utils',
    breaches: (sources) =>
      sources
        .map(({ path }) => path)
        .filter((path) => /(^|[/-])(utils?|helpers?|commons?|misc|manager|services)(\.ts|[/-])/.test(path)),
    broken: [{ path: 'src/string-utils.ts', text: '' }],
  },
]

const house = [...sourcesIn('src'), ...sourcesIn('mappings')]

describe('the house', () => {
  test.each(rules)('$name', ({ breaches }) => {
    expect(breaches(house)).toEqual([])
  })
})

describe('a breach is noticed', () => {
  test.each(rules)('$name', ({ breaches, broken }) => {
    expect(breaches([...house, ...broken]).length).toBeGreaterThan(breaches(house).length)
  })
})

test('every import of a file of the house is found and leads to a file', () => {
  const paths = new Set([...house.map(({ path }) => path), 'package.json'])
  const lost = house.flatMap((source) =>
    importsOf(source)
      .filter(({ target }) => inside(target, 'src/', 'mappings/') && !paths.has(target))
      .map(({ target }) => `${source.path} imports ${target}`),
  )
  expect(lost).toEqual([])
  const specifiers = house.flatMap(({ text }) => text.match(/from '\.[^']+'|import\('\.[^']+'\)/g) ?? [])
  const found = house.flatMap(importsOf).filter(({ target }) => inside(target, 'src/', 'mappings/'))
  expect(found.length).toBe(specifiers.length)
})
