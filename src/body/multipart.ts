import { type GatewayError, gatewayError } from '../errors.ts'
import { addField, type Entry, flatValue, IS_FILE } from './flat.ts'
import { type Decode, decoderFor } from './text.ts'

/** RFC 2046, 5.1.1: a boundary has at most 70 characters. A part begins with its headers. */
const FIRST_PART = /^--(.{1,70}?)[ \t]*\r?\n(?:Content-|\r?\n)/i
const BOUNDARY = /^\s*multipart\/.*;\s*boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;,"]{1,70}))/i

/**
 * Returns the boundary of a multipart body; undefined if it is not one. The first line of the body takes precedence
 * over the `Content-Type`, which senders omit or get wrong.
 */
export function boundaryOf(text: string, contentType = ''): string | undefined {
  const first = FIRST_PART.exec(text)?.[1]
  if (first !== undefined) return first
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? []
  const boundary = quoted ?? plain
  return boundary !== undefined && text.includes(`--${boundary}`) ? boundary : undefined
}

/**
 * Reads the fields of a `multipart/form-data` body (RFC 7578). `bytes` holds one byte in each character: the encoding
 * of a value is known only when its part is found.
 */
export function readMultipartFields(bytes: string, boundary: string, decode: Decode): Entry[] {
  const parts = partsOf(bytes, `--${boundary}`).map(readPart)
  const charset = parts.find(({ name }) => name === '_charset_')?.content.trim()
  const decodeForm = charset === undefined ? decode : decoderFor(`;charset=${charset}`)
  const fields: Entry[] = []
  for (const { name, content, contentType, isFile } of parts) {
    const decodePart = /;\s*charset\s*=/i.test(contentType) ? decoderFor(contentType) : decodeForm
    const value = () => flatValue(decodePart(Buffer.from(content, 'latin1')))
    // A browser sends an empty file for an empty file field.
    addField(fields, decodeForm(Buffer.from(name, 'latin1')), isFile && content !== '' ? IS_FILE : value())
  }
  return fields
}

/** Blanks may follow a boundary on its line (RFC 2046, 5.1.1); two hyphens end the body. */
const AFTER_BOUNDARY = /^(?:(--)|[ \t]*\r?\n)/
const LONGEST_PADDING = 80

/** Cuts a body at its boundary lines. It searches forward only and without patterns: a boundary may be any text. */
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

interface Part {
  readonly name: string
  readonly content: string
  readonly contentType: string
  readonly isFile: boolean
}

const DISPOSITION = /^Content-Disposition[ \t]*:(.*)$/im
const CONTENT_TYPE = /^Content-Type[ \t]*:(.*)$/im
const PARAMETER = /;\s*([\w-]+)\*?\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))/g

function readPart(part: string): Part {
  const gap = /^\r?\n|\r?\n\r?\n/.exec(part)
  const content = gap ? part.slice(gap.index + gap[0].length) : ''
  const head = (gap ? part.slice(0, gap.index) : part).replace(/\r?\n[ \t]+/g, ' ')
  const parameters = new Map<string, string>()
  for (const [, name = '', quoted, plain = ''] of (DISPOSITION.exec(head)?.[1] ?? '').matchAll(PARAMETER)) {
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(["\\])/g, '$1') ?? plain)
  }
  const name = parameters.get('name')
  if (name === undefined) throw unreadable('one of its parts has no name')
  return { name, content, contentType: CONTENT_TYPE.exec(head)?.[1] ?? '', isFile: parameters.has('filename') }
}

function unreadable(fault: string): GatewayError {
  return gatewayError('body-unreadable/multipart', { fault })
}
