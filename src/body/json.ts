import { GatewayError } from '../errors.ts'
import { addField, type Entry, type FieldValue, flatValue, MAX_FIELDS, NOT_FLAT } from './flat.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const BLANK = 0x20

/**
 * The fields of a JSON object, from the text itself.
 *
 * Where the text is not plain, `JSON.parse` only says whether it is JSON. Its result is not used, because it has lost
 * what a booking may hang on: the digits of `12345678901234567890` and `1.50`, the first of two equal names, and
 * `__proto__` as a name like any other. Text that is known to be JSON can be cut into fields by a scanner as short as
 * this one, which counts brackets and so is indifferent to how deep a value nests.
 */
export function readJsonFields(text: string): Entry[] {
  return readPlainFields(text) ?? readAnyFields(text)
}

/** Text without escapes, which stands for itself, and without what JSON forbids inside of strings. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
const PLAIN = /^[^\\\u0000-\u001f]*$/
const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y

/**
 * The fields of an object as nearly all callers write it: in one line, of strings without escapes and of literals.
 * Its own walk checks all that JSON asks of such text. Undefined where anything is otherwise, right or wrong.
 */
function readPlainFields(text: string): Entry[] | undefined {
  if (!PLAIN.test(text)) return undefined
  const fields: Entry[] = []
  let at = skipSpaces(text, 1)
  while (text.charCodeAt(at) === QUOTE && fields.length < MAX_FIELDS) {
    const nameEnd = text.indexOf('"', at + 1)
    const colon = skipSpaces(text, nameEnd + 1)
    if (nameEnd === -1 || text.charCodeAt(colon) !== COLON) return undefined
    const start = skipSpaces(text, colon + 1)
    const end = endOfPlainValue(text, start)
    if (end === 0) return undefined
    addField(fields, text.slice(at + 1, nameEnd), valueIn(text, start, end))
    at = skipSpaces(text, end)
    if (text.charCodeAt(at) === CLOSE_BRACE && at === text.length - 1) return fields
    if (text.charCodeAt(at) !== COMMA) return undefined
    at = skipSpaces(text, at + 1)
  }
  return undefined
}

/** Where a string without escapes or a literal ends; 0 where there is neither. */
function endOfPlainValue(text: string, start: number): number {
  if (text.charCodeAt(start) === QUOTE) return text.indexOf('"', start + 1) + 1
  LITERAL.lastIndex = start
  return LITERAL.test(text) ? LITERAL.lastIndex : 0
}

function skipSpaces(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) === BLANK) at++
  return at
}

function readAnyFields(text: string): Entry[] {
  requireJson(text)
  const fields: Entry[] = []
  let at = skipBlanks(text, 1)
  while (text.charCodeAt(at) !== CLOSE_BRACE) {
    const nameEnd = endOfString(text, at)
    const start = skipBlanks(text, text.indexOf(':', nameEnd) + 1)
    const end = endOfValue(text, start)
    addField(fields, stringIn(text, at, nameEnd), valueIn(text, start, end))
    at = skipBlanks(text, end)
    if (text.charCodeAt(at) === COMMA) at = skipBlanks(text, at + 1)
  }
  return fields
}

function requireJson(text: string): void {
  try {
    JSON.parse(text)
  } catch (cause) {
    // No `cause` in the error: V8's message quotes the body, and bodies stay out of logs.
    throw new GatewayError(
      'body-unreadable',
      `The body is not JSON: ${faultIn(cause)}. Send a JSON object or name=value pairs.`,
    )
  }
}

// Anchored to the end, where V8 writes the position: what comes before it may be a piece of the body.
const POSITION = / at position (\d+)(?: \(line \d+ column \d+\))?$/

function faultIn(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : ''
  const position = POSITION.exec(message)?.[1]
  if (position !== undefined) return `it breaks at character ${Number(position) + 1}`
  return message.startsWith('Unexpected end') ? 'it ends too early' : 'it begins like JSON and then breaks'
}

function skipBlanks(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) <= BLANK) at++
  return at
}

function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === QUOTE) return endOfString(text, start)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfNested(text, start)
  let at = start
  for (let code = first; code > BLANK && code !== COMMA && code !== CLOSE_BRACE; code = text.charCodeAt(at)) at++
  return at
}

function endOfString(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1)
  while (isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote + 1
}

function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}

function endOfNested(text: string, start: number): number {
  let depth = 0
  let at = start
  do {
    const code = text.charCodeAt(at)
    if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++
    if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth--
    at = code === QUOTE ? endOfString(text, at) : at + 1
  } while (depth > 0)
  return at
}

function valueIn(text: string, start: number, end: number): FieldValue {
  const first = text.charCodeAt(start)
  if (first === QUOTE) return flatValue(stringIn(text, start, end))
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return NOT_FLAT
  const literal = text.slice(start, end)
  return literal === 'null' ? null : literal
}

function stringIn(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1)
  return inner.includes('\\') ? JSON.parse(text.slice(start, end)) : inner
}
