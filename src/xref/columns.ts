import type { Kind } from '../store/store.ts'

/** The columns of an export, in their order. */
export const COLUMNS = ['tenant', 'kind', 'name', 'vin', 'id', 'at', 'given_by'] as const
export type Column = (typeof COLUMNS)[number]

/** The meaning of a column's name. */
export interface Meaning {
  readonly column: Column
  /** The kind that the name of an id implies. */
  readonly kind?: Kind
}

/** Columns by their names in lower case: those of an export, and those of old integrations' tables. */
export const MEANINGS: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ...COLUMNS.map((column) => [column, { column }] as const),
  ['shipmentnumber', { column: 'name' }],
  ['referencenumber', { column: 'name' }],
  ['orderrefnumber', { column: 'name' }],
  ['number', { column: 'name' }],
  ['shipment_id', { column: 'id', kind: 'shipment' }],
  ['quote_id', { column: 'id', kind: 'quote' }],
  ['uuid', { column: 'id' }],
  ['vinno', { column: 'vin' }],
])

/** Returns the meaning of a column's name, in any case; undefined for an unknown name. */
export const meaningOf = (name: string): Meaning | undefined => MEANINGS.get(name.trim().toLowerCase())
