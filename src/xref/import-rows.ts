import type { Readable } from 'node:stream'
import { isStorableText } from '../store/storable-text.ts'
import type { GivenBy, Kind, NewLink } from '../store/store.ts'
import { serviceId } from '../text/service-text.ts'
import type { Column } from './columns.ts'
import { type Cell, csvRecords, type Format, jsonRecords } from './file-records.ts'
import { vinKey } from './xref.ts'

/** A row of an import: its links, or the error. */
export type ImportRow =
  | { readonly line: number; readonly links: readonly NewLink[] }
  | { readonly line: number; readonly error: string }

/** The values of a row that leaves them out. */
export interface RowDefaults {
  readonly tenant: string | undefined
}

/** Reads the rows of a stream one at a time, which keeps memory flat; `onUnused` gets the columns that have no meaning. */
export async function* readRows(
  input: Readable,
  format: Format,
  defaults: RowDefaults,
  onUnused: (columns: readonly string[]) => void = () => {},
): AsyncGenerator<ImportRow> {
  const records = format === 'csv' ? csvRecords(input, onUnused) : jsonRecords(input)
  for await (const { line, record } of records) {
    yield typeof record === 'string' ? { line, error: record } : rowOf(line, record, defaults)
  }
}

function rowOf(line: number, cells: readonly Cell[], defaults: RowDefaults): ImportRow {
  const names = new Set<string>()
  const values: { [column in Column]?: string } = {}
  let implied: Kind = 'shipment'
  for (const [meaning, cell] of cells) {
    if (!meaning || cell === '') continue
    const { column } = meaning
    if (!isStorableText(cell)) return { line, error: `has a ${column} with a character that cannot be stored` }
    if (column === 'name') names.add(cell)
    else if (values[column] === undefined) values[column] = cell
    else if (values[column] !== cell) return { line, error: `has two different values for ${column}` }
    if (column === 'id') implied = meaning.kind ?? implied
  }
  const { tenant = defaults.tenant, id, kind = implied, vin = '', at: time, given_by: givenBy = 'caller' } = values
  if (tenant === undefined) return { line, error: 'has no tenant; add the column or --tenant' }
  if (names.size === 0 || id === undefined) return { line, error: `has no ${names.size === 0 ? 'name' : 'id'}` }
  // No call could reach it: an id goes into a path, and the service's own ids are checked in the same way.
  if (serviceId(id) === undefined) return { line, error: NO_ID }
  if (!isKind(kind)) return { line, error: 'has a kind that is neither quote nor shipment' }
  if (!isGiver(givenBy)) return { line, error: 'has a given_by that is neither caller nor service' }
  const at = time === undefined ? undefined : /^\d{4}-\d{2}-\d{2}/.test(time) ? Date.parse(time) : Number.NaN
  if (Number.isNaN(at)) return { line, error: 'has a date that is not ISO 8601' }
  const link = { tenant, kind, vin: kind === 'quote' ? '' : vinKey(vin), id, givenBy, at }
  // A row of several numbers, such as ShipmentNumber and ReferenceNumber, makes a link of each.
  return { line, links: [...names].map((name) => ({ ...link, name })) }
}

const NO_ID = 'has an id that cannot be one: it is blank, of dots alone, too long, or has a control character'

const isGiver = (text: string): text is GivenBy => text === 'caller' || text === 'service'

const isKind = (text: string): text is Kind => text === 'quote' || text === 'shipment'
