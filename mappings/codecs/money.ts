import { z } from 'zod'
import { codec } from '../../src/language/mapping/codec.ts'
import { lossy } from '../../src/language/mapping/keeps.ts'

const CENT_DIGITS = 2

/** A price as most services write it: nothing to round, and no zeros in front. */
const PLAIN = /^(0|[1-9]\d{0,14})(?:\.(\d{1,2}))?$/

/** Sign, whole digits (perhaps in groups of three), fraction, exponent. */
const AMOUNT = /^([+-]?)(?:\s*\$\s*)?(\d{1,3}(?:,\d{3})+|\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i

interface Amount {
  readonly negative: boolean
  readonly whole: string
  readonly fraction: string
  readonly exponent: number
  /** The nearest double: for decoding and for bounds, never for rounding. */
  readonly near: number
}

function readAmount(value: number | string): Amount | undefined {
  const match = AMOUNT.exec(String(value).trim())
  if (!match) return undefined
  const [, sign, grouped = '', fraction = '', power = '0'] = match
  const whole = grouped.replaceAll(',', '')
  if (whole === '' && fraction === '') return undefined
  const near = Number(`${sign}${whole}.${fraction || '0'}e${power}`)
  // No number beyond the range of a double is a price, and an exponent of nine digits would fill the memory with zeros.
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
 * Returns an amount with exactly two decimals, rounded half up on its decimal digits; undefined for what is no amount.
 *
 * @example
 * twoDecimals(1.005) // '1.01'
 */
export function twoDecimals(value: number | string): string | undefined {
  const plain = PLAIN.exec(String(value))
  if (plain) return `${plain[1]}.${(plain[2] ?? '').padEnd(CENT_DIGITS, '0')}`
  const amount = readAmount(value)
  return amount && rounded(amount)
}

/** A price: a number in version 2, text with two decimals in version 1. A value that is no amount is not answered. */
export const money = codec<number | string>(z.union([z.number(), z.string()]), {
  name: 'money',
  summary: 'An amount. Version 1 has exactly two decimals, rounded half up.',
  problem: 'must be an amount such as 1234.50',
  keeps: lossy("fractions of a cent, and digits beyond a double's", (text) =>
    String(Number(text.replace(/[$,\s]/g, ''))),
  ),
  decode: (text, fail) => readAmount(text)?.near ?? fail(),
  encode: (value, fail) => twoDecimals(value) ?? fail(),
  passThroughUnknown: false,
})
