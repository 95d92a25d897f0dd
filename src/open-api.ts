import { z } from 'zod'
import type { Catalog, Endpoint } from './mapping/catalog.ts'
import type { CompiledAction } from './mapping/compile.ts'
import type { Row } from './mapping/declare.ts'

type Schema = Readonly<Record<string, unknown>>

/** An OpenAPI 3.1 description of the legacy and dry-run paths, generated from the mapping modules. */
export function openApi(catalog: Catalog, basePaths: readonly string[]): Schema {
  const paths: Record<string, Schema> = {}
  for (const endpoint of catalog.endpoints.values()) {
    for (const base of basePaths)
      paths[base + endpoint.path] = { [endpoint.method.toLowerCase()]: legacyOperation(endpoint) }
    paths[`/dry-run${endpoint.path}`] = { [endpoint.method.toLowerCase()]: dryRunOperation(endpoint) }
  }
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
        ProblemDetails: PROBLEM_DETAILS,
      },
    },
  }
}

function legacyOperation(endpoint: Endpoint): Schema {
  const error = { $ref: `#/components/schemas/${endpoint.family === 'quote' ? 'QuoteError' : 'ShipmentError'}` }
  return {
    ...request(endpoint),
    security: [{ basic: [] }, {}],
    responses: {
      200: {
        description: 'Done.',
        content: json({ anyOf: endpoint.actions.map(replySchema) }),
      },
      default: { description: 'Not done; Message says what to do.', content: json(error) },
    },
  }
}

function dryRunOperation(endpoint: Endpoint): Schema {
  const operation = request(endpoint)
  return {
    ...operation,
    operationId: `dry-run-${String(operation['operationId'])}`,
    summary: `Explain, and do not send: ${String(operation['summary'])}`,
    responses: {
      200: { description: 'The translation, explained.', content: json({ $ref: '#/components/schemas/DryRun' }) },
      default: {
        description: 'The request cannot be read.',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/ProblemDetails' } } },
      },
    },
  }
}

function request({ path, method, actions }: Endpoint): Schema {
  const summary = actions.map(({ action }) => action.summary).join(' ')
  const about = { operationId: path.slice(1).replace('.php', ''), summary }
  if (method === 'GET') {
    const fields = actions.flatMap((compiled) => Object.entries(fieldSchemas(compiled)))
    return { ...about, parameters: fields.map(([name, schema]) => ({ name, in: 'query', schema })) }
  }
  const schemas = actions.map(requestSchema)
  const content = { schema: { anyOf: schemas }, examples: Object.fromEntries(actions.map(exampleOf)) }
  return {
    ...about,
    requestBody: {
      required: true,
      content: { 'application/json': content, 'application/x-www-form-urlencoded': { schema: { anyOf: schemas } } },
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
      const row = rows.find((candidate) => 'v1' in candidate && candidate.v1 === name)
      const description = row && describe(row)
      const more = name === 'ActionName' ? actionName : {}
      return [name, { type: 'string', ...more, ...(description && { description }) }]
    }),
  )
}

function describe(row: Row): string | undefined {
  if (row.kind === 'move') return `${row.v2}: ${row.codec.summary}`
  if (row.kind === 'split') return `${Object.values(row.v2).join(', ')}: ${row.codec.summary}`
  return 'why' in row ? row.why : undefined
}

function replySchema({ action }: CompiledAction): Schema {
  const fields = action.reply.flatMap((row) => ('v1' in row && row.kind !== 'join' ? [row.v1] : []))
  return {
    type: 'object',
    title: `${action.name} reply`,
    properties: Object.fromEntries(fields.map((name) => [name, TEXT])),
  }
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
const DRY_RUN = jsonSchema(
  z.object({
    action: z.string(),
    ok: z.boolean(),
    request: z.object({
      method: z.string(),
      url: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.unknown().optional(),
      over: z.string().optional(),
    }),
    fields: z.array(
      z.object({
        to: z.string(),
        from: z.array(z.string()),
        before: z.unknown().optional(),
        after: z.unknown(),
        rule: z.string().optional(),
        origin: z.enum(['caller', 'quote', 'default', 'fixed', 'service']),
        loss: z.string().optional(),
        assumed: z.string().optional(),
        warning: z.string().optional(),
      }),
    ),
    unused: z.array(z.object({ field: z.string(), why: z.string() })),
    unknown: z.array(z.string()),
    problems: z.array(PROBLEM),
    reply: z.object({ example: z.unknown(), v1: z.record(z.string(), z.string()) }),
    curl: z.string(),
  }),
)
