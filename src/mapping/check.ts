import type { Action } from './action.ts'
import { spelling } from './fields.ts'
import { covers, parsePlace } from './paths.ts'
import type { Fallback, Row } from './row.ts'

/** What declarations may refer to. */
export interface Surroundings {
  readonly tables: ReadonlySet<string>
  /** Every fact that some action remembers. */
  readonly facts: ReadonlySet<string>
}

/** The version-1 fields that a row claims. */
export function claims(row: Row): readonly string[] {
  switch (row.kind) {
    case 'move':
    case 'split':
    case 'ref':
    case 'ownNumber':
    case 'fixed':
    case 'choose':
    case 'say':
    case 'v1Only':
      return [row.v1]
    case 'join':
      return row.v1
    case 'lookup':
      return row.sources.map(({ v1 }) => v1)
    case 'recall':
    case 'v2Only':
      return []
    default:
      return row satisfies never
  }
}

/** The version-2 places that a row writes in a request. */
export function places(row: Row): readonly string[] {
  switch (row.kind) {
    case 'move':
    case 'join':
    case 'lookup':
    case 'recall':
    case 'v2Only':
    case 'ownNumber':
    case 'choose':
      return [row.v2]
    case 'split':
      return Object.values(row.v2)
    case 'ref':
    case 'fixed':
    case 'say':
    case 'v1Only':
      return []
    default:
      return row satisfies never
  }
}

const REQUEST_KINDS = new Set<Row['kind']>(['move', 'split', 'join', 'lookup', 'recall', 'ref', 'v1Only', 'v2Only'])
const REMEMBER_KINDS = new Set<Row['kind']>(['move', 'split', 'join', 'v1Only'])
const REPLY_KINDS = new Set<Row['kind']>(['move', 'split', 'join', 'ownNumber', 'fixed', 'choose', 'say', 'v2Only'])

/** Every mistake of a declaration, each naming the module and the row. */
export function mistakesOf(action: Action, surroundings: Surroundings): readonly string[] {
  const remember = action.remember ?? []
  const request = [...action.request, ...remember]
  const sections: readonly (readonly [Section, readonly Row[], ReadonlySet<Row['kind']>])[] = [
    ['request', action.request, REQUEST_KINDS],
    ['remember', remember, REMEMBER_KINDS],
    ['reply', action.reply, REPLY_KINDS],
  ]
  return [
    ...sections.flatMap(([section, rows, kinds]) => [
      ...badKinds(action, section, rows, kinds),
      ...badPlaces(action, section, rows),
      ...missingWhys(action, section, rows),
    ]),
    ...claimedTwice(action, 'request', request),
    ...claimedTwice(action, 'reply', action.reply),
    ...writtenTwice(action, 'request', action.request),
    ...writtenTwice(action, 'remember', remember),
    ...unknownNames(action, request, surroundings),
    ...badService(action),
  ]
}

type Section = 'request' | 'remember' | 'reply'

const at = (action: Action, section: Section, row: Row) => {
  const about = [claims(row).join(' + '), places(row).join(' + ')].filter(Boolean).join(' → ')
  return `${action.name}: ${section} row "${row.kind} ${about}"`
}

function badKinds(action: Action, section: Section, rows: readonly Row[], allowed: ReadonlySet<Row['kind']>): string[] {
  return rows
    .filter((row) => !allowed.has(row.kind))
    .map((row) => `${at(action, section, row)}: a ${row.kind} row has no place in a ${section}`)
}

function claimedTwice(action: Action, section: Section, rows: readonly Row[]): string[] {
  const claimed = new Map<string, string>()
  return rows.flatMap((row) =>
    claims(row).flatMap((v1) => {
      const first = claimed.get(spelling(v1))
      claimed.set(spelling(v1), v1)
      return first === undefined ? [] : [`${at(action, section, row)}: ${v1} is claimed twice (already as ${first})`]
    }),
  )
}

function writtenTwice(action: Action, section: Section, rows: readonly Row[]): string[] {
  const written: string[] = []
  return rows.flatMap((row) =>
    places(row).flatMap((v2) => {
      const clash = written.find((other) => covers(other, v2) || covers(v2, other))
      written.push(v2)
      if (clash === undefined) return []
      return [`${at(action, section, row)}: ${v2} is ${clash === v2 ? 'written twice' : `nested with ${clash}`}`]
    }),
  )
}

function badPlaces(action: Action, section: Section, rows: readonly Row[]): string[] {
  return rows.flatMap((row) =>
    [...places(row), ...spokenPlaces(row)]
      .filter((v2) => !parsePlace(v2))
      .map((v2) => `${at(action, section, row)}: ${v2} is not a place such as pickup.zipcode or vehicles[0].year`),
  )
}

/** The places that a row's sentences depend on. */
function spokenPlaces(row: Row): readonly string[] {
  if (row.kind !== 'say') return []
  return row.sentences.flatMap(({ text, when }) => [
    ...(when ? [when.v2] : []),
    ...bracedIn(text).flatMap((paths) => paths.split('|')),
  ])
}

function missingWhys(action: Action, section: Section, rows: readonly Row[]): string[] {
  return rows
    .filter((row) => 'why' in row && row.why.trim() === '')
    .map((row) => `${at(action, section, row)}: the why is missing`)
}

function unknownNames(action: Action, rows: readonly Row[], { tables, facts }: Surroundings): string[] {
  const claimed = new Set(rows.flatMap(claims))
  const named = [
    ...(action.finds?.by ?? []),
    ...(action.finds?.disambiguateBy ? [action.finds.disambiguateBy] : []),
    ...(action.recalls ?? []),
    ...(action.keeps?.names ?? []),
    ...(action.keeps?.disambiguateBy ? [action.keeps.disambiguateBy] : []),
    ...(action.needs ?? []).flatMap(({ anyOf }) =>
      anyOf.flatMap((alternative) => ('fields' in alternative ? alternative.fields : [])),
    ),
  ]
  const recalled = [
    ...rows.flatMap((row) =>
      'otherwise' in row && typeof row.otherwise !== 'string' ? row.otherwise.flatMap(factsOf) : [],
    ),
    ...(action.needs ?? []).flatMap(({ anyOf }) =>
      anyOf.flatMap((alternative) => ('fact' in alternative ? [alternative.fact] : [])),
    ),
  ]
  return [
    ...named
      .filter((v1) => !claimed.has(v1))
      .map((v1) => `${action.name}: no request row claims ${v1}, which the declaration uses`),
    ...recalled
      .filter((fact) => !facts.has(fact))
      .map((fact) => `${action.name}: no action remembers the fact ${fact}`),
    ...rows.flatMap((row) =>
      row.kind === 'lookup' && !tables.has(row.table)
        ? [`${at(action, 'request', row)}: there is no table ${row.table}`]
        : [],
    ),
  ]
}

function factsOf(fallback: Fallback): readonly string[] {
  return fallback.kind === 'remembered' ? fallback.facts : []
}

/** What stands in braces in a path or a sentence. */
function bracedIn(text: string): string[] {
  return [...text.matchAll(/\{([^}]*)\}/g)].map(([, inside = '']) => inside)
}

function badService({ name, service, finds, legacy }: Action): string[] {
  const parameters = bracedIn(service.path)
  const expected = finds ? [`${finds.kind}_id`] : []
  const mistakes: string[] = []
  if (!service.path.startsWith('/v2/'))
    mistakes.push(`${name}: the service path ${service.path} does not begin with /v2/`)
  if (parameters.join() !== expected.join()) {
    mistakes.push(
      `${name}: the service path has {${parameters.join('}, {')}}, but the call finds ${expected.join() || 'nothing'}`,
    )
  }
  if (legacy.paths.length === 0) mistakes.push(`${name}: no legacy path`)
  for (const path of legacy.paths)
    if (!/^\/.*[^/]$/.test(path)) mistakes.push(`${name}: the legacy path ${path} is not one such as /getRate.php`)
  return mistakes
}
