import { z } from 'zod'
import { type Codec, Failed, LeftOut } from '../mapping/codec.ts'
import type { Row } from '../mapping/row.ts'
import { fieldsOf } from '../mapping/row-parts.ts'

/** How the values of a field are compared. */
export type Same = (one: string, other: string) => boolean

const sameText: Same = (one, other) => one === other

/** Text for people is written anew by each side. Only its presence is compared. */
const bothPresent: Same = () => true

/** Compares what the values mean: `1234.5` and `1234.50` are one amount. A value that the codec cannot carry is text. */
function sameMeaning(codec: Codec): Same {
  return (one, other) => {
    if (one === other) return true
    const [first, second] = [canonical(codec, one), canonical(codec, other)]
    return first !== undefined && first === second
  }
}

/** Returns the value as the codec itself writes it; undefined where that would lose something. */
function canonical(codec: Codec, text: string): string | undefined {
  if (codec.remark?.(text)?.loss !== undefined) return undefined
  const value = codec.decode ? codec.decode(text) : z.safeDecode(codec.schema, text).data
  if (value === undefined || value instanceof Failed || value instanceof LeftOut) return undefined
  const written = codec.encode ? codec.encode(value) : z.safeEncode(codec.schema, value).data
  return typeof written === 'string' ? written : undefined
}

/** The comparison of each field of an action's reply, by its name. */
export type Comparisons = ReadonlyMap<string, Same>

/** Returns how the fields of a reply are compared: by the codecs of the rows that make them. */
export function comparisonsOf(reply: readonly Row[]): Comparisons {
  return new Map(reply.flatMap((row) => fieldsOf(row).map((field) => [field, comparisonOf(row)] as const)))
}

function comparisonOf(row: Row): Same {
  if (row.kind === 'move') return sameMeaning(row.codec)
  return row.kind === 'message' ? bothPresent : sameText
}
