import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  type Cursor,
  cursorOf,
  JsonError,
  next,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  readScalar,
  readString,
  requireEnd,
  unexpected,
} from './json-scanner.ts'

export { JsonError, type RawNumber } from './json-scanner.ts'

/*
 * Reads JSON from outside: callers' bodies and the service's replies. Unlike `JSON.parse`, it keeps the digits of a number
 * that a double would change, and both of two members with one name. It reads nested values without recursion, and refuses
 * a reply that later steps could not write again.
 */

/** The most levels of a whole value. `JSON.stringify` and other recursive readers overflow at some thousands. */
const MAX_DEPTH = 100

/** Reads a whole value; throws `JsonError`. */
export function parseJson(text: string): unknown {
  const cursor = cursorOf(text)
  const value = readValue(cursor, MAX_DEPTH)
  requireEnd(cursor)
  return value
}

/** Reads the members of an object in their order, equal names included; throws `JsonError`. */
export function forEachMember(text: string, member: (name: string, value: unknown) => void): void {
  const cursor = cursorOf(text)
  if (next(cursor) !== OPEN_BRACE) throw unexpected(cursor)
  cursor.at += 1
  let isMore = next(cursor) !== CLOSE_BRACE
  if (!isMore) cursor.at += 1
  while (isMore) {
    member(readName(cursor), readValue(cursor, Number.POSITIVE_INFINITY))
    isMore = hasMore(cursor, CLOSE_BRACE)
  }
  requireEnd(cursor)
}

/** Returns the text of a string, a number or a boolean, with the digits that were read; undefined for anything else. */
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

/** Tells whether a value is an object or a list, rather than a number that keeps its digits. */
export function isStructure(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !JSON.isRawJSON(value)
}

/** Sets a member of any name: assigning to `__proto__` would set the prototype. */
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

/** Reads a value without recursion, because deep nesting must not overflow the stack. */
function readValue(cursor: Cursor, maxDepth: number): unknown {
  let frame: Frame | undefined
  for (;;) {
    const code = next(cursor)
    let value: unknown
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      frame = openFrame(cursor, code, frame, maxDepth)
      if (next(cursor) !== frame.close) {
        if (code === OPEN_BRACE) frame.name = readName(cursor)
        continue
      }
      cursor.at += 1
      value = frame.holder
      frame = frame.outer
    } else {
      value = readScalar(cursor, code)
    }
    // A finished value goes into the enclosing object or list, and may complete it.
    while (frame) {
      if (frame.close === CLOSE_BRACE) setMember(frame.holder, frame.name, value)
      else (frame.holder as unknown[]).push(value)
      if (hasMore(cursor, frame.close)) {
        if (frame.close === CLOSE_BRACE) frame.name = readName(cursor)
        break
      }
      value = frame.holder
      frame = frame.outer
    }
    if (!frame) return value
  }
}

function openFrame(cursor: Cursor, code: number, outer: Frame | undefined, maxDepth: number): Frame {
  const depth = (outer?.depth ?? 0) + 1
  if (depth > maxDepth) throw new JsonError(`it nests deeper than ${maxDepth} levels`)
  cursor.at += 1
  return code === OPEN_BRACE
    ? { holder: {}, close: CLOSE_BRACE, outer, depth, name: '' }
    : { holder: [], close: CLOSE_BRACKET, outer, depth, name: '' }
}

/** Reads the separator or the end after a member. */
function hasMore(cursor: Cursor, close: number): boolean {
  const code = next(cursor)
  if (code !== COMMA && code !== close) throw unexpected(cursor)
  cursor.at += 1
  return code === COMMA
}

function readName(cursor: Cursor): string {
  if (next(cursor) !== QUOTE) throw unexpected(cursor)
  const name = readString(cursor)
  if (next(cursor) !== COLON) throw unexpected(cursor)
  cursor.at += 1
  return name
}
