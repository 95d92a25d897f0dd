import type { Draft } from '../mapping/paths.ts'
import { isStructure, scalarText } from '../text/json.ts'

/** Returns how the body of a successful reply denies its success; undefined if it does not. */
export function denialIn(body: Readonly<Draft>): string | undefined {
  if (isNo(body['success']) || isNo(body['ok'])) return 'it says that the call failed'
  if (isError(body['error']) || isError(body['errors'])) return 'it has an error'
  return undefined
}

/** Tells if a member of a reply has a value: null and blank texts are none. */
export const isPresent = (value: unknown) =>
  value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '')

/** The forms of `false` in replies: `false`, `"false"`, `0`. */
const NO = new Set(['false', '0', 'no'])

function isNo(value: unknown): boolean {
  const text = scalarText(value)
  return text !== undefined && NO.has(text.trim().toLowerCase())
}

/** Tells if a value reports an error. Many services fill `error` with nothing, `false` or a code 0. */
function isError(value: unknown): boolean {
  if (!isStructure(value)) return isPresent(value) && !isNo(value)
  // Members of a structure have any type.
  const { code, message } = value as { readonly code?: unknown; readonly message?: unknown }
  const saysOk = scalarText(code)?.trim() === '0' && WELL.test(scalarText(message)?.trim() ?? '')
  return Object.entries(value).some(([key, part]) => isError(part) && !(saysOk && key === 'message'))
}

/** The message beside a code 0, in words that cannot mean an error. Without such a code, any message is one. */
const WELL = /^(?:ok|okay|success|successful|no error|none)\.?$/i
