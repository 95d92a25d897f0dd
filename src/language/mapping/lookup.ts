/** A table of phrases for looking up codes and free text. */
export interface LookupTable {
  /** Phrase → value. */
  readonly phrases: Readonly<Record<string, string>>
  /** Returns the value for a whole text, in any case. A run of blanks, `_` and `-` counts as one blank. */
  readonly wholeValue: (text: string) => string | undefined
  /**
   * Returns the value of the phrase that covers the most words of a text; of equal ones, the leftmost.
   * `F-150` is one word; therefore `Crew Cab` wins in `F-150 Crew Cab`.
   */
  readonly phraseIn: (text: string) => string | undefined
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
 * Compiles tables of phrases into one; later tables override earlier ones.
 *
 * @example
 * compileLookup(vehicleTypes, { 'BOX TRUCK': 'truck' }).phraseIn('2023 Ford E-450, Box Truck') // 'truck'
 */
export function compileLookup(...tables: readonly Readonly<Record<string, string>>[]): LookupTable {
  /** By the phrase's parts, with blanks between them. */
  const values = new Map<string, string>()
  /** How many parts the longest phrase that begins with a part has. */
  const most = new Map<string, number>()
  for (const table of tables) {
    const own = new Map<string, string>()
    for (const [phrase, value] of Object.entries(table)) {
      const parts = wordsOf(phrase).flat()
      const [first] = parts
      // A phrase that never matches would be ignored silently.
      if (first === undefined) throw new Error('a phrase of a lookup table has no words')
      const key = parts.join(' ')
      const other = own.get(key) ?? value
      if (other !== value) throw new Error(`the phrase ${phrase} means both ${other} and ${value}`)
      own.set(key, value)
      most.set(first, Math.max(most.get(first) ?? 0, parts.length))
    }
    for (const [key, value] of own) values.set(key, value)
  }
  return {
    phrases: Object.fromEntries(tables.flatMap((table) => Object.entries(table))),
    wholeValue: (text) => values.get(wordsOf(text).flat().join(' ')),
    phraseIn: (text) => {
      const parts = wordsOf(text).flatMap((word, index) => word.map((part) => ({ part, word: index })))
      let found: string | undefined
      let mostWords = 0
      for (const [start, { part: first, word: from }] of parts.entries()) {
        const longest = most.get(first)
        if (longest === undefined) continue
        let phrase = ''
        for (const { part, word } of parts.slice(start, start + longest)) {
          phrase += phrase === '' ? part : ` ${part}`
          const value = values.get(phrase)
          const words = word - from + 1
          if (value === undefined || words <= mostWords) continue
          found = value
          mostWords = words
        }
      }
      return found
    },
  }
}
