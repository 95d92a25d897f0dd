/** A remark on a conversion, shown by the dry run; never an error. */
export interface Remark {
  /** The lost part, such as the extension of a ZIP+4. */
  readonly loss?: string
  /** The assumption, such as a leading zero that the caller's system dropped. */
  readonly assumed?: string
  /** The suspicious part of a value that is sent on anyway. */
  readonly warning?: string
}

/** The description of a conversion. */
interface Rule {
  /** The rule's name in explanations, problems and docs. */
  readonly name: string
  /** One sentence for the mapping reference. */
  readonly summary: string
  /** The end of the sentence `<field> …` for unreadable text, such as `must be a US state`. */
  readonly problem?: string
  /** Returns the remarks on decoding this string: losses and assumptions. Called only to explain a run. */
  readonly remark?: (before: string) => Remark | undefined
  /**
   * Answers a service value that the codec does not know unchanged, because the service's lists grow.
   * @default true
   */
  readonly passThroughUnknown?: boolean
  /** The version-1 texts and what each means, if they are a list. @default not listed */
  readonly values?: Readonly<Record<string, string>>
}

/** A named two-way conversion between a version-1 string and a version-2 value. */
export interface Codec<T = unknown> extends Rule {
  /** Decodes version 1 to version 2. Returns a `Failed` for unreadable text, and a `LeftOut` for text that counts as absent. */
  readonly decode: (text: string) => T | Failed | LeftOut
  /** Encodes version 2 to version 1; returns a `Failed` for a value that is not one of this codec's. */
  readonly encode: (value: unknown) => string | Failed
}

/** Ends a conversion with a problem. The caller reads `<field> <problem>`, by default the codec's own. */
export type Fail = (problem?: string) => never
/** Ends a conversion without a value: the field counts as absent, and a dry run says why. */
export type LeaveOut = (why: string) => never

/** The two halves of a conversion. `decode` receives a trimmed string that is never empty. */
export interface Conversion<T> extends Rule {
  readonly decode: (text: string, fail: Fail, leaveOut: LeaveOut) => T
  readonly encode: (value: T, fail: Fail) => string
}

/** The reason why a value cannot be converted. */
export class Failed extends Error {}
/** A value of version 2 that is not one of a codec's. */
export const NOT_OWN = new Failed()
/** The reason why a value counts as absent. */
export class LeftOut extends Error {}

const leaveOut: LeaveOut = (why) => {
  throw new LeftOut(why)
}

/**
 * Makes a codec from two plain functions. `asOwn` returns a value of version 2 if it is one of this codec's, else `NOT_OWN`. It is no schema,
 * because a reply has dozens of values, and each call has a reply.
 *
 * @example
 * codec(asScalar, { name: 'year', summary: '…', decode: (text, fail) => …, encode: String })
 */
export function codec<T>(asOwn: (value: unknown) => T | Failed, { decode, encode, ...rest }: Conversion<T>): Codec<T> {
  const fail: Fail = (problem = rest.problem ?? 'cannot be read') => {
    throw new Failed(problem)
  }
  return {
    ...rest,
    decode: (text) => {
      try {
        return decode(text, fail, leaveOut)
      } catch (error) {
        if (error instanceof Failed || error instanceof LeftOut) return error
        throw error
      }
    },
    encode: (value) => {
      const own = asOwn(value)
      if (own instanceof Failed) return own
      try {
        const text: unknown = encode(own, fail)
        return typeof text === 'string' ? text : new Failed()
      } catch (error) {
        if (error instanceof Failed) return error
        throw error
      }
    },
  }
}
