import type { Action } from '../mapping/action.ts'
import type { Catalog } from '../mapping/catalog.ts'
import type { Row } from '../mapping/row.ts'
import { fieldsOf, placesOf } from '../mapping/row-parts.ts'
import { ACTION_NAME } from './slots.ts'

/** The version-2 equivalent of a version-1 field. */
export interface Equivalent {
  /** Empty if version 2 has no place for the field. */
  readonly places: readonly string[]
  readonly note: string
}

/** Returns the request of version 2 that an action stands for, such as `POST /v2/quote`. */
export const requestOf = ({ service: { method, path } }: Action): string => `${method} ${path}`

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
