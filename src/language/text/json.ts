/*
 * Reads JSON from outside: callers' bodies and the service's replies. Unlike `JSON.parse`, it keeps the digits of a number that a double
 * would change, and both of two members with the same name. It reads nested values without recursion, and refuses values that later steps
 * could not write again.
 */

/** The most levels of nesting. `JSON.stringify` and other recursive readers overflow at some thousands. */
const MAX_DEPTH = 100

/** Returns a string, a number or a boolean as text, with the digits that were read; undefined for anything else. */
export function scalarText(value: unknown): string | undefined {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
      return String(value)
    default:
      return JSON.isRawJSON(value) ? value.rawJSON : undefined
  }
}

/** Reports whether a value is an object or a list, rather than a number that keeps its digits. */
export function isStructure(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !JSON.isRawJSON(value)
}

/** Reports whether a value is an object with members. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value)
}

/** Sets a member with any name: assigning to `__proto__` would set the prototype. */
export function setMember(object: object, name: string, value: unknown): void {
  if (name !== '__proto__') (object as Record<string, unknown>)[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

/** An object or a list that is being read. */
interface Frame {
  readonly holder: object
  readonly close: typeof CLOSE_BRACE | typeof CLOSE_BRACKET
  readonly outer: Frame | undefined
  readonly depth: number
  /** The name of the member that is being read. */
  name: string
}

/** The tokens that may follow in a text that is being read. */
type ExpectedToken = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'separator or end' | 'end'

/**
 * Reads a whole value; throws `JsonError`. It has no recursion, because deep nesting must not overflow the stack, and it is one loop,
 * because a reply has hundreds of tokens. `onMember` gets the members of the outermost object in order, including equal names and members
 * of any depth; a list or an object among them is empty.
 */
export function parseJson(text: string, onMember?: (name: string, value: unknown) => void): unknown {
  // In Node 24.21, `JSON.parse` loses a member whose name is an escaped character.
  if (!onMember && text.startsWith('{') && !text.includes('\\') && !LOSSY.test(text) && isShallow(text)) {
    try {
      return JSON.parse(text)
    } catch {
      // The slow way below finds where the text breaks.
    }
  }
  const maxDepth = onMember ? Number.POSITIVE_INFINITY : MAX_DEPTH
  const cursor: Cursor = { text, at: 0 }
  const isPlain = PLAIN.test(text)
  let at = 0
  let frame: Frame | undefined
  let expected: ExpectedToken = 'value'
  let value: unknown
  for (;;) {
    let code = text.charCodeAt(at)
    while (code === BLANK || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB) {
      at += 1
      code = text.charCodeAt(at)
    }
    if (expected === 'end') {
      if (at < text.length) throw unexpected({ text, at })
      return value
    }
    if (frame && code === frame.close && expected !== 'value' && expected !== 'name' && expected !== 'colon') {
      at += 1
      value = frame.holder
      frame = frame.outer
    } else if (frame && expected === 'separator or end') {
      if (code !== COMMA) throw unexpected({ text, at })
      at += 1
      expected = frame.close === CLOSE_BRACE ? 'name' : 'value'
      continue
    } else if (expected === 'colon') {
      if (code !== COLON) throw unexpected({ text, at })
      at += 1
      expected = 'value'
      continue
    } else if (code === QUOTE) {
      if (isPlain) {
        const end = text.indexOf('"', at + 1)
        if (end === -1) throw unexpected({ text, at: text.length })
        value = text.slice(at + 1, end)
        at = end + 1
      } else {
        cursor.at = at
        value = readString(cursor)
        at = cursor.at
      }
      if (frame && (expected === 'name' || expected === 'name or end')) {
        frame.name = value as string
        expected = 'colon'
        continue
      }
    } else if (expected === 'name' || expected === 'name or end') {
      throw unexpected({ text, at })
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const depth: number = (frame?.depth ?? 0) + 1
      if (depth > maxDepth) throw new JsonError(`it nests deeper than ${maxDepth} levels`)
      at += 1
      frame =
        code === OPEN_BRACE
          ? { holder: {}, close: CLOSE_BRACE, outer: frame, depth, name: '' }
          : { holder: [], close: CLOSE_BRACKET, outer: frame, depth, name: '' }
      expected = code === OPEN_BRACE ? 'name or end' : 'value or end'
      continue
    } else {
      cursor.at = at
      value = readScalar(cursor, code)
      at = cursor.at
    }
    // A finished value goes into the enclosing object or list.
    if (!frame) {
      expected = 'end'
      continue
    }
    if (onMember) {
      // The inside of a member is read but not kept.
      if (!frame.outer) onMember(frame.name, value)
    } else if (frame.close === CLOSE_BRACKET) (frame.holder as unknown[]).push(value)
    else if (frame.name === '__proto__') setMember(frame.holder, frame.name, value)
    else (frame.holder as Record<string, unknown>)[frame.name] = value
    expected = 'separator or end'
  }
}

/**
 * Matches where `JSON.parse`, which is twice as fast, may lose digits: a number in an object or list with more than 15 characters, with a
 * trailing zero after its point, or with an exponent. A few strings match as well, but no usual date or id.
 */
const LOSSY = /[:,[\s](?:-0(?!\.)|-?(?:[\d.]{16}|\d+(?:\.0{4}|\.\d*0(?![^\s,\]}])|[\d.]*[eE])))/

/** Reports whether a text has too few brackets to nest too deeply. */
function isShallow(text: string): boolean {
  let left = MAX_DEPTH
  for (const bracket of '{[') {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      left -= 1
      if (left < 0) return false
    }
  }
  return true
}

/** Writes a value that `parseJson` read, without blanks, with members in order of name, and with the digits of numbers that were read. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isStructure(value)) return JSON.stringify(value)
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}

declare global {
  // TypeScript's library does not know these yet: https://tc39.es/proposal-json-parse-with-source/
  interface JSON {
    rawJSON(text: string): RawNumber
    isRawJSON(value: unknown): value is RawNumber
  }
}

/** A number whose digits a double would change, such as `12345678901234567890` or `1.50`. `JSON.stringify` writes them. */
interface RawNumber {
  readonly rawJSON: string
}

/** Thrown for text that is not JSON or nests too deeply. Its message contains nothing from the text, which may be personal. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

const TAB = 0x09
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const BLANK = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** A place in a text that is being read. */
interface Cursor {
  readonly text: string
  at: number
}

/** A text without backslashes and control characters: its strings are as they are written. */
const PLAIN = /^[^\\\p{Cc}]*$/u

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** Reads a number, a boolean or null that begins with this code. */
function readScalar(cursor: Cursor, code: number): unknown {
  switch (code) {
    case LETTER_N:
      return readLiteral(cursor, 'null', null)
    case LETTER_T:
      return readLiteral(cursor, 'true', true)
    case LETTER_F:
      return readLiteral(cursor, 'false', false)
    default: {
      const { text, at } = cursor
      NUMBER.lastIndex = at
      if (!NUMBER.test(text)) throw unexpected(cursor)
      cursor.at = NUMBER.lastIndex
      const digits = text.slice(at, cursor.at)
      const number = Number(digits)
      return String(number) === digits ? number : JSON.rawJSON(digits)
    }
  }
}

function readLiteral(cursor: Cursor, literal: string, value: boolean | null): boolean | null {
  if (!cursor.text.startsWith(literal, cursor.at)) throw unexpected(cursor)
  cursor.at += literal.length
  return value
}

/** Reads a string at its opening quote. */
function readString(cursor: Cursor): string {
  const { text, at } = cursor
  const end = endOfString(cursor)
  cursor.at = end + 1
  const inner = text.slice(at + 1, end)
  return inner.includes('\\') ? JSON.parse(text.slice(at, end + 1)) : inner
}

/** An escape as JSON has it. */
const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y

function endOfString(cursor: Cursor): number {
  const { text } = cursor
  let at = cursor.at + 1
  for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
    if (code === BACKSLASH) {
      ESCAPE.lastIndex = at
      if (!ESCAPE.test(text)) throw unexpected({ text, at: at + 1 })
      at = ESCAPE.lastIndex
    } else if (code >= BLANK) {
      at += 1
    } else {
      // A control character, or NaN for the end.
      throw unexpected({ text, at })
    }
  }
  return at
}

/** Returns the error of an unexpected character at the cursor, or of an unexpected end. */
function unexpected({ text, at }: { readonly text: string; readonly at: number }): JsonError {
  return new JsonError(at >= text.length ? 'it ends too early' : `the error is at character ${at + 1}`)
}
