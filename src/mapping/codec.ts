import { z } from 'zod'
import type { Keeps } from './keeps.ts'

/** A remark on a conversion, shown by the dry run; never an error. */
export interface Remark {
  /** The lost part, such as the extension of a ZIP+4. */
  readonly loss?: string
  /** The assumption, such as a leading zero that the caller's system dropped. */
  readonly assumed?: string
  /** The suspicious part of a value that is sent on all the same. */
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
   * Decodes without zod, which would cost every field of every call. Returns a `Failed` for text that cannot be read,
   * and a `LeftOut` for text that counts as absent.
   * @default the schema decodes
   */
  readonly decode?: (text: string) => T | Failed | LeftOut
  /**
   * Encodes without zod, for the same reason; returns a `Failed` for a value that is not of this codec.
   * @default the schema encodes
   */
  readonly encode?: (value: unknown) => string | Failed
  /** The end of the sentence `<field> …` for a text that cannot be read, such as `must be a US state`. */
  readonly problem?: string
  /** Returns the remarks on decoding this string: its losses and assumptions. Only explained runs call it. */
  readonly remark?: (before: string) => Remark | undefined
  /**
   * Answers a value of the service that the codec does not know as it is: the service's lists grow.
   * @default true
   */
  readonly passThroughUnknown?: boolean
  /**
   * The part of a value that its round trip keeps.
   * @default not declared, and not shown
   */
  readonly keeps?: Keeps
}

/** Ends a conversion with a problem; the caller reads `<field> <problem>`, by default the codec's own. */
export type Fail = (problem?: string) => never
/** Ends a conversion without a value: the field counts as absent, and a dry run says why. */
export type LeaveOut = (why: string) => never

/** The two halves of a conversion. `decode` receives a trimmed string that is never empty. */
export interface Conversion<T> {
  readonly name: string
  readonly summary: string
  readonly problem?: string
  readonly decode: (text: string, fail: Fail, leaveOut: LeaveOut) => T
  readonly encode: (value: T, fail: Fail) => string
  readonly remark?: (before: string) => Remark | undefined
  readonly passThroughUnknown?: boolean
  readonly keeps?: Keeps
}

/** The reason why a value cannot be converted. */
export class Failed extends Error {}
/** The reason why a value counts as absent. */
export class LeftOut extends Error {}

const leaveOut: LeaveOut = (why) => {
  throw new LeftOut(why)
}

const isReason = (error: unknown): error is Failed | LeftOut => error instanceof Failed || error instanceof LeftOut

/** Makes the function that ends a codec's conversion with a problem. */
const failWith =
  (standard = 'cannot be read'): Fail =>
  (problem = standard) => {
    throw new Failed(problem)
  }

/** Turns a failure into an issue: a throw would escape zod's safeDecode and safeEncode. */
function caught<From, To>(convert: (value: From, fail: Fail, leaveOut: LeaveOut) => To, fail: Fail) {
  return (value: From, ctx: z.core.ParsePayload<From>): To => {
    try {
      return convert(value, fail, leaveOut)
    } catch (error) {
      if (!isReason(error)) throw error
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
  const fail = failWith(rest.problem)
  const schema = z.codec(z.string(), v2 as z.ZodType<T, T>, {
    decode: caught(decode, fail),
    encode: caught(encode, fail),
  })
  const decodeQuickly = (text: string) => {
    try {
      return decode(text, fail, leaveOut)
    } catch (error) {
      if (isReason(error)) return error
      throw error
    }
  }
  const isOfType = typeCheck(v2)
  const encodeQuickly =
    isOfType &&
    ((value: unknown) => {
      if (!isOfType(value)) return new Failed()
      try {
        const text: unknown = encode(value, fail)
        return typeof text === 'string' ? text : new Failed()
      } catch (error) {
        if (error instanceof Failed) return error
        throw error
      }
    })
  return { ...rest, schema, decode: decodeQuickly, ...(encodeQuickly && { encode: encodeQuickly }) }
}

/** Returns the check of a schema that asks for types only; undefined for any other schema, which zod has to check. */
function typeCheck<T>(schema: z.ZodType<T>): ((value: unknown) => value is T) | undefined {
  const types = scalarTypes(schema)
  if (types) return (value): value is T => types.includes(typeof value) && isFiniteIfNumber(value)
  return asksForTexts(schema) ? (value): value is T => isRecordOfTexts(value) : undefined
}

/** Returns true for a schema of any record of text. */
function asksForTexts(schema: z.core.$ZodType): boolean {
  return (
    schema instanceof z.ZodRecord &&
    [schema.keyType, schema.valueType].every((part) => scalarTypes(part)?.join() === 'string')
  )
}

function isRecordOfTexts(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  for (const part of Object.values(value)) if (typeof part !== 'string') return false
  return true
}

const isFiniteIfNumber = (value: unknown) => typeof value !== 'number' || Number.isFinite(value)

function scalarTypes(schema: z.core.$ZodType): readonly string[] | undefined {
  if (schema instanceof z.ZodUnion) {
    const types = schema.options.map(scalarTypes)
    return types.every((type) => type !== undefined) ? types.flat() : undefined
  }
  const isBare = !('format' in schema._zod.def) && (schema._zod.def.checks ?? []).length === 0
  if (!isBare) return undefined
  if (schema instanceof z.ZodString) return ['string']
  if (schema instanceof z.ZodNumber) return ['number']
  return schema instanceof z.ZodBoolean ? ['boolean'] : undefined
}
