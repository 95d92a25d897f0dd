/** A table of phrases that codes and free text are looked up in. */
export interface LookupTable {
  /** The value of a whole code: any case, and runs of blanks, `_` and `-` are one blank. */
  readonly code: (text: string) => string | undefined
  /**
   * The value of the phrase that spans most words of a text, the leftmost if there are several.
   * `F-150` is one word, so that `Crew Cab` wins in `F-150 Crew Cab`.
   */
  readonly words: (text: string) => string | undefined
}

/** A phrase and its value, hung below the phrase's parts: `BOX` → `TRUCK`. */
interface Branch {
  value?: string
  readonly next: Map<string, Branch>
}

/** What stands between words, and what may stand between the parts of one, as in `F-150` or `BOX_TRUCK`. */
const BETWEEN_WORDS = /[\s,;:./|()[\]"]+/
const INSIDE_WORDS = /[-_–—]+/

const notEmpty = (text: string): boolean => text !== ''

/** The parts of each word of a text. */
const wordsOf = (text: string): string[][] =>
  text
    .toUpperCase()
    .split(BETWEEN_WORDS)
    .map((word) => word.split(INSIDE_WORDS).filter(notEmpty))
    .filter(({ length }) => length > 0)

/**
 * Compiles tables of phrases into one; a later table wins over an earlier one.
 *
 * @example
 * compileLookup(vehicleTypes, { 'BOX TRUCK': 'truck' }).words('2023 Ford E-450, Box Truck') // 'truck'
 */
export function compileLookup(...tables: readonly Readonly<Record<string, string>>[]): LookupTable {
  const root: Branch = { next: new Map() }
  for (const [phrase, value] of tables.flatMap((table) => Object.entries(table))) {
    const parts = wordsOf(phrase).flat()
    // A phrase that can never match would be lost in silence.
    if (parts.length === 0) throw new Error('a phrase of a lookup table has no words')
    let branch = root
    for (const part of parts) {
      const next: Branch = branch.next.get(part) ?? { next: new Map() }
      branch.next.set(part, next)
      branch = next
    }
    branch.value = value
  }
  return { code: (text) => lookUpCode(root, text), words: (text) => lookUpWords(root, text) }
}

function lookUpCode(root: Branch, text: string): string | undefined {
  let branch: Branch | undefined = root
  for (const part of wordsOf(text).flat()) {
    branch = branch.next.get(part)
    if (!branch) return undefined
  }
  return branch.value
}

function lookUpWords(root: Branch, text: string): string | undefined {
  const parts = wordsOf(text).flatMap((word, index) => word.map((part) => ({ part, word: index })))
  let found: string | undefined
  let mostWords = 0
  for (const [start, { word: first }] of parts.entries()) {
    let branch = root
    for (let end = start; end < parts.length; end++) {
      const part = parts[end]
      const next = part && branch.next.get(part.part)
      if (!part || !next) break
      branch = next
      const words = part.word - first + 1
      if (branch.value !== undefined && words > mostWords) {
        found = branch.value
        mostWords = words
      }
    }
  }
  return found
}
