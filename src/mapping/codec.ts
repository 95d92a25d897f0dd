import { z } from 'zod'

/** What a conversion did besides converting: shown by the dry run, never an error. */
export interface Remark {
  /** What version 2 cannot hold, such as the extension of a ZIP+4. */
  readonly loss?: string
  /** What was taken to be meant, such as a leading zero that got lost on the way. */
  readonly assumed?: string
  /** What looks wrong but is passed on. */
  readonly warning?: string
}

/** A named two-way conversion between a version-1 string and a version-2 value. */
export interface Codec<T = unknown> {
  /** The rule's name in explanations, problems and docs. */
  readonly name: string
  /** One sentence for the mapping reference. */
  readonly summary: string
  /** Decodes version 1 to version 2 and encodes back. */
  readonly schema: z.ZodType<T, string>
  /**
   * Decodes without going through zod, which a call would pay for field by field; the types of `codec` say the same as its
   * schema. Answers a `Failed` where the text cannot be read.
   * @default the schema decodes
   */
  readonly decode?: (text: string) => T | Failed
  /** Says what decoding this string loses or assumes; called by explained runs only. */
  readonly remark?: (before: string) => Remark | undefined
  /**
   * Whether what cannot be encoded is passed on as it is, as the service's lists grow.
   * @default true
   */
  readonly passesOn?: boolean
}

/** Ends a conversion with a problem: the caller is told `<field> <message>`. */
export type Fail = (message: string) => never

/** The conversion's two halves. `decode` gets a trimmed string that is never empty. */
export interface Conversion<T> {
  readonly name: string
  readonly summary: string
  readonly decode: (text: string, fail: Fail) => T
  readonly encode: (value: T, fail: Fail) => string
  readonly remark?: (before: string) => Remark | undefined
  readonly passesOn?: boolean
}

/** Why a value cannot be converted. */
export class Failed extends Error {}

const fail: Fail = (message) => {
  throw new Failed(message)
}

/** A throw would escape zod's safeDecode and safeEncode, so it becomes an issue here. */
function caught<From, To>(convert: (value: From, fail: Fail) => To) {
  return (value: From, ctx: z.core.ParsePayload<From>): To => {
    try {
      return convert(value, fail)
    } catch (error) {
      if (!(error instanceof Failed)) throw error
      ctx.issues.push({ code: 'custom', message: error.message, input: value })
      return z.NEVER
    }
  }
}

/**
 * Makes a codec from two plain functions.
 *
 * @example
 * codec(z.number().int(), { name: 'year', summary: '…', decode: (text, fail) => …, encode: String })
 */
export function codec<T>(v2: z.ZodType<T>, { decode, encode, ...rest }: Conversion<T>): Codec<T> {
  const schema = z.codec(z.string(), v2 as z.ZodType<T, T>, {
    decode: caught(decode),
    encode: caught(encode),
  })
  const quick = (text: string) => {
    try {
      return decode(text, fail)
    } catch (error) {
      if (error instanceof Failed) return error
      throw error
    }
  }
  return { ...rest, schema, decode: quick }
}
