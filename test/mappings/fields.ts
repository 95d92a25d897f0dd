import fc from 'fast-check'
import { NAUGHTY } from '../calls/naughty-values.ts'
import { anyCharacter } from '../laws.ts'

/** Texts that at least one codec reads. */
export const READABLE = [
  ...['75201', '2134-1234', '(214) 555-0000', '1-800-FLOWERS', 'TX', 'new york', 'D.C.', '2023', '1FDXE4FN9PDD32477'],
  ...['$1,234.50', '12.345', 'OPEN AUTO', 'enclosed', 'BOX TRUCK', 'Pat Example~2145550000~~~pat@example.com'],
]

const word = fc.string({ unit: fc.constantFrom(...'ABCDEFGHXYZabcxyz ,.-~@ß'), maxLength: 12 })
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 12 })

/** Texts in the engine's form, similar to what the codecs look for. */
export const anyField: fc.Arbitrary<string> = fc
  .oneof(
    fc.constantFrom(...NAUGHTY.filter((one) => one.length < 1_000)),
    fc.constantFrom(...READABLE),
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: anyCharacter }),
    word,
    digits,
    fc.string({ unit: fc.constantFrom(...'0123456789 -.+,$#~@xeXE()/NYny') }),
    fc.stringMatching(/^\d{3,5}( ?[-–]? ?\d{4})?$/),
    fc.stringMatching(/^(\+1 ?)?\(?[2-9]\d\d\)?[ -]?\d{3}-\d{4}( ?(x|ext\.?|#) ?\d{1,4})?$/),
    fc.stringMatching(/^(19|20)\d\d(\.0)?$/),
    fc.stringMatching(/^\$?\d{1,3}(,\d{3}){0,2}(\.\d{1,4})?$/),
    fc.stringMatching(/^[A-HJ-NPR-Z0-9]{16,17}$/),
    fc
      .tuple(word, digits, fc.constantFrom('', 'pat@example.com', 'a@b'), fc.constantFrom('', 'x', 'other words'))
      .map(([name, phone, email, rest]) => [name, phone, rest, '', email].join('~')),
  )
  .map((text) => text.trim())
  .filter((text) => text !== '')
