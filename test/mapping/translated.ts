import { indexFields, type NOT_FLAT, sortFields } from '../../src/mapping/fields.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'
import type { Draft } from '../../src/mapping/paths.ts'
import { compileRequest, type Explanation, type KnownFacts, type Note } from '../../src/mapping/request.ts'
import type { Row } from '../../src/mapping/row.ts'
import { fieldsOf } from '../../src/mapping/row-parts.ts'

const SETTINGS = {
  transport_type: 'open',
  vehicle_type: 'car',
  send_quote_id: false,
  shipment_number: 'caller',
} as const
/** A table of types. */
export const tables = new Map([['types', compileLookup({ SUV: 'suv', 'BOX TRUCK': 'truck' })]])

interface Options {
  readonly facts?: KnownFacts
  readonly sendQuoteId?: boolean
}

/** Translates sent fields with one row. */
export function translated(row: Row, sent: Readonly<Record<string, string | typeof NOT_FLAT>>, options: Options = {}) {
  const index = indexFields(fieldsOf(row))
  const { values } = sortFields(index, Object.entries(sent))
  const body: Draft = {}
  const notes: Note[] = []
  const problems: { field: string; code: string; message: string }[] = []
  const explanations: Explanation[] = []
  const settings = { ...SETTINGS, send_quote_id: options.sendQuoteId ?? false }
  const run = { values, facts: options.facts, settings, body, problems, notes, explanations }
  for (const step of compileRequest([row], index, tables)) step(run)
  return { body, notes, problems, explanations }
}
