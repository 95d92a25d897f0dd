import { readFileSync } from 'node:fs'
import type { z } from 'zod'

/** A JSON file that was read. */
export interface JsonContent {
  readonly content: unknown
  /** Returns the line and the column of the value that is wrong, such as `3:15`. */
  readonly placeOf: (issue: z.core.$ZodIssue) => string
}

/** The content of a JSON file, or the error, phrased to follow the file's name. */
type JsonFile = JsonContent | { readonly error: string }

/** Reads a JSON file. The error does not quote the file, which may contain a misplaced secret. */
export function readJsonFile(path: string): JsonFile {
  let text: string
  try {
    // Editors of Windows begin a file with this mark.
    text = readFileSync(path, 'utf8').replace(/^\ufeff/, '')
  } catch (error) {
    return { error: `cannot be read (${errorCodeOf(error)})` }
  }
  let places: ReturnType<typeof placesInJson> | undefined
  try {
    return {
      content: JSON.parse(text),
      placeOf: (issue) => {
        const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
        // Read once: a mistake may be in every entry of a long list.
        places ??= placesInJson(text)
        const { line, column } = places([...issue.path, ...unknown])
        return `${line}:${column}`
      },
    }
  } catch (error) {
    const said = error instanceof Error ? error.message : ''
    const where = /\(line \d+ column \d+\)/.exec(said)?.[0] ?? (/end of JSON/.test(said) ? '(it ends too early)' : '')
    return { error: `is not JSON ${where}`.trimEnd() }
  }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g

/** A value of a JSON text: where it begins, and its members or entries. */
interface PlacedValue {
  readonly line: number
  readonly column: number
  readonly parts: Map<PropertyKey, PlacedValue>
}

/**
 * Reads where the values of JSON that is valid begin. Returns the line and the column of the value at a path, counted from 1; where it is
 * missing, those of the object or list that lacks it. Of several members with one name, the last counts.
 */
export function placesInJson(text: string) {
  const tokens = [...text.matchAll(TOKEN)]
  let at = 0
  const written = () => tokens[at]?.[0] ?? ''
  let line = 1
  let lineStart = 0
  let lineEnd = text.indexOf('\n')
  /** Passes a value. */
  const placed = (): PlacedValue => {
    const { index = 0 } = tokens[at] ?? {}
    for (; lineEnd !== -1 && lineEnd < index; lineEnd = text.indexOf('\n', lineStart)) {
      line += 1
      lineStart = lineEnd + 1
    }
    const value = { line, column: index - lineStart + 1, parts: new Map<PropertyKey, PlacedValue>() }
    const isObject = written() === '{'
    const isList = written() === '['
    at += 1
    if (!isObject && !isList) return value
    for (let entry = 0; !/^[\]}]/.test(written()); entry += 1) {
      const key = isObject ? JSON.parse(written()) : entry
      // A name and its colon stand before the value.
      if (isObject) at += 2
      value.parts.set(key, placed())
      if (written() === ',') at += 1
    }
    at += 1
    return value
  }
  const whole = placed()
  return (path: readonly PropertyKey[]) => {
    let found = whole
    for (const key of path) {
      const part = found.parts.get(key)
      if (!part) break
      found = part
    }
    return { line: found.line, column: found.column }
  }
}

/** Returns the code of an error of the system, such as ENOENT. */
export const errorCodeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error)

/** Describes the error of a value in a JSON file, for a line that begins with the value's path. */
export function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `unknown key ${issue.keys.join(', ')}`
  // Messages other than zod's built-in ones are our own, written for operators.
  if (!/^(Invalid|Too)/.test(issue.message)) return issue.message
  switch (issue.code) {
    case 'invalid_type':
      return issue.message.endsWith('received undefined') ? 'is required' : `must be ${nameOf(issue.expected)}`
    case 'invalid_value':
      return `must be ${issue.values.map(String).join(' or ')}`
    case 'too_small':
      return issue.origin === 'string' ? 'must not be empty' : `must be ${least(issue)}`
    case 'too_big':
      return `must be at most ${issue.maximum}`
    default:
      return 'has a value that is not accepted'
  }
}

const least = ({ minimum, inclusive }: z.core.$ZodIssueTooSmall) =>
  inclusive ? `at least ${minimum}` : `more than ${minimum}`

const NAMES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  object: 'an object',
  record: 'an object',
  string: 'text',
}

const nameOf = (type: string) => NAMES[type] ?? `a ${type}`
