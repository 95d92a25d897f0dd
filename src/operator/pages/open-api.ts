import { z } from 'zod'
import type { Answer } from '../../language/answer.ts'
import { programVersion } from '../../language/config/version.ts'
import type { CompiledCallback } from '../../language/mapping/callback.ts'
import { actionNamesAt, type Catalog, type Endpoint, firstEndpoint } from '../../language/mapping/catalog.ts'
import { ACTION_NAME, type CompiledAction } from '../../language/mapping/compile.ts'
import type { Row } from '../../language/mapping/row.ts'
import { fieldsOf, placesOf } from '../../language/mapping/row-parts.ts'
import { ruleOf } from '../reports/equivalents.ts'

/** A part of an OpenAPI document. */
type Schema = Readonly<Record<string, unknown>>

const TEXT = { type: 'string' } as const

/** Makes the answer of `/openapi.json`. All calls share its bytes: one text for each of a thousand slow readers would take gigabytes. */
export const openApiAnswer = (catalog: Catalog, basePaths: readonly string[]): Answer => ({
  status: 200,
  headers: {},
  body: Buffer.from(`${JSON.stringify(openApi(catalog, basePaths))}\n`),
})

/** Describes the legacy and dry-run paths in OpenAPI 3.1, from the mapping modules. */
function openApi(catalog: Catalog, basePaths: readonly string[]): Schema {
  const endpoints = [...catalog.endpoints.values()]
  const actions = [...catalog.actions.values()]
  const paths = basePaths.flatMap((base) =>
    endpoints.flatMap((endpoint) => [
      [base + endpoint.path, legacyPath(endpoint, base)],
      [`/dry-run${base}${endpoint.path}`, dryRunPath(endpoint, base)],
    ]),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Transload: the version-1 interface',
      version: programVersion(),
      description: "A vehicle-transport service's version-1 calls, answered by its version 2.",
    },
    servers: [{ url: '/', description: 'The gateway that serves this document.' }],
    paths: {
      ...Object.fromEntries(paths),
      '/dry-run/reply/{action}': replyPath(actions),
      '/dry-run/webhook/{event}': eventPath(catalog.callbacks),
    },
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' } },
      schemas: {
        ...SCHEMAS,
        ...Object.fromEntries(
          actions.flatMap((compiled) => [
            [componentName(compiled.action.name), requestSchema(compiled, firstEndpoint(compiled.action, catalog))],
            [replyName(compiled), replySchema(compiled)],
          ]),
        ),
      },
      responses: RESPONSES,
    },
  }
}

const ref = (kind: 'schemas' | 'responses', name: string): Schema => ({
  $ref: `#/components/${kind}/${name}`,
})

const response = (description: string, schema: Schema, type = 'application/json'): Schema => ({
  description,
  content: { [type]: { schema } },
})

/** A JSON body, with its examples by name, and other forms of it. */
const jsonBody = (schema: Schema, examples: readonly (readonly [name: string, value: unknown])[], others = {}) => ({
  required: true,
  content: {
    'application/json': { schema, examples: Object.fromEntries(examples.map(([name, value]) => [name, { value }])) },
    ...others,
  },
})

/** OpenAPI allows few characters in the name of a component. */
const componentName = (text: string): string =>
  text.replace(/[^\w.-]/g, (character) => `-${character.charCodeAt(0).toString(16)}`)

const replyName = ({ action }: CompiledAction) => componentName(`${action.name}.reply`)

const anyOf = ({ actions }: Endpoint, name: (compiled: CompiledAction) => string): Schema => ({
  anyOf: actions.map((compiled) => ref('schemas', name(compiled))),
})

/** An `operationId` is unique in the document, and the same path is served under every base path. */
const operationId = (...parts: readonly string[]): string =>
  parts
    .flatMap((part) => part.replace(/\.php$/, '').split('/'))
    .filter(Boolean)
    .join('-')

const summaryOf = ({ actions }: Endpoint): string => actions.map(({ action }) => action.summary).join(' ')

function legacyPath(endpoint: Endpoint, base: string): Schema {
  const operation = {
    operationId: operationId(base, endpoint.path),
    summary: summaryOf(endpoint),
    ...input(endpoint, endpoint.method),
    security: [{ basic: [] }, {}],
    responses: {
      200: response('Success.', anyOf(endpoint, replyName)),
      default: ref('responses', endpoint.family === 'quote' ? 'QuoteError' : 'ShipmentError'),
    },
  }
  return { [endpoint.method.toLowerCase()]: operation }
}

function dryRunPath(endpoint: Endpoint, base: string): Schema {
  const operation = (...manner: readonly string[]) => ({
    operationId: operationId('dry-run', base, endpoint.path, ...manner),
    summary: `Explain without sending: ${summaryOf(endpoint)}`,
    responses: EXPLANATION,
  })
  return {
    ...(endpoint.method === 'GET' && { get: { ...operation('by-query'), ...input(endpoint, 'GET') } }),
    post: { ...operation(), ...input(endpoint, 'POST') },
  }
}

/** Explains something without a path of version 1; a parameter of the path says what it belongs to. */
const explain = (id: string, summary: string, [name, schema]: readonly [string, Schema], requestBody?: Schema) => ({
  operationId: `dry-run-${id}`,
  summary: `Explain ${summary}.`,
  parameters: [{ name, in: 'path', required: true, schema }],
  requestBody,
  responses: EXPLANATION,
})

function replyPath(actions: readonly CompiledAction[]): Schema {
  const examples = actions.map(({ action }) => [action.name, action.example.reply] as const)
  const action = { type: 'string', enum: examples.map(([name]) => name) }
  const about = 'the version-1 form of a version-2 reply'
  return { post: explain('reply', about, ['action', action], jsonBody({}, examples)) }
}

const EVENT_BODY = { type: 'object', properties: { shipment_id: TEXT, event_date: TEXT, data: {} } } as const

function eventPath(callbacks: readonly CompiledCallback[]): Schema {
  const examples = callbacks.map(({ callback: { name, example } }) => {
    const { event: _, ...body } = example
    return [name, body] as const
  })
  const about = 'the form in which a caller receives an event'
  return {
    get: explain('webhook-example', `${about}, by its example`, ['event', TEXT]),
    post: explain('webhook', about, ['event', TEXT], jsonBody(EVENT_BODY, examples)),
  }
}

const EXPLANATION: Schema = { 200: ref('responses', 'DryRun'), default: ref('responses', 'Problem') }

/** The responses that several paths share. */
const RESPONSES = {
  ...Object.fromEntries(
    Object.entries({
      QuoteError: 'An error; Message says what to do.',
      ShipmentError: 'An error; Message says what to do.',
      DryRun: 'The translation, explained.',
    }).map(([name, description]) => [name, response(description, ref('schemas', name))]),
  ),
  Problem: response('The request cannot be read.', ref('schemas', 'ProblemDetails'), 'application/problem+json'),
}

/** Returns the fields of an endpoint: in the query of a GET, else in the body. */
function input(endpoint: Endpoint, method: string): Schema {
  const { actions } = endpoint
  if (method === 'GET') {
    const fields: object = Object.assign({}, ...actions.map((one) => fieldSchemas(one, endpoint)))
    return { parameters: Object.entries(fields).map(([name, schema]) => ({ name, in: 'query', schema })) }
  }
  const schema = anyOf(endpoint, ({ action }) => componentName(action.name))
  const examples = actions.map(({ action }) => [action.name, action.example.request] as const)
  return { requestBody: jsonBody(schema, examples, { 'application/x-www-form-urlencoded': { schema } }) }
}

/** Returns the schema of an action's version-1 request. */
function requestSchema(compiled: CompiledAction, endpoint: Endpoint): Schema {
  const { action } = compiled
  const required = action.request.flatMap((row) => (row.kind === 'move' && row.required ? [row.v1] : []))
  return {
    type: 'object',
    title: action.name,
    description: action.summary,
    properties: fieldSchemas(compiled, endpoint),
    ...(required.length > 0 && { required }),
  }
}

/** Returns the schemas of an action's fields, by name. */
function fieldSchemas({ action, fields }: CompiledAction, endpoint: Endpoint): Readonly<Record<string, Schema>> {
  const rows = [...action.request, ...(action.remember ?? [])]
  return Object.fromEntries(
    fields.names.map((name) => {
      const row = rows.find((candidate) => fieldsOf(candidate).includes(name))
      const isChoice = name === ACTION_NAME && action.legacy.actionNames !== 'any'
      const names = isChoice ? actionNamesAt(endpoint, action) : undefined
      return [name, { ...TEXT, enum: names, description: row && describe(row) }]
    }),
  )
}

function describe(row: Row): string | undefined {
  const rule = ruleOf(row)
  if (rule === '' || 'why' in row) return rule || undefined
  return `${placesOf(row).join(', ')}: ${rule}${row.kind === 'lookup' ? '.' : ''}`
}

/** Returns the schema of an action's version-1 reply. */
function replySchema({ action }: CompiledAction): Schema {
  const properties = Object.fromEntries(action.reply.flatMap(fieldsOf).map((name) => [name, TEXT]))
  return { type: 'object', title: `${action.name} reply`, properties }
}

const text = z.string()
const texts = z.record(text, text)
const optional = text.optional()

const problem = z.object({ field: text, code: text, message: text })

/** The schemas that several paths share. */
const SCHEMAS: Schema = Object.fromEntries(
  Object.entries({
    QuoteError: z.object({ Cost: z.literal(''), ShipmentNumber: text, Message: text }),
    ShipmentError: z.object({ Message: text, TransportationBooked: z.enum(['No', 'Unknown']) }),
    /** A request, a reply or an event; each has what it knows. */
    DryRun: z.looseObject({
      fields: z.array(
        z.object({
          to: text,
          from: z.array(text),
          before: z.unknown().optional(),
          after: z.unknown(),
          rule: optional,
          origin: z.enum(['caller', 'quote', 'default', 'fixed', 'service']),
          loss: optional,
          assumed: optional,
          warning: optional,
        }),
      ),
      unknown: z.array(text),
      action: optional,
      ok: z.boolean().optional(),
      problems: z.array(problem).optional(),
      unused: z.array(z.object({ field: text, why: text })).optional(),
      remarks: z.array(text).optional(),
      request: z.looseObject({ method: text, url: text, headers: texts }).optional(),
      reply: z.looseObject({ v1: texts }).optional(),
      curl: optional,
      truncated: z.boolean().optional(),
      more: z.int().optional(),
    }),
    ProblemDetails: z.object({
      type: text,
      title: text,
      status: z.int(),
      detail: text,
      problems: z.array(problem).optional(),
    }),
  }).map(([name, schema]) => {
    const { $schema: _, ...rest } = z.toJSONSchema(schema)
    return [name, rest]
  }),
)
