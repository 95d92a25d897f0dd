/** A table of phrases for looking up codes and free text. */
export interface LookupTable {
  /** Phrase → value. */
  readonly phrases: Readonly<Record<string, string>>
  /** Returns the value of a whole text: any case, and a run of blanks, `_` and `-` is one blank. */
  readonly wholeValue: (text: string) => string | undefined
  /**
   * Returns the value of the phrase that spans most words of a text, the leftmost of several.
   * `F-150` is one word; therefore `Crew Cab` wins in `F-150 Crew Cab`.
   */
  readonly phraseIn: (text: string) => string | undefined
}

/** A node of the tree of phrases: `BOX` → `TRUCK` holds the value of `BOX TRUCK`. */
interface TrieNode {
  value?: string
  readonly next: Map<string, TrieNode>
}

/** Separates words; the second separates the parts of one word, as in `F-150` or `BOX_TRUCK`. */
const BETWEEN_WORDS = /[\s,;:./|()[\]"]+/
const INSIDE_WORDS = /[-_–—]+/

const notEmpty = (text: string): boolean => text !== ''

/** Splits a text into words, and each word into its parts. */
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
 * compileLookup(vehicleTypes, { 'BOX TRUCK': 'truck' }).phraseIn('2023 Ford E-450, Box Truck') // 'truck'
 */
export function compileLookup(...tables: readonly Readonly<Record<string, string>>[]): LookupTable {
  const root: TrieNode = { next: new Map() }
  const entries = tables.flatMap((table) => Object.entries(table))
  for (const [phrase, value] of entries) {
    const parts = wordsOf(phrase).flat()
    // A phrase that never matches would be ignored silently.
    if (parts.length === 0) throw new Error('a phrase of a lookup table has no words')
    let node = root
    for (const part of parts) {
      const next: TrieNode = node.next.get(part) ?? { next: new Map() }
      node.next.set(part, next)
      node = next
    }
    node.value = value
  }
  return {
    phrases: Object.fromEntries(entries),
    wholeValue: (text) => findWhole(root, text),
    phraseIn: (text) => findPhrase(root, text),
  }
}

function findWhole(root: TrieNode, text: string): string | undefined {
  let node: TrieNode | undefined = root
  for (const part of wordsOf(text).flat()) {
    node = node.next.get(part)
    if (!node) return undefined
  }
  return node.value
}

function findPhrase(root: TrieNode, text: string): string | undefined {
  const parts = wordsOf(text).flatMap((word, index) => word.map((part) => ({ part, word: index })))
  let found: string | undefined
  let mostWords = 0
  for (const [start, { word: first }] of parts.entries()) {
    let node = root
    for (let end = start; end < parts.length; end++) {
      const part = parts[end]
      const next = part && node.next.get(part.part)
      if (!part || !next) break
      node = next
      const words = part.word - first + 1
      if (node.value !== undefined && words > mostWords) {
        found = node.value
        mostWords = words
      }
    }
  }
  return found
}
