import { isObject, isStructure } from '../language/text/json.ts'

/** The largest explanation, with some room for its end. */
const MOST_BYTES = 1024 * 1024 - 256
/** An explanation's lists and echoed bodies are at the second level. */
const LEVELS = 2
/** A member's quotes, colon and comma. */
const PUNCTUATION_BYTES = 4
const INDENT = 2
/** Anything longer, or nested so deep that the blanks would take more than the values, is for programs only. */
const MOST_READABLE = 64 * 1024
const MOST_BLANKS = 2

/**
 * Writes an explanation of a stranger's input as JSON. Whatever does not fit is left out whole: single rows of lists, echoed bodies, texts.
 * `truncated` says so, and `more` is the number of rows left out.
 */
export function writeExplanation(explanation: object): string {
  let leftBytes = MOST_BYTES
  let more = 0
  let isWhole = true

  /** Returns the part of a value that fits; undefined if nothing fits. */
  function fitting(value: unknown, levels: number): unknown {
    if (levels > 0 && Array.isArray(value)) {
      const rows = value.filter((row) => fits(row))
      more += value.length - rows.length
      return rows
    }
    if (levels > 0 && isObject(value)) {
      const members = Object.entries(value).map(([name, member]) => {
        leftBytes -= Buffer.byteLength(name) + PUNCTUATION_BYTES
        return [name, fitting(member, levels - 1)]
      })
      return Object.fromEntries(members)
    }
    return fits(value) ? value : undefined
  }

  function fits(value: unknown): boolean {
    const bytes = Buffer.byteLength(JSON.stringify(value) ?? '') + 1
    const isFitting = bytes <= leftBytes
    if (isFitting) leftBytes -= bytes
    else isWhole = false
    return isFitting
  }

  const { more: unlisted = 0, ...all }: { more?: number } = explanation
  const shown = fitting(all, LEVELS) as object
  more += unlisted
  const value = { ...shown, ...((more > 0 || !isWhole) && { truncated: true }), ...(more > 0 && { more }) }
  const compact = JSON.stringify(value)
  const { length } = compact
  const isReadable = length <= MOST_READABLE && blanksOf(value, 1) <= MOST_BLANKS * length
  return `${isReadable ? JSON.stringify(value, null, INDENT) : compact}\n`
}

/** Counts the blanks and line breaks of indented JSON. */
function blanksOf(value: unknown, depth: number): number {
  if (!isStructure(value)) return 0
  let blanks = 0
  for (const part of Object.values(value)) blanks += INDENT * depth + 2 + blanksOf(part, depth + 1)
  return blanks === 0 ? 0 : blanks + INDENT * (depth - 1) + 1
}
