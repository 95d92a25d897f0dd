import { GatewayError } from '../errors.ts'
import { type Entry, type FieldValue, NOT_FLAT } from '../mapping/fields.ts'

export { type Entry, type FieldValue, NOT_FLAT }

/** A body as its sender wrote it, field by field. */
export interface FlatBody {
  readonly entries: readonly Entry[]
  readonly format: 'json' | 'form'
  /** The whole body, decoded, without byte order mark and surrounding blanks. */
  readonly text: string
}

/** The most fields that a body may have. */
export const MAX_FIELDS = 200

/** Appends a field, up to the most that a body may have. */
export function addField(fields: Entry[], name: string, value: FieldValue): void {
  if (fields.length === MAX_FIELDS) {
    throw new GatewayError('too-many-fields', `More than ${MAX_FIELDS} fields were sent. Leave out unused ones.`)
  }
  fields.push([name.trim(), value])
}

/** Blanks around a value are nothing, and a value of nothing but blanks was left out. */
export function flatValue(text: string): string | null {
  return text.trim() || null
}
