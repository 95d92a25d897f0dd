import { codec } from '../../src/language/mapping/codec.ts'
import { canonical } from '../../src/language/mapping/keeps.ts'
import { leftOutIfNotKnown, type Scalar, scalar, withoutFraction } from './text.ts'

/** The year of the first car. */
const FIRST_YEAR = 1886

/** Next year's models are sold this year; one more year is for early orders. */
const YEARS_AHEAD = 2

const YEAR = /^\d{4}$/

/** Seventeen capitals and digits, without I, O and Q, which look like digits. */
const VIN = /^[A-HJ-NPR-Z0-9]{17}$/

const latestYear = (): number => new Date().getUTCFullYear() + YEARS_AHEAD

const withoutBlanks = (text: string): string => text.replace(/\s+/g, '').toUpperCase()

/** Between two VINs in one field. */
const BETWEEN_VINS = /[^a-z0-9]+/i
const TWO_VINS = /^[A-HJ-NPR-Z0-9]{34}$/

/** Reports whether a text holds several VINs, with or without something between them. */
const hasSeveral = (text: string): boolean =>
  TWO_VINS.test(withoutBlanks(text)) ||
  text
    .toUpperCase()
    .split(BETWEEN_VINS)
    .filter((part) => VIN.test(part)).length > 1

/** A model year as an integer. */
export const year = codec<Scalar>(scalar, {
  name: 'year',
  summary: 'A model year of four digits, from 1886 to the year after next. TBD and N/A count as absent.',
  problem: 'must be a year of four digits, from 1886 to the year after next',
  keeps: canonical('four digits', (text) => text.replace(/\.0+$/, '')),
  decode: (text, fail, leaveOut) => {
    leftOutIfNotKnown(text, leaveOut)
    const value = Number(YEAR.exec(withoutFraction(text))?.[0])
    return value >= FIRST_YEAR && value <= latestYear() ? value : fail()
  },
  encode: (value) => withoutFraction(String(value)),
})

/** A vehicle identification number; the check digit is not enforced. */
export const vin = codec<Scalar>(scalar, {
  name: 'vin',
  summary:
    'A VIN in uppercase without spaces. An unusual VIN is sent anyway; several are refused. TBD and N/A count as absent.',
  problem: 'has several VINs: send one booking for each vehicle',
  keeps: canonical('uppercase without spaces'),
  decode: (text, fail, leaveOut) => {
    leftOutIfNotKnown(text, leaveOut)
    return hasSeveral(text) ? fail() : withoutBlanks(text)
  },
  encode: String,
  // No problem: vehicles from before 1981 have other numbers.
  remark: (text) =>
    VIN.test(withoutBlanks(text)) ? undefined : { warning: 'is not 17 characters of the VIN alphabet' },
})
