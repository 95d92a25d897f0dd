import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  type Cursor,
  cursorOf,
  next,
  OPEN_BRACE,
  OPEN_BRACKET,
  readScalar,
  readString,
} from './json.ts'

/** A place in a text, both counted from 1. */
interface LineAndColumn {
  readonly line: number
  readonly column: number
}

/** Returns where the value at a path begins in JSON that is valid; where it is missing, the object or list that lacks it. */
export function placeInJson(text: string, path: readonly PropertyKey[]): LineAndColumn {
  const cursor = cursorOf(text)
  seek(cursor, path)
  const before = text.slice(0, cursor.at)
  return { line: before.split('\n').length, column: cursor.at - before.lastIndexOf('\n') }
}

/** Moves the cursor from the start of a value to the start of the one at a path in it. */
function seek(cursor: Cursor, [step, ...rest]: readonly PropertyKey[]): void {
  const code = next(cursor)
  const { at } = cursor
  if (step === undefined) return
  let found: number | undefined
  // Of several members with one name, the last counts.
  for (const key of members(cursor, code)) if (key === step) found = cursor.at
  cursor.at = found ?? at
  if (found !== undefined) seek(cursor, rest)
}

/** Yields the keys of an object or the indexes of a list, each with the cursor at its value. */
function* members(cursor: Cursor, code: number): Generator<PropertyKey, void, void> {
  if (code !== OPEN_BRACE && code !== OPEN_BRACKET) return
  cursor.at += 1
  for (let index = 0; ; index += 1) {
    const first = next(cursor)
    if (first === CLOSE_BRACE || first === CLOSE_BRACKET) break
    const key = code === OPEN_BRACE ? readKey(cursor) : index
    next(cursor)
    const { at } = cursor
    yield key
    cursor.at = at
    skip(cursor)
    if (next(cursor) !== COMMA) break
    cursor.at += 1
  }
  cursor.at += 1
}

function readKey(cursor: Cursor): string {
  const key = readString(cursor)
  // The colon.
  next(cursor)
  cursor.at += 1
  return key
}

function skip(cursor: Cursor): void {
  const code = next(cursor)
  if (code !== OPEN_BRACE && code !== OPEN_BRACKET) {
    readScalar(cursor, code)
    return
  }
  for (const _ of members(cursor, code)) {
    // Each member moves the cursor.
  }
}
