import { readFileSync } from 'node:fs'
import type { z } from 'zod'

/** The content of a JSON file, or the error, phrased to follow the file's name. */
type JsonFile = { readonly content: unknown } | { readonly error: string }

/** Reads a JSON file. The error does not quote the file, which may contain a misplaced secret. */
export function readJsonFile(path: string): JsonFile {
  let text: string
  try {
    // Windows editors begin a file with this mark.
    text = readFileSync(path, 'utf8').replace(/^\ufeff/, '')
  } catch (error) {
    return { error: `cannot be read (${errorCodeOf(error)})` }
  }
  try {
    return { content: JSON.parse(text) }
  } catch (error) {
    const said = error instanceof Error ? error.message : ''
    const where = /\(line \d+ column \d+\)/.exec(said)?.[0] ?? (/end of JSON/.test(said) ? '(it ends too early)' : '')
    return { error: `is not JSON ${where}`.trimEnd() }
  }
}

/** Returns the code of a system error, such as ENOENT. */
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
      return 'has an invalid value'
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
