import { codec, type Remark } from '../../src/mapping/codec.ts'
import { lossy } from '../../src/mapping/keeps.ts'
import { type Scalar, scalar } from './text.ts'

/** Digits of a US number without its country code. */
const US_DIGITS = 10

/** Digits of the shortest number that an extension can follow: a number without its area code. */
const SHORTEST_DIGITS = 7

/** `x123`, `ext. 5`, `#12`, `;ext=9`; no two neighboring parts match the same blank: it runs in linear time. */
const EXTENSION = /(?:(?<![a-z])(?:extension|extn|ext|x)[\s.:=]*(?:#\s*)?|#\s*)(\d+)/i

const digitsOf = (text: string): string => text.replace(/\D+/g, '')

/** The digits of a phone number, and its extension. */
export interface Phone {
  readonly digits: string
  readonly extension?: string
}

const withoutCountryCode = (text: string): string => {
  const digits = digitsOf(text)
  const national = /^\+\s*1/.test(text) ? digits.slice(1) : digits
  // Some systems put +1 before a number that already has its 1.
  return national.length === US_DIGITS + 1 && national.startsWith('1') ? national.slice(1) : national
}

/** Reads a phone number from free text; `digits` is empty if there is none. */
export function readPhone(text: string): Phone {
  const match = EXTENSION.exec(text)
  const extension = match?.[1]
  if (match && extension !== undefined) {
    const before = text.slice(0, match.index)
    if (digitsOf(before).length >= SHORTEST_DIGITS) return { digits: withoutCountryCode(before), extension }
  }
  return { digits: withoutCountryCode(text) }
}

/** Returns the remarks on a phone number: its lost or odd parts. */
export function remarkOnPhone(text: string): Remark | undefined {
  const { digits, extension } = readPhone(text)
  if (digits === '' || (digits.length === US_DIGITS && extension === undefined)) return undefined
  return {
    ...(extension !== undefined && { loss: `the extension ${extension}` }),
    ...(digits.length !== US_DIGITS && { warning: 'is not a US phone number of ten digits' }),
  }
}

/** Returns the digits of a text; the 1 of the United States is none of the number. */
export const phoneSense = (text: string): string => digitsOf(text).replace(/^1+/, '')

/** A phone number as digits. */
export const phone = codec<Scalar>(scalar, {
  name: 'phone',
  summary:
    'A phone number as digits: the 1 of the United States is dropped, an extension is lost. Text without digits counts as absent.',
  keeps: lossy('an extension, and all that is no digit', phoneSense),
  // Forms send TBD or N/A for an unknown number.
  decode: (text, _fail, leaveOut) => readPhone(text).digits || leaveOut('a phone number without any digit'),
  encode: String,
  remark: remarkOnPhone,
})
