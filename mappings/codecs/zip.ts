import { z } from 'zod'
import { codec, type Remark } from '../../src/language/mapping/codec.ts'
import { canonical, lettersAndDigits, lossy } from '../../src/language/mapping/keeps.ts'
import { leftOutIfNotKnown, withoutFraction } from './text.ts'

const ZIP_DIGITS = 5

/** Five digits and perhaps four more; word processors lengthen the dash between them. */
const ZIP = /^(\d{5})(?:(?:\s*[-–—]\s*|\s*)(\d{4}))?$/
const ZIP_WITH_SPREAD_DASH = /^(\d{5})\s*-\s*(\d{4})$/
const WITHOUT_LEADING_ZEROS = /^\d{3,4}$/

/** The same among words, as in `NY 10314`. */
const ZIP_AMONG_WORDS = /(?<![\p{L}\p{N}])(\d{5})(?:-(\d{4}))?(?![\p{L}\p{N}])/u
const FIVE_DIGITS = /(?<!\d)\d{5}(?!\d)/g

/** Finds the ZIP among words: the only group of five digits. */
function zipAmongWords(text: string): RegExpExecArray | null {
  const isOnly = /\p{L}/u.test(text) && text.match(FIVE_DIGITS)?.length === 1
  return isOnly ? ZIP_AMONG_WORDS.exec(text) : null
}

const zipSense = (text: string): string => lettersAndDigits(zipAmongWords(text)?.[0] ?? withoutFraction(text))

const LEADING_ZEROS_LOST: Remark = { assumed: 'leading zeros that got lost on the way' }

const remarkOnZeros = (text: string): Remark | undefined =>
  WITHOUT_LEADING_ZEROS.test(text) ? LEADING_ZEROS_LOST : undefined

const WORDS = 'the words around the ZIP'

const padded = (value: number | string): string => String(value).padStart(ZIP_DIGITS, '0')

/** Puts back the zeros of `2134`. Other text that the service may send, such as `75201-1234`, stays as it is. */
const zipText = (value: number | string): string => {
  const text = withoutFraction(String(value))
  return /^\d{1,4}$/.test(text) ? padded(text) : text
}

/** A US ZIP: an integer in version 2, which cannot hold the extension of a ZIP+4. */
export const zipcode = codec<number | string>(z.union([z.number(), z.string()]), {
  name: 'zipcode',
  summary:
    'A US ZIP: an integer in version 2, five digits in version 1. A ZIP+4 extension and surrounding words are lost. TBD and N/A count as absent.',
  problem: 'must be a US ZIP code such as 75201 or 75201-1234',
  keeps: lossy('a ZIP+4 extension, and words around the ZIP', zipSense),
  decode: (sent, fail, leaveOut) => {
    leftOutIfNotKnown(sent, leaveOut)
    const text = withoutFraction(sent)
    const digits = WITHOUT_LEADING_ZEROS.test(text) ? text : (ZIP.exec(text) ?? zipAmongWords(text))?.[1]
    const zip = Number(digits ?? 0)
    // Forms send 00000 for an unknown ZIP; no place has it.
    return zip > 0 ? zip : fail()
  },
  encode: zipText,
  remark: (text) => {
    const words = zipAmongWords(text)
    const extension = (words ?? ZIP.exec(withoutFraction(text)))?.[2]
    const lost = [...(extension === undefined ? [] : [`the ZIP+4 extension ${extension}`]), ...(words ? [WORDS] : [])]
    return lost.length === 0 ? remarkOnZeros(withoutFraction(text)) : { loss: lost.join(', and ') }
  },
})

/** A postal code of any country as text; only a US ZIP is normalized. */
export const quoteZip = codec<number | string>(z.union([z.number(), z.string()]), {
  name: 'quoteZip',
  summary:
    'A postal code, unchanged. A US ZIP regains lost leading zeros and loses surrounding words. TBD and N/A count as absent.',
  keeps: canonical('a US ZIP with all its zeros, a plain dash, and no words', zipSense),
  decode: (sent, _fail, leaveOut) => {
    leftOutIfNotKnown(sent, leaveOut)
    const text = zipAmongWords(sent)?.[0] ?? withoutFraction(sent)
    return WITHOUT_LEADING_ZEROS.test(text) ? padded(text) : text.replace(ZIP_WITH_SPREAD_DASH, '$1-$2')
  },
  encode: (value) => {
    const text = withoutFraction(String(value))
    return text === value ? value : padded(text)
  },
  remark: (text) => (zipAmongWords(text) ? { loss: WORDS } : remarkOnZeros(withoutFraction(text))),
})
