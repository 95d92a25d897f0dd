import type { Action } from './action.ts'
import type { Callback } from './callback.ts'
import { looseName } from './fields.ts'
import { covers, parsePlace } from './paths.ts'
import type { Fallback, Row } from './row.ts'
import { bracedIn, fieldsOf, placesOf } from './row-parts.ts'

/** The names that declarations may refer to. */
interface KnownNames {
  readonly tables: ReadonlySet<string>
  /** Every fact that any action remembers. */
  readonly facts: ReadonlySet<string>
}

const BOTH_WAYS = ['move', 'split', 'join'] as const
const SHOWN = [...BOTH_WAYS, 'callerNumber', 'fixed', 'choose', 'message'] as const
/** The kinds of rows that each section of a declaration may have. */
const KINDS: Readonly<Record<Section, readonly Row['kind'][]>> = {
  request: [...BOTH_WAYS, 'lookup', 'fromQuote', 'ref', 'v1Only', 'v2Only'],
  remember: [...BOTH_WAYS, 'v1Only'],
  reply: [...SHOWN, 'v2Only'],
  callback: SHOWN,
}

/** Returns all mistakes in a declaration, each with the action and the row. */
export function mistakesOf(action: Action, known: KnownNames): readonly string[] {
  const remember = action.remember ?? []
  const request = [...action.request, ...remember]
  return [
    ...badRows(action, 'request', action.request),
    ...badRows(action, 'remember', remember),
    ...badRows(action, 'reply', action.reply),
    ...coveredTwice(action, 'request', request),
    ...coveredTwice(action, 'reply', action.reply),
    ...writtenTwice(action, 'request', action.request),
    ...writtenTwice(action, 'remember', remember),
    ...unknownNames(action, request, known),
    ...badService(action),
  ]
}

/** Returns all mistakes in a callback, each with the row. */
export function callbackMistakes(callback: Callback): readonly string[] {
  const { fields } = callback
  return [...badRows(callback, 'callback', fields), ...coveredTwice(callback, 'callback', fields)]
}

type Section = 'request' | 'remember' | 'reply' | 'callback'

const at = ({ name }: Action | Callback, section: Section, row: Row) => {
  const about = [fieldsOf(row).join(' + '), placesOf(row).join(' + ')].filter(Boolean).join(' → ')
  return `${name}: ${section} row "${row.kind} ${about}"`
}

function badRows(declared: Action | Callback, section: Section, rows: readonly Row[]): readonly string[] {
  return rows.flatMap((row) => {
    const wrong = [...placesOf(row), ...quotedPlaces(row)].filter((v2) => !parsePlace(v2))
    const mistakes = [
      ...(KINDS[section].includes(row.kind) ? [] : [`a ${row.kind} row cannot be used in a ${section}`]),
      ...wrong.map((v2) => `${v2} is not a place such as pickup.zipcode or vehicles[0].year`),
      ...('why' in row && row.why.trim() === '' ? ['the why is missing'] : []),
    ]
    return mistakes.map((mistake) => `${at(declared, section, row)}: ${mistake}`)
  })
}

function coveredTwice(action: Action | Callback, section: Section, rows: readonly Row[]): string[] {
  const covered = new Map<string, string>()
  return rows.flatMap((row) =>
    fieldsOf(row).flatMap((v1) => {
      const first = covered.get(looseName(v1))
      covered.set(looseName(v1), v1)
      return first === undefined ? [] : [`${at(action, section, row)}: ${v1} is covered twice (already as ${first})`]
    }),
  )
}

function writtenTwice(action: Action, section: Section, rows: readonly Row[]): string[] {
  const written: string[] = []
  return rows.flatMap((row) =>
    placesOf(row).flatMap((v2) => {
      const clash = written.find((other) => covers(other, v2) || covers(v2, other))
      written.push(v2)
      if (clash === undefined) return []
      return [`${at(action, section, row)}: ${v2} ${clash === v2 ? 'is written twice' : `overlaps ${clash}`}`]
    }),
  )
}

/** Returns the places that a message's sentences depend on. */
function quotedPlaces(row: Row): readonly string[] {
  if (row.kind !== 'message') return []
  return row.sentences.flatMap(({ text, when }) => [...(when ? [when.v2] : []), ...bracedIn(text)])
}

function unknownNames(action: Action, rows: readonly Row[], { tables, facts }: KnownNames): string[] {
  const { target, givesNames = [], quoteNamedBy = [], requires = [] } = action
  const alternatives = requires.flatMap(({ anyOf }) => anyOf)
  const covered = new Set(rows.flatMap(fieldsOf))
  const usedFields = [
    ...(target?.namedBy ?? []),
    ...quoteNamedBy,
    ...givesNames,
    ...alternatives.flatMap((alternative) => ('facts' in alternative ? [] : alternative)),
  ]
  const usedFacts = [
    ...rows.flatMap((row) => ('fallbacks' in row ? row.fallbacks.flatMap(factsOf) : [])),
    ...alternatives.flatMap((alternative) => ('facts' in alternative ? alternative.facts : [])),
  ]
  return [
    ...usedFields
      .filter((v1) => !covered.has(v1))
      .map((v1) => `${action.name}: no request row covers ${v1}, which the declaration uses`),
    ...usedFacts
      .filter((fact) => !facts.has(fact))
      .map((fact) => `${action.name}: no action remembers the fact ${fact}`),
    ...rows.flatMap((row) =>
      row.kind === 'lookup' && !tables.has(row.table)
        ? [`${at(action, 'request', row)}: there is no table ${row.table}`]
        : [],
    ),
  ]
}

const factsOf = (fallback: Fallback): readonly string[] => (fallback.kind === 'quoteFact' ? fallback.facts : [])

function badService({ name, service, target, legacy }: Action): string[] {
  const parameters = bracedIn(service.path)
  const expected = target ? [`${target.kind}_id`] : []
  const mistakes: string[] = []
  if (!service.path.startsWith('/v2/'))
    mistakes.push(`${name}: the service path ${service.path} does not begin with /v2/`)
  if (parameters.join() !== expected.join()) {
    const has = parameters.length > 0 ? `{${parameters.join('}, {')}}` : 'no id'
    mistakes.push(
      `${name}: the service path contains ${has}, but the action ${target ? `has a ${target.kind} as its target` : 'has no target'}`,
    )
  }
  if (legacy.paths.length === 0) mistakes.push(`${name}: no legacy path`)
  for (const path of legacy.paths)
    if (!/^\/.*[^/]$/.test(path)) mistakes.push(`${name}: the legacy path ${path} is not one such as /getRate.php`)
  return mistakes
}
