import type { z } from 'zod'

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
