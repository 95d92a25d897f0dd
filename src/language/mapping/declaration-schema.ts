import { z } from 'zod'
import { isObject } from '../text/json.ts'
import { type Action, type Alternative, VERBS } from './action.ts'
import type { Callback } from './callback.ts'
import type { Fallback, QuoteFact, Row } from './row.ts'

/*
 * The shape of a declaration. The compiler checks the built-in declarations. An operator's module is plain JavaScript, and a mistake in it
 * must show at the start, not at the first call.
 */

const anyText = z.string('must be a string')
const text = anyText.min(1, 'must not be empty')
const texts = z.array(text, 'must be a list of strings')
const flag = z.boolean('must be true or false')
const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, `must be ${values.join(' or ')}`)
const byText = z.record(z.string(), anyText, 'must be an object of strings')
const fn = z.custom((value) => typeof value === 'function', 'must be a function')

/** An object with these keys and no others. */
const part = <T extends z.core.$ZodLooseShape>(shape: T, expected = 'must be an object') =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => `${key} is not a key`).join('; ') : expected,
  })

const codec = z.object(
  {
    name: text,
    summary: anyText,
    decode: fn,
    encode: fn,
    remark: fn.optional(),
    passThroughUnknown: flag.optional(),
    values: z.record(text, text).optional(),
  },
  'must be a codec',
)
const joiner = part({ name: text, summary: anyText, join: fn, split: fn }, 'must be a joiner')

const quoteFact: z.ZodType<QuoteFact> = part({ kind: z.literal('quoteFact'), facts: texts })
const fallback: z.ZodType<Fallback> = z.union(
  [
    quoteFact,
    part({
      kind: oneOf(['setting', 'assumedAgain']),
      setting: oneOf(['transport_type', 'vehicle_type']),
    }),
    part({ kind: z.literal('guess'), v1: texts }),
  ],
  'must be quoteFact(…), setting(…), assumedAgain(…) or guess(…)',
)
const fallbacks = z.array(fallback, 'must be a list of fallbacks')

const when = part({ is: oneOf(['present', 'absent', 'several']), v2: text })
const rows = {
  move: { v1: text, v2: text, codec, required: flag, fallbacks },
  split: { v1: text, v2: byText, codec },
  join: { v1: texts, v2: text, joiner },
  lookup: {
    sources: z.array(part({ v1: text, by: oneOf(['wholeValue', 'phraseIn']) }), 'must be a list of sources'),
    v2: text,
    table: text,
    fallbacks,
  },
  fromQuote: { v2: text, fallbacks, onlyWith: oneOf(['send_quote_id']).optional() },
  ref: { v1: text, why: anyText },
  callerNumber: { v1: text, v2: text },
  fixed: { v1: text, value: anyText },
  choose: { v1: text, v2: text, cases: byText, default: anyText },
  message: { v1: text, sentences: z.array(part({ text, when: when.optional() }), 'must be a list of sentences') },
  v1Only: { v1: text, why: anyText },
  v2Only: { v2: text, why: anyText, setByService: flag },
} satisfies Readonly<Record<Row['kind'], z.core.$ZodLooseShape>>

const [first, ...others] = Object.entries(rows).map(([kind, members]) => part({ kind: z.literal(kind), ...members }))
const row = z.discriminatedUnion(
  'kind',
  // There are twelve kinds, so there is a first one.
  [first as NonNullable<typeof first>, ...others],
  {
    error: ({ input }) =>
      Array.isArray(input) ? 'is a list; spread it with ...' : 'is not a row; use the constructors',
  },
)
const section = z.array(row, 'must be a list of rows')

const alternative: z.ZodType<Alternative> = z.union([texts, quoteFact], 'must be a list of fields or quoteFact(…)')
const kind = oneOf(['quote', 'shipment'])

const declaration = part(
  {
    name: text,
    verb: oneOf(VERBS),
    summary: text,
    family: kind,
    legacy: part({
      method: oneOf(['GET', 'POST']),
      paths: texts,
      actionNames: z.union([z.literal('any'), texts], "must be a list of strings, or 'any'"),
      byDefault: flag.optional(),
    }),
    service: part({
      method: oneOf(['GET', 'POST', 'PUT', 'DELETE']),
      path: text,
    }),
    target: part({ kind, namedBy: texts }).optional(),
    quoteNamedBy: texts.optional(),
    givesNames: texts.optional(),
    requires: z.array(part({ anyOf: z.array(alternative) }), 'must be a list of anyOf(…)').optional(),
    refuses: z
      .array(
        part({ fields: z.instanceof(RegExp, { error: 'must be a pattern' }), code: text, problem: text }),
        'must be a list of refusals',
      )
      .optional(),
    request: section,
    remember: section.optional(),
    reply: section,
    example: part({ request: byText, reply: z.json() }, 'must have a request and a reply'),
  },
  'the default export is not an action, a list of actions, or a function that returns them',
)

const callbackDeclaration = part({
  kind: z.literal('callback'),
  name: text,
  summary: text,
  events: z.union([z.literal('any'), texts], "must be a list of strings, or 'any'"),
  fields: section,
  example: part({ shipment_id: text, event: text, event_date: text, data: z.json().optional() }),
})

/** Returns the errors in a declaration's shape, one line each; none if it is an action or a callback. */
export function shapeMistakes(candidate: unknown): readonly string[] {
  const parsed = (memberOf(candidate, 'kind') === 'callback' ? callbackDeclaration : declaration).safeParse(candidate)
  const name = memberOf(candidate, 'name')
  return (parsed.error?.issues ?? []).map(({ path, message: said }) => {
    const place = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
    return [typeof name === 'string' && name, place.slice(1), said].filter(Boolean).join(': ')
  })
}

/** Reports whether a value has the shape of a declaration. */
export const isDeclaration = (candidate: unknown): candidate is Action | Callback =>
  shapeMistakes(candidate).length === 0

const memberOf = (candidate: unknown, name: string): unknown => (isObject(candidate) ? candidate[name] : undefined)
