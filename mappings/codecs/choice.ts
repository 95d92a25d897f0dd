import { type Codec, codec } from '../../src/language/mapping/codec.ts'
import { canonical } from '../../src/language/mapping/keeps.ts'
import { type Scalar, scalar } from './text.ts'

const folded = (text: string): string => text.replace(/[\s_-]+/g, ' ').toUpperCase()

/** `A`, `A or B`, `A, B or C`. */
const listed = (names: readonly string[]): string =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`

/**
 * Makes a codec of a closed table: any case, and `_`, `-` or a run of blanks is one blank. A value of the service that the
 * table lacks is answered as it is: the service's lists grow.
 *
 * @example
 * choice({ STANDARD: 'std', EXPRESS: 'exp' }, 'speed')
 */
export function choice(table: Readonly<Record<string, string>>, name: string): Codec<Scalar> {
  const entries = Object.entries(table)
  const toV2 = new Map(entries.map(([v1, v2]) => [folded(v1), v2]))
  // Reversed: of two names for one value, the first is written back.
  const toV1 = new Map<Scalar, string>(entries.map(([v1, v2]): [string, string] => [v2, v1]).reverse())
  const accepted = listed(Object.keys(table))
  return codec<Scalar>(scalar, {
    name,
    values: table,
    summary: `${accepted}, in any case.`,
    problem: `must be ${accepted}`,
    keeps: canonical(accepted, (text) => String(toV2.get(folded(text)) ?? text)),
    decode: (text, fail) => toV2.get(folded(text)) ?? fail(),
    encode: (value) => toV1.get(value) ?? String(value),
  })
}

/** The kind of trailer. */
export const equipmentType = choice({ 'OPEN AUTO': 'open', 'ENCLOSED AUTO': 'enclosed' }, 'equipmentType')
