import { gatewayError } from '../errors.ts'
import { type Entry, type FieldValue, IS_FILE, NOT_FLAT } from '../mapping/fields.ts'

export { type Entry, type FieldValue, IS_FILE, NOT_FLAT }

/** The fields of a body as they were sent. */
export interface FlatBody {
  readonly entries: readonly Entry[]
  readonly format: 'json' | 'form'
  /** The whole decoded body, without byte order mark and surrounding blanks. */
  readonly text: string
}

/** The most fields that a body may have. */
export const MAX_FIELDS = 200

/** Appends a field, up to the most that a body may have. */
export function addField(fields: Entry[], name: string, value: FieldValue): void {
  if (fields.length === MAX_FIELDS) {
    throw gatewayError('too-many-fields', { fields: MAX_FIELDS })
  }
  fields.push([name.trim(), value])
}

/** Trims a value; a blank one counts as absent. */
export function flatValue(text: string): string | null {
  return text.trim() || null
}
