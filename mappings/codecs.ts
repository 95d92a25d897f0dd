import {
  type Codec,
  codec,
  type Fail,
  type Failed,
  type LeaveOut,
  NOT_OWN,
  type Remark,
} from '../src/language/mapping/codec.ts'
import type { Parts } from '../src/language/mapping/row.ts'
import { isObject } from '../src/language/text/json.ts'
import { isNotKnown, isShortened, LIKE_VIN, plainVin, VIN } from '../src/language/text/service-text.ts'
import { knownStates, stateCodes } from './us-states.ts'

/* Text */

/** A plain value in version 2. */
export type Scalar = string | number | boolean

const asNumberOrText = (value: unknown): number | string | Failed =>
  typeof value === 'string' || typeof value === 'number' ? value : NOT_OWN

/** The service may send a number or a boolean where text is documented. */
const asScalar = (value: unknown): Scalar | Failed => (typeof value === 'boolean' ? value : asNumberOrText(value))

/** Text, unchanged. */
export const text = codec(asScalar, {
  name: 'text',
  summary: 'Text, unchanged.',
  decode: (value) => value,
  encode: String,
})

/** Decodes text, but leaves out placeholders such as `TBD`. */
const known =
  <T>(decode: (text: string, fail: Fail) => T) =>
  (text: string, fail: Fail, leaveOut: LeaveOut): T =>
    isNotKnown(text) ? leaveOut('a word for a value that is not known yet') : decode(text, fail)

/** An e-mail address, unchanged. */
export const email = codec(asScalar, {
  name: 'email',
  summary: 'Text, unchanged. TBD and N/A count as absent.',
  decode: known((value) => value),
  encode: String,
})

/** Removes the `.0` that a spreadsheet adds to a whole number. */
const withoutFraction = (text: string): string => text.replace(/^(\d+)\.0+$/, '$1')

/* Postal codes */

const ZIP_DIGITS = 5

/** Five digits, optionally followed by four more; word processors lengthen the dash between them. */
const ZIP = /^(\d{5})(?:(?:\s*[-–—]\s*|\s*)(\d{4}))?$/
const ZIP_WITH_SPREAD_DASH = /^(\d{5})\s*-\s*(\d{4})$/
const WITHOUT_LEADING_ZEROS = /^\d{3,4}$/

/** The same among words, as in `NY 10314`. */
const ZIP_AMONG_WORDS = /(?<![\p{L}\p{N}])(\d{5})(?:-(\d{4}))?(?![\p{L}\p{N}])/u
const FIVE_DIGITS = /(?<!\d)\d{5}(?!\d)/g

/** Finds the ZIP among words; it must be the only group of five digits. */
function zipAmongWords(text: string): RegExpExecArray | null {
  const isOnly = /\p{L}/u.test(text) && text.match(FIVE_DIGITS)?.length === 1
  return isOnly ? ZIP_AMONG_WORDS.exec(text) : null
}

const LEADING_ZEROS_LOST: Remark = { assumed: 'leading zeros that got lost on the way' }

const remarkOnZeros = (text: string): Remark | undefined =>
  WITHOUT_LEADING_ZEROS.test(text) ? LEADING_ZEROS_LOST : undefined

const AROUND_ZIP = 'the words around the ZIP'

const padded = (value: number | string): string => String(value).padStart(ZIP_DIGITS, '0')

/** Restores the leading zero of `2134`. Leaves other text that the service may send, such as `75201-1234`, unchanged. */
const zipText = (value: number | string): string => {
  const text = typeof value === 'number' ? String(value) : withoutFraction(value)
  return /^\d{1,4}$/.test(text) ? padded(text) : text
}

/** A US ZIP. In version 2, it is an integer, which cannot hold the extension of a ZIP+4. */
export const zipcode = codec(asNumberOrText, {
  name: 'zipcode',
  summary:
    'A US ZIP: an integer in version 2, five digits in version 1. A ZIP+4 extension and surrounding words are lost. TBD and N/A count as absent.',
  problem: 'must be a US ZIP code such as 75201 or 75201-1234',
  decode: known((sent, fail) => {
    const text = withoutFraction(sent)
    const digits = WITHOUT_LEADING_ZEROS.test(text) ? text : (ZIP.exec(text) ?? zipAmongWords(text))?.[1]
    const zip = Number(digits ?? 0)
    // Forms send 00000 for an unknown ZIP; it is not a real one.
    return zip > 0 ? zip : fail()
  }),
  encode: zipText,
  remark: (text) => {
    const words = zipAmongWords(text)
    const extension = (words ?? ZIP.exec(withoutFraction(text)))?.[2]
    const lost = [
      ...(extension === undefined ? [] : [`the ZIP+4 extension ${extension}`]),
      ...(words ? [AROUND_ZIP] : []),
    ]
    return lost.length === 0 ? remarkOnZeros(withoutFraction(text)) : { loss: lost.join(', and ') }
  },
})

/** A postal code of any country as text; only a US ZIP is normalized. */
export const quoteZip = codec(asNumberOrText, {
  name: 'quoteZip',
  summary:
    'A postal code, unchanged. A US ZIP regains lost leading zeros and loses surrounding words. TBD and N/A count as absent.',
  decode: known((sent) => {
    const text = zipAmongWords(sent)?.[0] ?? withoutFraction(sent)
    return WITHOUT_LEADING_ZEROS.test(text) ? padded(text) : text.replace(ZIP_WITH_SPREAD_DASH, '$1-$2')
  }),
  encode: (value) => {
    const text = withoutFraction(String(value))
    return text === value ? value : padded(text)
  },
  remark: (text) => (zipAmongWords(text) ? { loss: AROUND_ZIP } : remarkOnZeros(withoutFraction(text))),
})

/* Vehicles */

/** The year when the first car was built. */
const FIRST_YEAR = 1886

/** Next year's models are sold this year; the second year allows for early orders. */
const YEARS_AHEAD = 2

const YEAR = /^\d{4}$/

const latestYear = (): number => new Date().getUTCFullYear() + YEARS_AHEAD

/** Between two VINs in one field. */
const BETWEEN_VINS = /[^a-z0-9]+/i
const JOINED_VINS = /^(?:[A-HJ-NPR-Z0-9]{17}){2,}$/

const BLANKS_AND_SIGNS = /[^\p{L}\p{N}]+/gu

/** Between the parts of a list. */
const BETWEEN_ITEMS = /[,;\r\n]/
/** A VIN of any length, such as one of an old vehicle, in a list; a year is none. */
const LISTED_OLD_VIN = /^(?!(?:18|19|20)\d\d$)[a-z-]*\d[a-z\d-]{3,}$/i

/** Words that are as long as a VIN by chance hardly end like one. */
const ENDS_LIKE_VIN = /\d{4}\W*$/

/** Beside a VIN, anything shorter may be a plate, a stock number, a ZIP or the mileage. */
const LISTED_BESIDE_VIN = /^(?:[^a-z\d]*[a-z\d]){9}/i

/** Reports whether a text contains several VINs, with or without a separator. */
function hasSeveral(text: string): boolean {
  if (VIN.test(text)) return false
  if (JOINED_VINS.test(plainVin(text))) return true
  const vins = text.split(BETWEEN_VINS).filter((part) => LIKE_VIN.test(part)).length
  // Two of these are too long for one VIN with a blank in it.
  if (vins > 1) return true
  const items = text.split(BETWEEN_ITEMS)
  // One with a blank in it, too.
  if (items.filter((part) => ENDS_LIKE_VIN.test(part) && VIN.test(plainVin(part))).length > 1) return true
  const old = items.filter((part) => LISTED_OLD_VIN.test(part.trim()))
  return old.filter((part) => vins === 0 || LISTED_BESIDE_VIN.test(part)).length > 1
}

/** A model year as an integer. */
export const year = codec(asScalar, {
  name: 'year',
  summary: 'A model year of four digits, from 1886 to the year after next. TBD and N/A count as absent.',
  problem: 'must be a year of four digits, from 1886 to the year after next',
  decode: known((text, fail) => {
    const value = Number(YEAR.exec(withoutFraction(text))?.[0])
    return value >= FIRST_YEAR && value <= latestYear() ? value : fail()
  }),
  encode: (value) => withoutFraction(String(value)),
})

/** A vehicle identification number; the check digit is not enforced. */
export const vin = codec(asScalar, {
  name: 'vin',
  summary:
    'A VIN in uppercase without spaces, punctuation or surrounding words. An unusual VIN is sent anyway; several are refused. TBD and N/A count as absent.',
  problem: 'has several VINs: send one booking for each vehicle',
  decode: known((text, fail) => (hasSeveral(text) ? fail() : plainVin(text))),
  encode: String,
  remark: (text) => {
    const plain = plainVin(text)
    // Not a problem: vehicles from before 1981 have other numbers.
    if (!VIN.test(plain)) return { warning: 'is not 17 characters of the VIN alphabet' }
    return text.replace(BLANKS_AND_SIGNS, '').length > plain.length ? { loss: 'the words around the VIN' } : undefined
  },
})

/* Phone numbers */

/** Digits of a US number without its country code. */
const US_DIGITS = 10

/** Digits of the shortest number that can have an extension: one without an area code. */
const SHORTEST_DIGITS = 7

/** `x123`, `ext. 5`, `#12`, `;ext=9`. No two adjacent parts match the same blank, so it runs in linear time. */
const EXTENSION = /(?:(?<![a-z])(?:extension|extn|ext|x)[\s.:=-]*(?:#\s*)?|#\s*)(\d+)/i

const digitsOf = (text: string): string => text.replace(/\D+/g, '')

/** Separates two numbers in one field. */
const BETWEEN_NUMBERS = /[/,;|&]|\s(?:or|and)\s/i
/** The first of two numbers that are separated only by blanks, with or without its country code. */
const FIRST_OF_TWO = /^\D*(?:1\D*)?(?:\d\D*){10}(?=(?:\d\D*){7})/
/** A whole US number before a few more digits, such as `214-555-0000, 12`. */
const BEFORE_DIGITS = /^(?!\s*\+\s*[^1\s])\D*(?:1\D*)?[2-9]\d{2}\D*\d{3}\D*\d{4}(?=[^\da-z#]+\d[^a-z#]*$)/i

/** A number with letters for some of its digits: an area code, optionally three more digits, and at least ten characters in all. */
const NUMBER_IN_WORDS = /^\+?1?(?=[\da-z]{10,})\d{3}(?:\d{3})?[a-z][\da-z]*$/i
const KEYS = ['abc', 'def', 'ghi', 'jkl', 'mno', 'pqrs', 'tuv', 'wxyz']
const FIRST_KEY = 2

/** A whole US number before words with digits, such as `214-555-0000 after 5pm`. */
const BEFORE_WORDS = /^(?!\s*\+\s*[^1\s])\D*(?:1[^\da-z]*)?(?:\d[^\da-z]*){9}\d(?!\d)(?=.*[a-z])(?=.*\d)/is

/** The digits of a phone number, its extension, and true if there is a second number, or words with digits. */
interface Phone {
  readonly digits: string
  readonly extension?: string | undefined
  readonly hasSecond?: true
  readonly hasWords?: boolean
}

const withoutCountryCode = (text: string): string => {
  const digits = digitsOf(text)
  const national = /^\+\s*1/.test(text) ? digits.slice(1) : digits
  // Some systems put +1 before a number that already starts with 1.
  return national.length === US_DIGITS + 1 && national.startsWith('1') ? national.slice(1) : national
}

/** Returns the digits of a number such as `1-800-FLOWERS`; undefined for other text. */
function digitsOfWords(text: string): string | undefined {
  const bare = text.replace(/[\s().-]+/g, '')
  if (!NUMBER_IN_WORDS.test(bare)) return undefined
  const digits = bare.replace(/[a-z]/gi, (letter) =>
    String(FIRST_KEY + KEYS.findIndex((key) => key.includes(letter.toLowerCase()))),
  )
  return digits.replace(/^\+?1(?=\d{10})/, '').slice(0, US_DIGITS)
}

function firstOfTwo(text: string): string | undefined {
  const [first = '', ...rest] = text.split(BETWEEN_NUMBERS)
  const areTwo = [first, rest.join('')].every(
    (part) => (digitsOfWords(part) ?? digitsOf(part)).length >= SHORTEST_DIGITS,
  )
  return areTwo ? first : (FIRST_OF_TWO.exec(text) ?? BEFORE_DIGITS.exec(text))?.[0]
}

/** A number as most callers write it. */
const PLAIN_NUMBER = /^\(?\d{3}\)?[ -]?\d{3}[ -]?\d{4}$/

/** Reads a phone number from free text; `digits` is empty if there is none. */
function readPhone(sent: string): Phone {
  if (PLAIN_NUMBER.test(sent)) return { digits: digitsOf(sent) }
  const text = withoutFraction(sent)
  const first = firstOfTwo(text)
  if (first !== undefined) return { ...readPhone(first), hasSecond: true }
  const match = EXTENSION.exec(text)
  const extension = match?.[1]
  const before = text.slice(0, match?.index)
  const wordsBefore = extension === undefined ? undefined : digitsOfWords(before)
  if (wordsBefore !== undefined) return { digits: wordsBefore, extension }
  const words = digitsOfWords(text)
  if (words !== undefined) return { digits: words }
  const isExtension = extension !== undefined && digitsOf(before).length >= SHORTEST_DIGITS
  const number = isExtension ? before : text
  const whole = BEFORE_WORDS.exec(number)?.[0]
  return {
    digits: withoutCountryCode(whole ?? number),
    ...(isExtension && { extension }),
    hasWords: whole !== undefined,
  }
}

/** Returns a remark on the parts of a phone number that are lost or odd. */
function remarkOnPhone(text: string): Remark | undefined {
  const { digits, extension, hasSecond, hasWords } = readPhone(text)
  const lost = [
    ...(extension === undefined ? [] : [`the extension ${extension}`]),
    ...(hasSecond ? ['the second number'] : []),
    ...(hasWords ? ['the words after the number'] : []),
  ]
  if (digits === '' || (digits.length === US_DIGITS && lost.length === 0)) return undefined
  return {
    ...(lost.length > 0 && { loss: lost.join(', and ') }),
    ...(digits.length !== US_DIGITS && { warning: 'is not a US phone number of ten digits' }),
  }
}

/** A phone number as digits. */
export const phone = codec(asScalar, {
  name: 'phone',
  summary:
    'A phone number as digits. A leading 1 is dropped, letters are read as on a keypad, and an extension, a second number, or words are lost. Text without digits counts as absent.',
  // Forms send TBD or N/A for an unknown phone number.
  decode: (text, _fail, leaveOut) => readPhone(text).digits || leaveOut('a phone number without any digit'),
  encode: (value) => withoutFraction(String(value)),
  remark: remarkOnPhone,
})

/* Contacts */

const BETWEEN_PARTS = '~'

/** Accepts any object: the parts of a row that splits a field are always texts. */
const asParts = (value: unknown): Parts | Failed => (isObject(value) ? (value as Parts) : NOT_OWN)

/** The names of a place and of the person there, in one field. */
export const locationName = codec(asParts, {
  name: 'locationName',
  summary: "The names of the place and the person. In a reply, the person's name wins.",
  decode: (name) => ({ location_name: name, contact_name: name }),
  encode: (parts) => parts['contact_name'] ?? parts['location_name'] ?? '',
})

const looksLikeEmail = (part: string): boolean => part.includes('@') && /^[^\s@]+@[^\s@]+$/.test(part)

/** Reports whether a part, which is not an e-mail address, consists mostly of digits. */
const looksLikePhone = (part: string): boolean => {
  const digits = digitsOf(part).length
  return digits > 0 && digits * 2 > part.replace(/\s+/g, '').length && !isShortened(part)
}

/** The unconverted text of each role, and the parts without a role. */
interface Roles {
  name: string | undefined
  phone: string | undefined
  email: string | undefined
  readonly rest: string[]
}

function readParts(text: string): Roles {
  const roles: Roles = { name: undefined, phone: undefined, email: undefined, rest: [] }
  const parts = text.split(BETWEEN_PARTS)
  for (let place = 0; place < parts.length; place += 1) {
    const part = parts[place]?.trim()
    if (!part) continue
    const email = looksLikeEmail(part)
    const phone = !email && looksLikePhone(part)
    // A first part with few digits is a name: some companies have numbers as names.
    if (place === 0 && !email && !(phone && digitsOf(part).length >= SHORTEST_DIGITS)) roles.name = part
    else if (email && (roles.email ?? part) === part) roles.email = part
    else if (phone && (roles.phone ?? part) === part) roles.phone = part
    else roles.rest.push(part)
  }
  return roles
}

/** A module may use this codec for an object of the service, whose members can be anything. */
const asPart = (value: unknown): string =>
  typeof value === 'string' ? value.replaceAll(BETWEEN_PARTS, ' ').trim() : ''

/** Name, phone and e-mail in one string, such as `Pat Example~2145550000~~~pat@example.com`. */
export const contactParts = codec(asParts, {
  name: 'contactParts',
  summary: 'Parts joined by ~: the name first, then what looks like a phone number and an email address.',
  decode: (text) => {
    const { name, phone, email } = readParts(text)
    const digits = phone === undefined ? '' : readPhone(phone).digits
    return {
      ...(name !== undefined && { contact_name: name }),
      ...(digits !== '' && { contact_phone: digits }),
      ...(email !== undefined && { contact_email: email }),
    }
  },
  encode: ({ contact_name, contact_phone, contact_email }) => {
    const [name, phone, email] = [asPart(contact_name), asPart(contact_phone), asPart(contact_email)]
    return name || phone || email ? [name, phone, '', '', email].join(BETWEEN_PARTS) : ''
  },
  remark: (text): Remark | undefined => {
    const { phone, rest } = readParts(text)
    const onPhone = phone === undefined ? undefined : remarkOnPhone(phone)
    if (rest.length === 0) return onPhone
    const others = 'parts that are neither the name, the phone number nor the e-mail address'
    return { ...onPhone, loss: onPhone?.loss === undefined ? others : `${onPhone.loss}, and ${others}` }
  },
})

/* States */

/** Returns the code of a state from its code or name; undefined for other text. */
function readState(text: string): string | undefined {
  const letters = text.replace(/[\s.,]+/g, '')
  // This comes first because some foreign letters become two in upper case.
  if (!/^[a-z]+$/i.test(letters)) return undefined
  const upper = letters.toUpperCase()
  return upper.length === 2 ? upper : stateCodes.get(upper)
}

/** A US state as its two letters. */
export const state = codec(asScalar, {
  name: 'state',
  values: Object.fromEntries(stateCodes),
  summary: 'A US state, as two letters or its full name. TBD and N/A count as absent.',
  problem: 'must be a US state such as TX or Texas',
  decode: known((text, fail) => readState(text) ?? fail()),
  encode: String,
  remark: (text) => {
    const code = readState(text)
    return code === undefined || knownStates.has(code) ? undefined : { warning: 'is not a US state or territory' }
  },
})

/* Money */

const CENT_DIGITS = 2

/** A price as most services write it: without leading zeros or anything to round. */
const PLAIN_AMOUNT = /^(0|[1-9]\d{0,14})(?:\.(\d{1,2}))?$/

/** Sign, whole digits (perhaps in groups of three), fraction, exponent. */
const AMOUNT = /^([+-]?)(?:\s*\$\s*)?(\d{1,3}(?:,\d{3})+|\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i

interface Amount {
  readonly negative: boolean
  readonly whole: string
  readonly fraction: string
  readonly exponent: number
  /** The nearest double, for decoding and bounds, never for rounding. */
  readonly near: number
}

function readAmount(value: number | string): Amount | undefined {
  const match = AMOUNT.exec(String(value).trim())
  if (!match) return undefined
  const [, sign, grouped = '', fraction = '', power = '0'] = match
  const whole = grouped.replaceAll(',', '')
  if (whole === '' && fraction === '') return undefined
  const near = Number(`${sign}${whole}.${fraction || '0'}e${power}`)
  // A number beyond the range of a double is not a price, and an exponent of nine digits would fill the memory with zeros.
  if (!Number.isFinite(near)) return undefined
  return { negative: sign === '-', whole, fraction, exponent: Number(power), near }
}

function rounded({ negative, whole, fraction, exponent, near }: Amount): string {
  const digits = whole + fraction
  const kept = whole.length + exponent + CENT_DIGITS
  if (near === 0 || kept < 0) return '0.00'
  const cents = BigInt(digits.slice(0, kept).padEnd(kept, '0')) + (digits.charAt(kept) >= '5' ? 1n : 0n)
  const text = String(cents).padStart(CENT_DIGITS + 1, '0')
  return `${negative && cents > 0n ? '-' : ''}${text.slice(0, -CENT_DIGITS)}.${text.slice(-CENT_DIGITS)}`
}

/**
 * Returns an amount with exactly two decimals, rounded half up on its decimal digits; undefined for anything else.
 *
 * @example
 * twoDecimals(1.005) // '1.01'
 */
export function twoDecimals(value: number | string): string | undefined {
  const plain = PLAIN_AMOUNT.exec(String(value))
  if (plain) return `${plain[1]}.${(plain[2] ?? '').padEnd(CENT_DIGITS, '0')}`
  const amount = readAmount(value)
  return amount && rounded(amount)
}

/** A price: a number in version 2, text with two decimals in version 1. A reply leaves out values that are not amounts. */
export const money = codec(asNumberOrText, {
  name: 'money',
  summary: 'An amount. Version 1 has exactly two decimals, rounded half up.',
  problem: 'must be an amount such as 1234.50',
  decode: (text, fail) => readAmount(text)?.near ?? fail(),
  encode: (value, fail) => twoDecimals(value) ?? fail(),
  passThroughUnknown: false,
})

/* Closed lists */

const folded = (text: string): string => text.replace(/[\s_-]+/g, ' ').toUpperCase()

/** `A`, `A or B`, `A, B or C`. */
const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

/**
 * Makes a codec from a closed table. It ignores case, and `_`, `-` and a run of blanks each count as one blank. A reply keeps a service
 * value that the table lacks, because the service's lists grow.
 *
 * @example
 * choice({ STANDARD: 'std', EXPRESS: 'exp' }, 'speed')
 */
export function choice(table: Readonly<Record<string, string>>, name: string): Codec<Scalar> {
  const entries = Object.entries(table)
  const toV2 = new Map(entries.map(([v1, v2]) => [folded(v1), v2]))
  // Reversed, so that the first of two names for one value is written back.
  const backwards = entries.map(([v1, v2]): [string, string] => [v2, v1]).reverse()
  const toV1 = new Map([...backwards.map(([v2, v1]): [string, string] => [folded(v2), v1]), ...backwards])
  const accepted = listed(Object.keys(table))
  return codec(asScalar, {
    name,
    values: table,
    summary: `${accepted}, in any case.`,
    problem: `must be ${accepted}`,
    decode: (text, fail) => toV2.get(folded(text)) ?? fail(),
    encode: (value) => toV1.get(String(value)) ?? toV1.get(folded(String(value))) ?? String(value),
  })
}

/** The kind of trailer. */
export const equipmentType = choice({ 'OPEN AUTO': 'open', 'ENCLOSED AUTO': 'enclosed' }, 'equipmentType')

/* Addresses */

const COMMA = ', '

/** Joins the lines of an address with commas, without blank lines. */
export function joinStreet(lines: readonly string[]): string {
  return lines
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(COMMA)
}

/** Splits a line of an address at its first comma; the second part is empty if there is none. */
export function splitStreet(text: string): [string, string] {
  const comma = text.indexOf(',')
  return comma < 0 ? [text.trim(), ''] : [text.slice(0, comma).trim(), text.slice(comma + 1).trim()]
}
