import { gatewayError } from '../errors.ts'
import type { FlatBody } from './flat.ts'
import { looksLikeForm, readFormFields } from './form.ts'
import { readJsonFields } from './json.ts'
import { boundaryOf, readMultipartFields } from './multipart.ts'
import { decodeUnlabeled, openText } from './text.ts'

export { type Entry, type FieldValue, type FlatBody, IS_FILE, NOT_FLAT } from './flat.ts'

/** Reads the fields of a legacy body; the body decides its format, not its `Content-Type`. */
export function readBody(body: Buffer, contentType: string | undefined): FlatBody {
  const { bytes, decode } = openText(body, contentType)
  const text = decode(bytes).trim()
  if (text === '') throw gatewayError('body-unreadable/empty', {})
  if (text.startsWith('{')) return { entries: readJsonFields(text), format: 'json', text }
  const boundary = boundaryOf(text, contentType)
  if (boundary !== undefined) {
    return { entries: readMultipartFields(bytes.toString('latin1'), boundary, decode), format: 'form', text }
  }
  if (looksLikeForm(text)) {
    return { entries: readFormFields(bytes.toString('latin1'), decode), format: 'form', text }
  }
  throw gatewayError('body-unreadable/form', {})
}

const WIDE_CHARACTER = /[\u0100-\uffff]/

/** Reads the fields of a query, with or without its `?`. */
export function readQuery(rawQuery: string): FlatBody {
  const text = rawQuery.startsWith('?') ? rawQuery.slice(1) : rawQuery
  // The form reader expects a character for each byte. A request line is ASCII; other queries may have any characters.
  const bytes = WIDE_CHARACTER.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
  return { entries: readFormFields(bytes, decodeUnlabeled), format: 'form', text }
}
