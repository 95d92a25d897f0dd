import { z } from 'zod'
import type { CompiledAction } from '../mapping/compile.ts'
import type { Row } from '../mapping/row.ts'
import { fieldsOf, placesOf } from '../mapping/row-parts.ts'

/** A part of an OpenAPI document. */
export type Schema = Readonly<Record<string, unknown>>

/** Returns the schema of an action's version-1 request. */
export function requestSchema(compiled: CompiledAction): Schema {
  const { action } = compiled
  const required = action.request.flatMap((row) => (row.kind === 'move' && row.required ? [row.v1] : []))
  return {
    type: 'object',
    title: action.name,
    description: action.summary,
    properties: fieldSchemas(compiled),
    ...(required.length > 0 && { required }),
  }
}

/** Returns the schemas of an action's fields, by name. */
export function fieldSchemas({ action, fields }: CompiledAction): Readonly<Record<string, Schema>> {
  const rows = [...action.request, ...(action.remember ?? [])]
  const names = action.legacy.actionNames
  const actionName = names === 'any' ? {} : { enum: names }
  return Object.fromEntries(
    fields.names.map((name) => {
      const row = rows.find((candidate) => fieldsOf(candidate).includes(name))
      const description = row && describe(row)
      const more = name === 'ActionName' ? actionName : {}
      return [name, { type: 'string', ...more, ...(description && { description }) }]
    }),
  )
}

function describe(row: Row): string | undefined {
  const to = placesOf(row).join(', ')
  if (row.kind === 'move' || row.kind === 'split') return `${to}: ${row.codec.summary}`
  if (row.kind === 'join') return `${to}: ${row.joiner.summary}`
  if (row.kind === 'lookup') return `${to}: looked up in the table ${row.table}.`
  return 'why' in row ? row.why : undefined
}

/** Returns the schema of an action's version-1 reply. */
export function replySchema({ action }: CompiledAction): Schema {
  const properties = Object.fromEntries(action.reply.flatMap(fieldsOf).map((name) => [name, TEXT]))
  return { type: 'object', title: `${action.name} reply`, properties }
}

const TEXT = { type: 'string' } as const

const jsonSchema = (schema: z.ZodType): Schema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema)
  return rest
}

const QUOTE_ERROR = jsonSchema(z.object({ Cost: z.literal(''), ShipmentNumber: z.string(), Message: z.string() }))
const SHIPMENT_ERROR = jsonSchema(z.object({ Message: z.string(), TransportationBooked: z.enum(['No', 'Unknown']) }))
const PROBLEM = z.object({ field: z.string(), code: z.string(), message: z.string() })
const PROBLEM_DETAILS = jsonSchema(
  z.object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    problems: z.array(PROBLEM).optional(),
  }),
)
const EXPLANATION = z.object({
  to: z.string(),
  from: z.array(z.string()),
  before: z.unknown().optional(),
  after: z.unknown(),
  rule: z.string().optional(),
  keeps: z.string().optional(),
  origin: z.enum(['caller', 'quote', 'default', 'fixed', 'service']),
  loss: z.string().optional(),
  assumed: z.string().optional(),
  warning: z.string().optional(),
})
const TEXTS = z.record(z.string(), z.string())
const EXPLAINED = z.object({
  action: z.string(),
  ok: z.boolean(),
  fields: z.array(EXPLANATION),
  unused: z.array(z.object({ field: z.string(), why: z.string() })),
  unknown: z.array(z.string()),
  problems: z.array(PROBLEM),
})
const DRY_RUN = jsonSchema(
  EXPLAINED.extend({
    request: z.object({
      method: z.string(),
      url: z.string(),
      headers: TEXTS,
      body: z.unknown().optional(),
      over: z.string().optional(),
    }),
    reply: z.object({ example: z.unknown(), v1: TEXTS }),
    curl: z.string(),
  }),
)
const REPLY_DRY_RUN = jsonSchema(EXPLAINED.extend({ reply: z.object({ v2: z.unknown(), v1: TEXTS }) }))

const EVENT_DRY_RUN = jsonSchema(
  z.object({
    callback: z.string(),
    event: z.object({
      shipment_id: z.string(),
      event: z.string(),
      event_date: z.string(),
      data: z.unknown().optional(),
    }),
    bodies: z.object({ json: TEXTS, form: z.string() }),
    fields: z.array(EXPLANATION),
    unknown: z.array(z.string()),
  }),
)

/** The schemas that several paths share. */
export const SCHEMAS: Schema = {
  QuoteError: QUOTE_ERROR,
  ShipmentError: SHIPMENT_ERROR,
  DryRun: DRY_RUN,
  ReplyDryRun: REPLY_DRY_RUN,
  EventDryRun: EVENT_DRY_RUN,
  ProblemDetails: PROBLEM_DETAILS,
}
