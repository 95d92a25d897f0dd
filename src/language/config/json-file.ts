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
  try {
    return {
      content: JSON.parse(text),
      placeOf: (issue) => {
        const unknown = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
        const { line, column } = placeInJson(text, [...issue.path, ...unknown])
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

/**
 * Returns where the value at a path begins in JSON that is valid, its line and column counted from 1; where it is missing, the object
 * or list that lacks it. Of several members with one name, the last counts.
 */
export function placeInJson(text: string, path: readonly PropertyKey[]) {
  const tokens = [...text.matchAll(TOKEN)]
  const written = (at: number) => tokens[at]?.[0] ?? ''
  let found = 0
  /** Passes the value that begins with a token, below so many steps of the path; returns the number of the token after it. */
  const pass = (start: number, steps: number | undefined): number => {
    if (steps !== undefined) found = start
    const isObject = written(start) === '{'
    if (!isObject && written(start) !== '[') return start + 1
    let at = start + 1
    for (let index = 0; !/^[\]}]/.test(written(at)); index += 1) {
      const key = isObject ? JSON.parse(written(at)) : index
      const isOnPath = steps !== undefined && steps < path.length && path[steps] === key
      // A name and its colon stand before the value.
      at = pass(isObject ? at + 2 : at, isOnPath ? steps + 1 : undefined)
      if (written(at) === ',') at += 1
    }
    return at + 1
  }
  pass(0, 0)
  const before = text.slice(0, tokens[found]?.index)
  return { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') }
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
