import { z } from 'zod'
import { codec, type LeaveOut } from '../../src/language/mapping/codec.ts'
import { exact } from '../../src/language/mapping/keeps.ts'
import { isNotKnown } from '../../src/language/text/service-text.ts'

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

/** Leaves a text such as `TBD` out. */
export function leftOutIfNotKnown(text: string, leaveOut: LeaveOut): void {
  if (isNotKnown(text)) leaveOut('a word for a value that is not known yet')
}

/** An e-mail address, unchanged. */
export const email = codec<Scalar>(scalar, {
  name: 'email',
  summary: 'Text, unchanged. TBD and N/A count as absent.',
  keeps: exact,
  decode: (value, _fail, leaveOut) => {
    leftOutIfNotKnown(value, leaveOut)
    return value
  },
  encode: String,
})

/** Returns a whole number without the fraction of zeros that a spreadsheet adds. */
export const withoutFraction = (text: string): string => text.replace(/^(\d+)\.0+$/, '$1')
