import type { Action } from '../../language/mapping/action.ts'
import type { Catalog } from '../../language/mapping/catalog.ts'
import { ACTION_NAME } from '../../language/mapping/compile.ts'
import type { Row } from '../../language/mapping/row.ts'
import { fieldsOf, placesOf } from '../../language/mapping/row-parts.ts'

/* What the fields of version 1 are in version 2, as the declarations say. */

/** Returns the request of version 2 that an action stands for, such as `POST /v2/quote`. */
export const requestOf = ({ service: { method, path } }: Action): string => `${method} ${path}`

/** Finds the version-2 equivalent of a field, without places if it has none; undefined if it is not declared. */
export function equivalentOf(name: string, field: string, { actions }: Catalog) {
  const action = actions.get(name)?.action
  if (!action) return undefined
  if (field === ACTION_NAME) return { places: [requestOf(action)], note: 'the method and the path choose the action' }
  const has = (row: Row) => fieldsOf(row).includes(field)
  const remembered = action.remember?.find(has)
  if (remembered && remembered.kind !== 'v1Only' && remembered.kind !== 'ref') {
    const places = placesOf(remembered).map((fact) => placeOfFact(fact, actions.values()) ?? fact)
    return { places: [...new Set(places)], note: 'sent with the booking' }
  }
  const row = action.request.find(has) ?? remembered
  if (row?.kind !== 'ref') return row && { places: placesOf(row), note: ruleOf(row) }
  return action.target
    ? { places: [action.service.path], note: "the service's own id goes into the path" }
    : { places: ['shipment_id'], note: "keep the service's own id from the reply" }
}

/** Returns the place of a booking that a remembered fact fills. */
function placeOfFact(fact: string, actions: Iterable<{ readonly action: Action }>): string | undefined {
  for (const { action } of actions)
    for (const row of action.request) {
      if (row.kind !== 'fromQuote' && row.kind !== 'move') continue
      if (row.fallbacks.find((one) => one.kind === 'quoteFact')?.facts[0] === fact) return row.v2
    }
  return undefined
}

/** Says in words what becomes of the fields of a row, or why they are left out. */
export function ruleOf(row: Row): string {
  if (row.kind === 'join') return row.joiner.summary
  if (row.kind === 'lookup') return `Looked up in the table ${row.table}.`
  return 'codec' in row ? row.codec.summary : 'why' in row ? row.why : ''
}
