import { z } from 'zod'
import type { Action } from './action.ts'
import type { Fallback, Row } from './row.ts'

/*
 * What a declaration has to look like before its rows can be checked. The shipped ones are checked by the compiler; an
 * operator's module is plain JavaScript, and a mistake in it must not wait for the first call to show.
 */

const text = z.string('must be a text').min(1, 'must not be empty')
const texts = z.array(text, 'must be a list of texts')
const flag = z.boolean('must be true or false')
const oneOf = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.enum(words, `must be ${words.join(' or ')}`)
const byText = z.record(z.string(), z.string('must be a text'), 'must be an object of texts')
/** Its message is for what is no object at all; an unknown key keeps a message of its own. */
const part = <T extends z.core.$ZodLooseShape>(shape: T, message = 'must be an object') =>
  z.strictObject(shape, { error: ({ code }) => (code === 'invalid_type' ? message : undefined) })
const fn = z.custom((value) => typeof value === 'function', 'must be a function')

const codec = z.object(
  {
    name: text,
    summary: z.string('must be a text'),
    // Not `instanceof`: an operator's zod may be another copy.
    schema: z.custom((value) => typeof value === 'object' && value !== null && '_zod' in value, 'must be a zod codec'),
    remark: fn.optional(),
  },
  'must be a codec',
)
const joint = z.object({ name: text, summary: z.string(), join: fn, part: fn }, 'must be a joint')

const fallback: z.ZodType<Fallback> = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('remembered'), facts: texts }),
    z.strictObject({ kind: z.literal('setting'), setting: oneOf(['transport_type', 'vehicle_type']) }),
  ],
  'must be remembered(…) or setting(…)',
)
const otherwise = z.array(fallback, 'must be a list of fallbacks')

const when = z.strictObject({ is: oneOf(['has', 'lacks', 'several']), v2: text })
const rows = {
  move: z.strictObject({ kind: z.literal('move'), v1: text, v2: text, codec, required: flag, otherwise }),
  split: z.strictObject({ kind: z.literal('split'), v1: text, v2: byText, codec }),
  join: z.strictObject({ kind: z.literal('join'), v1: texts, v2: text, joint }),
  lookup: z.strictObject({
    kind: z.literal('lookup'),
    sources: z.array(z.strictObject({ v1: text, by: oneOf(['code', 'words']) }), 'must be a list of sources'),
    v2: text,
    table: text,
    otherwise,
  }),
  recall: z.strictObject({ kind: z.literal('recall'), v2: text, otherwise, when: oneOf(['send_quote_id']).optional() }),
  ref: z.strictObject({ kind: z.literal('ref'), v1: text, why: z.string('must be a text') }),
  ownNumber: z.strictObject({ kind: z.literal('ownNumber'), v1: text, v2: text }),
  fixed: z.strictObject({ kind: z.literal('fixed'), v1: text, value: z.string('must be a text') }),
  choose: z.strictObject({
    kind: z.literal('choose'),
    v1: text,
    v2: text,
    cases: byText,
    otherwise: z.string('must be a text'),
  }),
  say: z.strictObject({
    kind: z.literal('say'),
    v1: text,
    sentences: z.array(z.strictObject({ text, when: when.optional() }), 'must be a list of sentences'),
  }),
  v1Only: z.strictObject({ kind: z.literal('v1Only'), v1: text, why: z.string('must be a text') }),
  v2Only: z.strictObject({ kind: z.literal('v2Only'), v2: text, why: z.string('must be a text'), serverSets: flag }),
} satisfies Readonly<Record<Row['kind'], z.ZodType>>

const { move, split, join, lookup, recall, ref, ownNumber, fixed, choose, say, v1Only, v2Only } = rows
const row = z.discriminatedUnion(
  'kind',
  [move, split, join, lookup, recall, ref, ownNumber, fixed, choose, say, v1Only, v2Only],
  {
    error: ({ input }) => (Array.isArray(input) ? 'is a list; spread it with ...' : 'is no row: use the constructors'),
  },
)
const section = z.array(row, 'must be a list of rows')

const alternative = z.union(
  [z.strictObject({ fields: texts }), z.strictObject({ fact: text })],
  'must be fields(…) or fact(…)',
)
const kind = oneOf(['quote', 'shipment'])

const outline = part(
  {
    name: text,
    summary: text,
    family: kind,
    legacy: part({
      method: oneOf(['GET', 'POST']),
      paths: texts,
      actionNames: z.union([z.literal('any'), texts], "must be a list of texts, or 'any'"),
      byDefault: flag.optional(),
    }),
    service: part({
      method: oneOf(['GET', 'POST', 'PUT', 'DELETE']),
      path: text,
      mergeInto: z.literal('current', 'must be current').optional(),
      notIdempotent: flag.optional(),
      doneWhenStatus: text.optional(),
    }),
    finds: part({ kind, by: texts, disambiguateBy: text.optional() }).optional(),
    recalls: texts.optional(),
    keeps: part({
      kind,
      names: texts,
      disambiguateBy: text.optional(),
      id: text,
      replyNames: texts.optional(),
    }).optional(),
    needs: z.array(part({ anyOf: z.array(alternative) }), 'must be a list of needs').optional(),
    request: section,
    remember: section.optional(),
    reply: section,
    example: part({ request: byText, reply: z.json() }, 'must hold a request and a reply'),
  },
  'the default export is neither an action, nor a list of actions, nor a function that gives one',
)

/** What is wrong with the outline of a declaration, a line each; nothing where it is an action. */
export function outlineMistakes(declaration: unknown): readonly string[] {
  const parsed = outline.safeParse(declaration)
  return (parsed.error?.issues ?? []).map(({ path, message }) => {
    const place = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`)).join('')
    return [nameOf(declaration), place.slice(1), message].filter(Boolean).join(': ')
  })
}

/** Whether a declaration can be checked row by row. */
export function isAction(declaration: unknown): declaration is Action {
  return outlineMistakes(declaration).length === 0
}

function nameOf(declaration: unknown): string | undefined {
  const named = typeof declaration === 'object' && declaration !== null && 'name' in declaration
  return named && typeof declaration.name === 'string' ? declaration.name : undefined
}
