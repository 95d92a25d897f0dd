import { type GatewayError, gatewayError } from '../../language/errors.ts'
import { type Entry, type FieldValue, type FlatBody, IS_FILE, NOT_FLAT } from '../../language/mapping/fields.ts'
import { type Decode, decoderFor, decodeUnlabeled, openText } from '../../language/text/decode.ts'
import { JsonError, parseJson, scalarText } from '../../language/text/json.ts'

/** Reads the fields of a legacy body; the body decides its format, not its `Content-Type`. */
export function readBody(body: Buffer, contentType: string | undefined): FlatBody {
  const { bytes, decode } = openText(body, contentType)
  const text = decode(bytes).trim()
  if (text === '') throw gatewayError('body-unreadable/empty', {})
  if (text.startsWith('{')) return { entries: readJsonFields(text), format: 'json', text }
  const boundary = boundaryOf(text, contentType)
  if (boundary !== undefined) {
    return bodyInField({
      entries: readMultipartFields(bytes.toString('latin1'), boundary, decode),
      format: 'form',
      text,
    })
  }
  if (looksLikeForm(text)) {
    const pairs = isListOfLines(text, contentType)
      ? bytes.toString('latin1').replace(/\r?\n/g, '&')
      : bytes.toString('latin1')
    return bodyInField({ entries: readFormFields(pairs, decode), format: 'form', text })
  }
  throw gatewayError('body-unreadable/form', {})
}

/** Some callers send their JSON as the only field of a form. */
const WHOLE_BODY = /^(?:data|json|body)$/i

function bodyInField(form: FlatBody): FlatBody {
  const [[name, value] = ['', null], ...others] = form.entries
  if (others.length > 0 || !WHOLE_BODY.test(name) || typeof value !== 'string' || !value.startsWith('{')) return form
  return { entries: readJsonFields(value), format: 'json', text: value }
}

const WIDE_CHARACTER = /[\u0100-\uffff]/

/** Reads the fields of a query, with or without its `?`. */
export function readQuery(rawQuery: string): FlatBody {
  const text = rawQuery.startsWith('?') ? rawQuery.slice(1) : rawQuery
  // The form reader expects one character per byte. A request line is ASCII; other queries may have any characters.
  const bytes = WIDE_CHARACTER.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text
  return { entries: readFormFields(bytes, decodeUnlabeled), format: 'form', text }
}

/** The most fields that a body may have. */
const MAX_FIELDS = 200

/** Appends a field, up to the most that a body may have. */
function addField(fields: Entry[], name: string, value: FieldValue): void {
  if (fields.length === MAX_FIELDS) {
    throw gatewayError('too-many-fields', { fields: MAX_FIELDS })
  }
  fields.push([name.trim(), value])
}

/** Trims a value; a blank one counts as absent. */
function flatValue(text: string): string | null {
  return text.trim() || null
}

/** Reads the fields of a JSON object. Numbers keep all digits, and of two equal names, both are kept. */
function readJsonFields(text: string): Entry[] {
  const fields: Entry[] = []
  try {
    parseJson(text, (name, value) => {
      const text = typeof value === 'string' ? value : scalarText(value)
      addField(fields, name, value === null ? null : text === undefined ? NOT_FLAT : flatValue(text))
    })
  } catch (error) {
    throw error instanceof JsonError ? notJson(error) : error
  }
  return fields
}

/** Reads any JSON value. Numbers keep all digits. */
export function readJsonValue(text: string): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    throw error instanceof JsonError ? notJson(error) : error
  }
}

function notJson({ message }: JsonError): GatewayError {
  return gatewayError('body-unreadable/json', { fault: message })
}

// The first name must look like a name. Otherwise XML, or any text with a `=`, would be a form.
const FIRST_PAIR = /^[\s&]*[\p{L}\p{M}\p{N}_.\-*~%+[\]]+=/u

/** Reports whether a text begins with a `name=value` pair. */
function looksLikeForm(text: string): boolean {
  return FIRST_PAIR.test(text)
}

const LINE_OF_PAIR = /^[^=&]+=[^&]*$/

/** Reports whether a form has one pair per line, as a browser writes `text/plain`. */
const isListOfLines = (text: string, contentType: string | undefined): boolean =>
  /^text\/plain\b/i.test(contentType ?? '') && text.split(/\r?\n/).every((line) => LINE_OF_PAIR.test(line))

/**
 * Reads the fields of `name=value` pairs joined by `&`.
 *
 * `bytes` holds one byte per character. Escapes are bytes, too: the encoding of `%E9` is known only when all bytes of its value are
 * together, and values may differ in encoding.
 */
function readFormFields(bytes: string, decode: Decode): Entry[] {
  const fields: Entry[] = []
  for (const part of bytes.split('&')) {
    const equals = part.indexOf('=')
    const name = unescaped(equals === -1 ? part : part.slice(0, equals), decode)
    if (equals === -1 && flatValue(name) === null) continue
    addField(fields, name, equals === -1 ? null : flatValue(unescaped(part.slice(equals + 1), decode)))
  }
  return fields
}

const NEEDS_DECODING = /[%+\u0080-\u00ff]/

function unescaped(part: string, decode: Decode): string {
  return NEEDS_DECODING.test(part) ? decode(unescapedBytes(part)) : part
}

const PERCENT = 0x25
const PLUS = 0x2b
const BLANK = 0x20

// Not `decodeURIComponent`: it accepts only UTF-8, and throws at `%zz`, which stays unchanged here.
function unescapedBytes(part: string): Buffer {
  const bytes = Buffer.allocUnsafe(part.length)
  let length = 0
  for (let at = 0; at < part.length; at++) {
    let byte = part.charCodeAt(at)
    if (byte === PLUS) byte = BLANK
    if (byte === PERCENT) {
      const escaped = hexDigit(part.charCodeAt(at + 1)) * 16 + hexDigit(part.charCodeAt(at + 2))
      if (!Number.isNaN(escaped)) {
        byte = escaped
        at += 2
      }
    }
    bytes[length++] = byte
  }
  return bytes.subarray(0, length)
}

const DIGIT_0 = 0x30
const LETTER_A = 0x61
const TO_LOWER_CASE = 0x20

function hexDigit(code: number): number {
  if (code >= DIGIT_0 && code < DIGIT_0 + 10) return code - DIGIT_0
  const lower = code | TO_LOWER_CASE
  return lower >= LETTER_A && lower < LETTER_A + 6 ? lower - LETTER_A + 10 : Number.NaN
}

/** RFC 2046, 5.1.1: a boundary has at most 70 characters. A part begins with its headers. */
const FIRST_PART = /^--(.{1,70}?)[ \t]{0,80}\r?\n(?:Content-|\r?\n)/i
const BOUNDARY = /^\s*multipart\/.*;\s*boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;,"]{1,70}))/i

/**
 * Returns the boundary of a multipart body; undefined if it is not one. The first line of the body takes precedence
 * over the `Content-Type`, which senders omit or get wrong.
 */
function boundaryOf(text: string, contentType = ''): string | undefined {
  const first = FIRST_PART.exec(text)?.[1]
  if (first !== undefined) return first
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? []
  const boundary = quoted ?? plain
  return boundary !== undefined && text.includes(`--${boundary}`) ? boundary : undefined
}

/**
 * Reads the fields of a `multipart/form-data` body (RFC 7578). `bytes` holds one byte per character: the encoding of a value is known only
 * when its part is found.
 */
function readMultipartFields(bytes: string, boundary: string, decode: Decode): Entry[] {
  const parts = partsOf(bytes, `--${boundary}`).map(readPart)
  const charset = parts.find(({ name }) => name === '_charset_')?.content.trim()
  const decodeForm = charset === undefined ? decode : decoderFor(`;charset=${charset}`)
  const fields: Entry[] = []
  for (const { name, content, contentType, isFile } of parts) {
    const decodePart = /;\s*charset\s*=/i.test(contentType) ? decoderFor(contentType) : decodeForm
    const value = () => flatValue(decodePart(Buffer.from(content, 'latin1')))
    addField(fields, decodeForm(Buffer.from(name, 'latin1')), isFile ? IS_FILE : value())
  }
  return fields
}

/** Blanks may follow a boundary on its line (RFC 2046, 5.1.1); two hyphens end the body. */
const AFTER_BOUNDARY = /^(?:(--)|[ \t]*\r?\n)/
const LONGEST_PADDING = 80

/** Splits a body at its boundary lines. It searches forward only and without patterns, because a boundary may be any text. */
function partsOf(bytes: string, delimiter: string): string[] {
  const text = bytes.trimStart()
  const parts: string[] = []
  let start = -1
  for (let at = text.indexOf(delimiter); at !== -1; at = text.indexOf(delimiter, at + 1)) {
    const end = at + delimiter.length
    const after = AFTER_BOUNDARY.exec(text.slice(end, end + LONGEST_PADDING))
    if (!after || (at > 0 && text[at - 1] !== '\n')) continue
    if (start !== -1) parts.push(text.slice(start, at).replace(/\r?\n$/, ''))
    if (after[1]) return parts
    start = end + after[0].length
  }
  throw unreadable('it ends before its last boundary')
}

const DISPOSITION = /^Content-Disposition[ \t]*:(.*)$/im
const CONTENT_TYPE = /^Content-Type[ \t]*:(.*)$/im
const PARAMETER = /;\s*([\w-]+)\*?\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g

function readPart(part: string) {
  const gap = /^\r?\n|\r?\n\r?\n/.exec(part)
  const content = gap ? part.slice(gap.index + gap[0].length) : ''
  const head = (gap ? part.slice(0, gap.index) : part).replace(/\r?\n[ \t]+/g, ' ')
  const parameters = new Map<string, string>()
  for (const [, name = '', quoted, plain = ''] of (DISPOSITION.exec(head)?.[1] ?? '').matchAll(PARAMETER)) {
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(["\\])/g, '$1') ?? plain)
  }
  const name = parameters.get('name')
  if (name === undefined) throw unreadable('one of its parts has no name')
  // A browser sends an empty file without a name for an empty file field.
  const isFile = parameters.has('filename') && content + parameters.get('filename') !== ''
  return { name, content, contentType: CONTENT_TYPE.exec(head)?.[1] ?? '', isFile }
}

function unreadable(fault: string): GatewayError {
  return gatewayError('body-unreadable/multipart', { fault })
}
