declare global {
  // TypeScript's library does not know them yet: https://tc39.es/proposal-json-parse-with-source/
  interface JSON {
    rawJSON(text: string): RawNumber
    isRawJSON(value: unknown): value is RawNumber
  }
}

/** A number whose digits a double would change, such as `12345678901234567890` or `1.50`. `JSON.stringify` writes them. */
export interface RawNumber {
  readonly rawJSON: string
}

/** Text that is not JSON, or that nests too deep. Its message contains nothing of the text, which may be personal. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

const TAB = 0x09
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const BLANK = 0x20
export const QUOTE = 0x22
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
export const CLOSE_BRACKET = 0x5d
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d

/** A place in a text that is being read. */
export interface Cursor {
  readonly text: string
  at: number
  /** No string of the text contains an escape or a control character. */
  readonly isPlain: boolean
}

const PLAIN = /^[^\\\p{Cc}]*$/u

/** Makes a cursor at the start of a text. */
export const cursorOf = (text: string): Cursor => ({ text, at: 0, isPlain: PLAIN.test(text) })

/** Skips blanks, and returns the code of the character at the cursor; NaN at the end. */
export function next(cursor: Cursor): number {
  let code = cursor.text.charCodeAt(cursor.at)
  while (code === BLANK || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB) {
    cursor.at += 1
    code = cursor.text.charCodeAt(cursor.at)
  }
  return code
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** Reads a string, a number, a boolean or null, which begins with this code. */
export function readScalar(cursor: Cursor, code: number): unknown {
  switch (code) {
    case QUOTE:
      return readString(cursor)
    case LETTER_N:
      return readLiteral(cursor, 'null', null)
    case LETTER_T:
      return readLiteral(cursor, 'true', true)
    case LETTER_F:
      return readLiteral(cursor, 'false', false)
    default:
      return readNumber(cursor)
  }
}

function readLiteral(cursor: Cursor, literal: string, value: boolean | null): boolean | null {
  if (!cursor.text.startsWith(literal, cursor.at)) throw unexpected(cursor)
  cursor.at += literal.length
  return value
}

function readNumber(cursor: Cursor): number | RawNumber {
  const { text, at } = cursor
  NUMBER.lastIndex = at
  if (!NUMBER.test(text)) throw unexpected(cursor)
  cursor.at = NUMBER.lastIndex
  const digits = text.slice(at, cursor.at)
  const number = Number(digits)
  return String(number) === digits ? number : JSON.rawJSON(digits)
}

/** Reads a string at its opening quote. */
export function readString(cursor: Cursor): string {
  const { text, at } = cursor
  const end = cursor.isPlain ? text.indexOf('"', at + 1) : endOfString(cursor)
  if (end === -1) throw unexpected({ text, at: text.length })
  cursor.at = end + 1
  const inner = text.slice(at + 1, end)
  return cursor.isPlain || !inner.includes('\\') ? inner : JSON.parse(text.slice(at, end + 1))
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

/** Throws if anything but blanks follows. */
export function requireEnd(cursor: Cursor): void {
  if (!Number.isNaN(next(cursor))) throw unexpected(cursor)
}

/** Returns the error of an unexpected character at the cursor, or of an unexpected end. */
export function unexpected({ text, at }: Pick<Cursor, 'text' | 'at'>): JsonError {
  return new JsonError(at >= text.length ? 'it ends too early' : `it breaks at character ${at + 1}`)
}
