import { codec, type Remark } from '../../src/language/mapping/codec.ts'
import { lossy } from '../../src/language/mapping/keeps.ts'
import { type Scalar, scalar, withoutFraction } from './text.ts'

/** Digits of a US number without its country code. */
const US_DIGITS = 10

/** Digits of the shortest number that an extension can follow: a number without its area code. */
const SHORTEST_DIGITS = 7

/** `x123`, `ext. 5`, `#12`, `;ext=9`; no two neighboring parts match the same blank: it runs in linear time. */
const EXTENSION = /(?:(?<![a-z])(?:extension|extn|ext|x)[\s.:=]*(?:#\s*)?|#\s*)(\d+)/i

const digitsOf = (text: string): string => text.replace(/\D+/g, '')

/** Between two numbers in one field. */
const SEPARATOR = /[/,;|&]|\s(?:or|and)\s/i
/** The first of two numbers that only blanks separate, with or without its country code. */
const FIRST_OF_TWO = /^\D*(?:1\D*)?(?:\d\D*){10}(?=(?:\d\D*){7})/

/** A number with words for some of its digits: an area code, perhaps three more digits, and at least ten places in all. */
const WORDS = /^\+?1?(?=[\da-z]{10,})\d{3}(?:\d{3})?[a-z]+[\da-z]*$/i
const KEYS = ['abc', 'def', 'ghi', 'jkl', 'mno', 'pqrs', 'tuv', 'wxyz']
const FIRST_KEY = 2

/** The digits of a phone number, its extension, and true if there is a second number. */
interface Phone {
  readonly digits: string
  readonly extension?: string
  readonly hasSecond?: true
}

const withoutCountryCode = (text: string): string => {
  const digits = digitsOf(text)
  const national = /^\+\s*1/.test(text) ? digits.slice(1) : digits
  // Some systems put +1 before a number that already has its 1.
  return national.length === US_DIGITS + 1 && national.startsWith('1') ? national.slice(1) : national
}

/** Returns the digits that the letters of `1-800-FLOWERS` stand for; undefined for text that is no such number. */
function digitsOfWords(text: string): string | undefined {
  const bare = text.replace(/[\s().-]+/g, '')
  if (!WORDS.test(bare)) return undefined
  const digits = bare.replace(/[a-z]/gi, (letter) =>
    String(FIRST_KEY + KEYS.findIndex((key) => key.includes(letter.toLowerCase()))),
  )
  return digits.replace(/^\+?1(?=\d{10})/, '').slice(0, US_DIGITS)
}

function firstOfTwo(text: string): string | undefined {
  const [first = '', ...rest] = text.split(SEPARATOR)
  const areTwo = [first, rest.join('')].every(
    (part) => (digitsOfWords(part) ?? digitsOf(part)).length >= SHORTEST_DIGITS,
  )
  return areTwo ? first : FIRST_OF_TWO.exec(text)?.[0]
}

/** A number as most callers write it. */
const PLAIN = /^\(?\d{3}\)?[ -]?\d{3}[ -]?\d{4}$/

/** Reads a phone number from free text; `digits` is empty if there is none. */
export function readPhone(sent: string): Phone {
  if (PLAIN.test(sent)) return { digits: digitsOf(sent) }
  const text = withoutFraction(sent)
  const first = firstOfTwo(text)
  if (first !== undefined) return { ...readPhone(first), hasSecond: true }
  const match = EXTENSION.exec(text)
  const extension = match?.[1]
  const before = text.slice(0, match?.index)
  if (match && extension !== undefined) {
    const words = digitsOfWords(before)
    if (words !== undefined) return { digits: words, extension }
  }
  const words = digitsOfWords(text)
  if (words !== undefined) return { digits: words }
  if (match && extension !== undefined && digitsOf(before).length >= SHORTEST_DIGITS)
    return { digits: withoutCountryCode(before), extension }
  return { digits: withoutCountryCode(text) }
}

/** Returns the remarks on a phone number: its lost or odd parts. */
export function remarkOnPhone(text: string): Remark | undefined {
  const { digits, extension, hasSecond } = readPhone(text)
  const lost = [
    ...(extension === undefined ? [] : [`the extension ${extension}`]),
    ...(hasSecond ? ['the second number'] : []),
  ]
  if (digits === '' || (digits.length === US_DIGITS && lost.length === 0)) return undefined
  return {
    ...(lost.length > 0 && { loss: lost.join(', and ') }),
    ...(digits.length !== US_DIGITS && { warning: 'is not a US phone number of ten digits' }),
  }
}

/** Returns the digits of a text; the 1 of the United States is none of the number. */
export const phoneSense = (text: string): string =>
  (digitsOfWords(text) ?? digitsOf(withoutFraction(text))).replace(/^1+/, '')

/** A phone number as digits. */
export const phone = codec<Scalar>(scalar, {
  name: 'phone',
  summary:
    'A phone number as digits. A leading 1 is dropped, letters are read as on a keypad, and an extension or a second number is lost. Text without digits counts as absent.',
  keeps: lossy('an extension, a second number, and other characters', phoneSense),
  // Forms send TBD or N/A for an unknown number.
  decode: (text, _fail, leaveOut) => readPhone(text).digits || leaveOut('a phone number without any digit'),
  encode: (value) => withoutFraction(String(value)),
  remark: remarkOnPhone,
})
