import { z } from 'zod'
import { codec } from '../../src/mapping/codec.ts'

/** A plain value as the service may send it: a number or boolean where text is documented is no error. */
export const scalar = z.union([z.string(), z.number(), z.boolean()])

/** A plain value of version 2. */
export type Scalar = z.infer<typeof scalar>

/** Text as it is. */
export const text = codec<Scalar>(scalar, {
  name: 'text',
  summary: 'Text, passed on as it is.',
  decode: (value) => value,
  encode: String,
})
