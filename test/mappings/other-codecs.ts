import { z } from 'zod'
import { equipmentType, money, phone, quoteZip, state, text, vin, year, zipcode } from '../../mappings/codecs.ts'
import type { Codec } from '../../src/mapping/codec.ts'

/** The codecs of single values. */
const codecs: readonly Codec[] = [text, zipcode, quoteZip, phone, state, year, vin, money, equipmentType]

/** Values that show how a codec writes. */
const WRITTEN = ['x', 'open', '2134', 2134, '75201-1234']

const writes = ({ schema }: Codec) => JSON.stringify(WRITTEN.map((value) => z.safeEncode(schema, value).data))

/**
 * Returns the codecs that a mutant of a row has instead. A reply only writes: text, phone numbers, states, years and VINs as they
 * are.
 */
export const replacements = (codec: Codec, section: 'request' | 'remember' | 'reply'): readonly Codec[] =>
  codecs.filter((other) => other !== codec && (section !== 'reply' || writes(other) !== writes(codec)))
