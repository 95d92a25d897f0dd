/** The longest masked value. */
const MASK_CHARACTERS = 24

/**
 * Returns the shape of a value without the value: each letter becomes `a` or `A`, each digit `9`, any character that is
 * neither a letter nor common punctuation `?`.
 *
 * @example
 * masked('(214) 555-0000') // '(999) 999-9999'
 */
export function masked(text: string): string {
  const shape = [...text.slice(0, MASK_CHARACTERS + 1)]
    .map((character) => {
      if (/\p{Nd}/u.test(character)) return '9'
      if (/\p{Lu}/u.test(character)) return 'A'
      if (/\p{L}/u.test(character)) return 'a'
      return /[ .,:;()+@/#&'~_-]/.test(character) ? character : '?'
    })
    .join('')
  return shape.length > MASK_CHARACTERS ? `${shape.slice(0, MASK_CHARACTERS)}…` : shape
}
