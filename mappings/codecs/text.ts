import { z } from 'zod'
import { codec } from '../../src/mapping/codec.ts'
import { exact } from '../../src/mapping/keeps.ts'

/** A plain value of the service: a number or boolean in place of documented text is no error. */
export const scalar = z.union([z.string(), z.number(), z.boolean()])

/** A plain value of version 2. */
export type Scalar = z.infer<typeof scalar>

/** Text, unchanged. */
export const text = codec<Scalar>(scalar, {
  name: 'text',
  summary: 'Text, unchanged.',
  keeps: exact,
  decode: (value) => value,
  encode: String,
})
