import type { Answer } from '../answer.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import { eventPath } from './open-api-events.ts'
import { fieldSchemas, replySchema, requestSchema, SCHEMAS, type Schema } from './open-api-schemas.ts'

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
      schemas: SCHEMAS,
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

const json = (schema: Schema) => ({ 'application/json': { schema } })
