import { z } from 'zod'
import type { Answer } from '../answer.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import type { Row } from '../mapping/row.ts'
import { fieldsOf, placesOf } from '../mapping/row-parts.ts'
import { eventDryRun, eventPath } from './open-api-events.ts'

type Schema = Readonly<Record<string, unknown>>

/**
 * Makes the answer of `/openapi.json` on the first request. All calls share its bytes: one text for each of a thousand
 * slow readers would take gigabytes.
 */
export function openApiAnswer(catalog: Catalog, basePaths: readonly string[]): () => Answer {
  let answer: Answer | undefined
  return () => {
    answer ??= {
      status: 200,
      headers: {},
      body: Buffer.from(`${JSON.stringify(openApi(catalog, basePaths), null, 2)}\n`),
    }
    return answer
  }
}

/** Describes the legacy and dry-run paths in OpenAPI 3.1, from the mapping modules. */
function openApi(catalog: Catalog, basePaths: readonly string[]): Schema {
  const paths: Record<string, Schema> = {}
  for (const base of basePaths) {
    for (const endpoint of catalog.endpoints.values()) {
      paths[base + endpoint.path] = legacyPath(endpoint, base)
      paths[`/dry-run${base}${endpoint.path}`] = dryRunPath(endpoint, base)
    }
  }
  paths['/dry-run/reply/{action}'] = replyPath([...catalog.actions.values()])
  paths['/dry-run/webhook/{event}'] = eventPath(catalog.callbacks, explained('The event, explained.', 'EventDryRun'))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Transload: the version-1 interface',
      version: '1.0.0',
      description: 'The legacy calls of a vehicle-transport service, answered by its version 2.',
    },
    paths,
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' } },
      schemas: {
        QuoteError: QUOTE_ERROR,
        ShipmentError: SHIPMENT_ERROR,
        DryRun: DRY_RUN,
        ReplyDryRun: REPLY_DRY_RUN,
        EventDryRun: jsonSchema(eventDryRun(EXPLANATION)),
        ProblemDetails: PROBLEM_DETAILS,
      },
    },
  }
}

/** An `operationId` is unique in the document, and the same path is served under every base path. */
const operationId = (...parts: readonly string[]): string =>
  parts
    .flatMap((part) => part.replace(/\.php$/, '').split('/'))
    .filter(Boolean)
    .join('-')

const summaryOf = ({ actions }: Endpoint): string => actions.map(({ action }) => action.summary).join(' ')

function legacyPath(endpoint: Endpoint, base: string): Schema {
  const error = { $ref: `#/components/schemas/${endpoint.family === 'quote' ? 'QuoteError' : 'ShipmentError'}` }
  const operation = {
    operationId: operationId(base, endpoint.path),
    summary: summaryOf(endpoint),
    ...(endpoint.method === 'GET' ? query(endpoint) : body(endpoint)),
    security: [{ basic: [] }, {}],
    responses: {
      200: { description: 'Done.', content: json({ anyOf: endpoint.actions.map(replySchema) }) },
      default: { description: 'Not done; Message says what to do.', content: json(error) },
    },
  }
  return { [endpoint.method.toLowerCase()]: operation }
}

function dryRunPath(endpoint: Endpoint, base: string): Schema {
  const operation = (...manner: readonly string[]) => ({
    operationId: operationId('dry-run', base, endpoint.path, ...manner),
    summary: `Explain, and do not send: ${summaryOf(endpoint)}`,
    responses: explained('The translation, explained.', 'DryRun'),
  })
  return {
    ...(endpoint.method === 'GET' && { get: { ...operation('by-query'), ...query(endpoint) } }),
    post: { ...operation(), ...body(endpoint) },
  }
}

function replyPath(actions: readonly CompiledAction[]): Schema {
  const names = actions.map(({ action }) => action.name)
  return {
    post: {
      operationId: operationId('dry-run', 'reply'),
      summary: 'Explain the version-1 form of a version-2 reply.',
      parameters: [{ name: 'action', in: 'path', required: true, schema: { type: 'string', enum: names } }],
      requestBody: {
        required: true,
        content: {
          'application/json': {
            schema: {},
            examples: Object.fromEntries(actions.map(({ action }) => [action.name, { value: action.example.reply }])),
          },
        },
      },
      responses: explained('The reply, explained.', 'ReplyDryRun'),
    },
  }
}

const explained = (description: string, schema: string): Schema => ({
  200: { description, content: json({ $ref: `#/components/schemas/${schema}` }) },
  default: {
    description: 'The request cannot be read.',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemDetails' } } },
  },
})

function query({ actions }: Endpoint): Schema {
  const fields = Object.entries(Object.assign({}, ...actions.map(fieldSchemas)) as Record<string, Schema>)
  return { parameters: fields.map(([name, schema]) => ({ name, in: 'query', schema })) }
}

function body({ actions }: Endpoint): Schema {
  const schema = { anyOf: actions.map(requestSchema) }
  return {
    requestBody: {
      required: true,
      content: {
        'application/json': { schema, examples: Object.fromEntries(actions.map(exampleOf)) },
        'application/x-www-form-urlencoded': { schema },
      },
    },
  }
}

const exampleOf = ({ action }: CompiledAction) => [action.name, { value: action.example.request }] as const

function requestSchema(compiled: CompiledAction): Schema {
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

function fieldSchemas({ action, fields }: CompiledAction): Readonly<Record<string, Schema>> {
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

function replySchema({ action }: CompiledAction): Schema {
  const properties = Object.fromEntries(action.reply.flatMap(fieldsOf).map((name) => [name, TEXT]))
  return { type: 'object', title: `${action.name} reply`, properties }
}

const json = (schema: Schema) => ({ 'application/json': { schema } })

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
