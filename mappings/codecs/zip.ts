import { z } from 'zod'
import { codec, type Remark } from '../../src/mapping/codec.ts'
import { canonical, lettersAndDigits, lossy } from '../../src/mapping/keeps.ts'
import { withoutFraction } from './text.ts'

const ZIP_DIGITS = 5

/** Five digits and perhaps four more; word processors lengthen the dash between them. */
const ZIP = /^(\d{5})(?:(?:\s*[-–—]\s*|\s*)(\d{4}))?$/
const ZIP_WITH_SPREAD_DASH = /^(\d{5})\s*-\s*(\d{4})$/
const WITHOUT_LEADING_ZEROS = /^\d{3,4}$/

const zipSense = (text: string): string => lettersAndDigits(withoutFraction(text))

const LEADING_ZEROS_LOST: Remark = { assumed: 'leading zeros that got lost on the way' }

const remarkOnZeros = (text: string): Remark | undefined =>
  WITHOUT_LEADING_ZEROS.test(text) ? LEADING_ZEROS_LOST : undefined

const padded = (value: number | string): string => String(value).padStart(ZIP_DIGITS, '0')

/** Puts back the zeros of `2134`. Other text that the service may send, such as `75201-1234`, stays as it is. */
const zipText = (value: number | string): string => (/^\d{1,4}$/.test(String(value)) ? padded(value) : String(value))

/** A US ZIP: an integer in version 2, which cannot hold the extension of a ZIP+4. */
export const zipcode = codec<number | string>(z.union([z.number(), z.string()]), {
  name: 'zipcode',
  summary: 'A US ZIP: an integer in version 2, five digits in version 1; the extension of a ZIP+4 is lost.',
  problem: 'must be a US ZIP code such as 75201 or 75201-1234',
  keeps: lossy('the extension of a ZIP+4', zipSense),
  decode: (sent, fail) => {
    const text = withoutFraction(sent)
    const digits = WITHOUT_LEADING_ZEROS.test(text) ? text : ZIP.exec(text)?.[1]
    const zip = Number(digits ?? 0)
    // Forms send 00000 for an unknown ZIP; no place has it.
    return zip > 0 ? zip : fail()
  },
  encode: zipText,
  remark: (text) => {
    const extension = ZIP.exec(text)?.[2]
    return extension === undefined ? remarkOnZeros(withoutFraction(text)) : { loss: `the ZIP+4 extension ${extension}` }
  },
})

/** A postal code of any country as text; only a US ZIP is normalized. */
export const quoteZip = codec<number | string>(z.union([z.number(), z.string()]), {
  name: 'quoteZip',
  summary: 'A postal code, passed on as it is; a US ZIP of three or four digits gets its leading zeros back.',
  keeps: canonical('a US ZIP has all its zeros, and a plain dash before its extension', zipSense),
  decode: (sent) => {
    const text = withoutFraction(sent)
    return WITHOUT_LEADING_ZEROS.test(text) ? padded(text) : text.replace(ZIP_WITH_SPREAD_DASH, '$1-$2')
  },
  encode: (value) => (typeof value === 'number' ? padded(value) : value),
  remark: (text) => remarkOnZeros(withoutFraction(text)),
})
