/** The most typing errors in a word that still resembles another. */
const MOST_EDITS = 2
/** A longer name is not a typo, and the time of a comparison grows with the length of both words. */
export const LONGEST_TYPED = 64

/** Returns the known word nearest to the typed one; undefined if none is near. */
export function nearest(typed: string, known: readonly string[], mostEdits = MOST_EDITS): string | undefined {
  if (typed.length > LONGEST_TYPED) return undefined
  const [best] = known
    .filter((word) => Math.abs(word.length - typed.length) <= mostEdits)
    .map((word) => ({ word, edits: editsBetween(typed.toLowerCase(), word.toLowerCase()) }))
    .filter(({ word, edits }) => edits <= mostEdits && edits < word.length / 2)
    .sort((one, other) => one.edits - other.edits)
  return best?.word
}

/** Returns a suggestion for the end of an error message; empty if no word is near. */
export function suggestion(typed: string, known: readonly string[]): string {
  const meant = nearest(typed, known)
  return meant === undefined ? '' : `; did you mean ${meant}?`
}

/** Returns the words that occur more than once in a list. */
export function repeated(words: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  return [...new Set(words.filter((word) => seen.size === seen.add(word).size))]
}

/** Counts the letters to insert, remove, replace, or swap with their neighbor (optimal string alignment). */
function editsBetween(from: string, to: string): number {
  let before: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row += 1) {
    const edits = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1]
      const isSwapped = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      edits[column] = Math.min(
        at(last, column) + 1,
        at(edits, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = edits
  }
  return at(last, to.length)
}

const at = (numbers: readonly number[], index: number) => numbers[index] ?? Number.POSITIVE_INFINITY
