import type { z } from 'zod'

/** Describes the error of a value in a JSON file, for a line that begins with the value's path. */
export function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `unknown key ${issue.keys.join(', ')}`
  // Messages other than zod's built-in ones are our own, written for operators.
  if (!/^(Invalid|Too)/.test(issue.message)) return issue.message
  if (issue.code === 'invalid_type') {
    return issue.message.endsWith('received undefined') ? 'is required' : `must be ${articled(issue.expected)}`
  }
  if (issue.code === 'invalid_value') return `must be ${issue.values.map(String).join(' or ')}`
  if (issue.code === 'too_small') return issue.origin === 'string' ? 'must not be empty' : 'must be more than 0'
  return issue.message
}

const articled = (type: string) => `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`
