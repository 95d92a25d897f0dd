import type { Action } from '../mapping/action.ts'
import type { Catalog } from '../mapping/catalog.ts'
import type { Row } from '../mapping/row.ts'
import { fieldsOf, placesOf } from '../mapping/row-parts.ts'
import { type CallCount, DAY_MS, type NameCount, OTHER_NAMES } from '../store/scoreboard.ts'
import { ACTION_NAME, VERSION_2_BODY } from './tally.ts'

/** One thing that a caller has to change before version 1 can be switched off. */
export interface WorkItem {
  readonly kind: 'action' | 'field' | 'assumed' | 'unknown'
  /** Empty for unknown fields. */
  readonly action: string
  readonly name: string
  /** How often it was used since it was first seen. */
  readonly count: number
  /** The version-2 places or requests. */
  readonly equivalents: readonly string[]
  readonly note: string
  /** Why the change is more than another spelling. */
  readonly blocks: 'no version-2 equal' | 'loses something' | undefined
}

/** Lists the work that the recent version-1 calls of a tenant leave, what blocks first. */
export type ListWork = (
  calls: readonly CallCount[],
  names: readonly NameCount[],
  fromDay: number,
) => readonly WorkItem[]

/** Makes the function that lists the work of a tenant, with the equivalents of these declarations. */
export function createListWork(catalog: Catalog): ListWork {
  const equivalent = createEquivalents(catalog)
  return (calls, names, fromDay) => {
    const recent = names.filter(({ lastAt }) => lastAt >= fromDay * DAY_MS)
    const lossy = new Map(recent.filter(({ kind }) => kind === 'lossy').map((count) => [keyOf(count), count.count]))
    const items = [
      ...actionsInUse(calls, fromDay, catalog),
      ...recent.flatMap((count) => fieldWork(count, lossy.get(keyOf(count)), equivalent)),
    ]
    return items.sort((one, other) => Number(other.blocks !== undefined) - Number(one.blocks !== undefined))
  }
}

const keyOf = ({ action, name }: NameCount) => `${action} ${name}`

function actionsInUse(calls: readonly CallCount[], fromDay: number, catalog: Catalog): WorkItem[] {
  const counts = new Map<string, number>()
  for (const { use, action, day, calls: count } of calls) {
    if (use === 'version-1' && action !== '' && day >= fromDay) counts.set(action, (counts.get(action) ?? 0) + count)
  }
  return [...counts].map(([name, count]) => {
    const declared = catalog.actions.get(name)?.action
    const item = { kind: 'action', action: name, name, count } as const
    if (declared) return { ...item, equivalents: [requestOf(declared)], note: declared.summary, blocks: undefined }
    if (name === VERSION_2_BODY) {
      const note = 'a version-2 body on a version-1 path: only the path is left to change'
      return { ...item, equivalents: ['/v2/'], note, blocks: undefined }
    }
    const note = 'the mappings of this gateway do not declare it any more'
    return { ...item, equivalents: [], note, blocks: 'no version-2 equal' }
  })
}

function fieldWork(
  { kind, action, name, count }: NameCount,
  lossyCount: number | undefined,
  equivalent: ReturnType<typeof createEquivalents>,
): WorkItem[] {
  switch (kind) {
    case 'used':
    case 'unused': {
      const known = equivalent(action, name)
      return [{ kind: 'field', action, name, count, ...fieldEquivalent(known, lossyCount) }]
    }
    case 'assumed': {
      const places = equivalent(action, name)?.places ?? [name]
      const note = 'the gateway assumes a value where the caller sends none, or an incomplete one'
      return [{ kind, action, name, count, equivalents: places, note, blocks: undefined }]
    }
    case 'unknown': {
      const note =
        name === OTHER_NAMES ? 'further fields that no mapping knows' : 'no mapping knows it; the gateway leaves it out'
      return [{ kind, action, name, count, equivalents: [], note, blocks: 'no version-2 equal' }]
    }
    default:
      return []
  }
}

function fieldEquivalent(
  known: Equivalent | undefined,
  lossyCount: number | undefined,
): Pick<WorkItem, 'equivalents' | 'note' | 'blocks'> {
  if (!known || known.places.length === 0) {
    const note = known?.note ?? 'the mappings of this gateway do not declare it any more'
    return { equivalents: [], note, blocks: 'no version-2 equal' }
  }
  const { places: equivalents, note } = known
  if (lossyCount === undefined) return { equivalents, note, blocks: undefined }
  return { equivalents, note: `lost a part ${lossyCount} times. ${note}`, blocks: 'loses something' }
}

/** The version-2 equivalent of a version-1 field. */
interface Equivalent {
  /** Empty if version 2 has no place for the field. */
  readonly places: readonly string[]
  readonly note: string
}

/** Returns the request of version 2 that an action stands for, such as `POST /v2/quote`. */
const requestOf = ({ service: { method, path } }: Action): string => `${method} ${path}`

/** Finds the version-2 equivalents of fields in the declarations. */
export function createEquivalents(catalog: Catalog): (action: string, field: string) => Equivalent | undefined {
  const actions = [...catalog.actions.values()].map(({ action }) => action)
  const factPlaces = placesOfFacts(actions)
  return (name, field) => {
    const action = catalog.actions.get(name)?.action
    if (!action) return undefined
    if (field === ACTION_NAME) return { places: [requestOf(action)], note: 'the method and the path choose the action' }
    const row = action.request.find((candidate) => fieldsOf(candidate).includes(field))
    const remembered = action.remember?.find((candidate) => fieldsOf(candidate).includes(field))
    if (remembered && isTranslated(remembered)) {
      const places = placesOf(remembered).map((fact) => factPlaces.get(fact) ?? fact)
      return { places: [...new Set(places)], note: 'sent with the booking' }
    }
    const found = row ?? remembered
    return found && equivalentOf(found, action)
  }
}

const isTranslated = ({ kind }: Row) => kind !== 'v1Only' && kind !== 'ref'

function equivalentOf(row: Row, { target, service }: Action): Equivalent {
  if (row.kind === 'v1Only') return { places: [], note: row.why }
  if (row.kind === 'ref' && target) return { places: [service.path], note: "the path has the service's own id" }
  if (row.kind === 'ref') return { places: ['shipment_id'], note: "keep the service's own id from the reply" }
  if (row.kind === 'lookup') return { places: [row.v2], note: `a word of version 2 instead of a code of ${row.table}` }
  const rule = 'codec' in row ? row.codec.summary : row.kind === 'join' ? row.joiner.summary : ''
  return { places: placesOf(row), note: rule }
}

/** Returns the place of a booking that each remembered fact fills. */
function placesOfFacts(actions: readonly Action[]): ReadonlyMap<string, string> {
  const places = new Map<string, string>()
  for (const row of actions.flatMap(({ request }) => request)) {
    if (row.kind !== 'fromQuote' && row.kind !== 'move') continue
    const [first] = row.fallbacks.flatMap((fallback) => (fallback.kind === 'quoteFact' ? fallback.facts : []))
    if (first !== undefined && !places.has(first)) places.set(first, row.v2)
  }
  return places
}
