import { gzipSync } from 'node:zlib'
import type { Answer } from '../answer.ts'
import { programVersion } from '../config/version.ts'
import type { Catalog, Endpoint } from '../mapping/catalog.ts'
import type { CompiledAction } from '../mapping/compile.ts'
import { eventPath } from './open-api-events.ts'
import { fieldSchemas, replySchema, requestSchema, SCHEMAS, type Schema } from './open-api-schemas.ts'

/**
 * Makes the answer of `/openapi.json` on the first request. All calls share its bytes: one text for each of a thousand
 * slow readers would take gigabytes. A caller that accepts gzip gets it compressed.
 */
export function openApiAnswer(catalog: Catalog, basePaths: readonly string[]): (acceptEncoding?: string) => Answer {
  let plain: Answer | undefined
  let compressed: Answer | undefined
  return (acceptEncoding) => {
    plain ??= { status: 200, headers: VARY, body: Buffer.from(`${JSON.stringify(openApi(catalog, basePaths))}\n`) }
    if (!acceptsGzip(acceptEncoding)) return plain
    compressed ??= { ...plain, headers: { ...VARY, 'Content-Encoding': 'gzip' }, body: gzipSync(plain.body) }
    return compressed
  }
}

const VARY = { Vary: 'Accept-Encoding' }

/** Tells whether a header accepts gzip by name; `gzip;q=0` refuses it. */
function acceptsGzip(header = ''): boolean {
  return header.split(',').some((entry) => /^\s*gzip\s*(;\s*q=(1|0\.0*[1-9])[\d.]*\s*)?$/i.test(entry))
}

/** Describes the legacy and dry-run paths in OpenAPI 3.1, from the mapping modules. */
function openApi(catalog: Catalog, basePaths: readonly string[]): Schema {
  const endpoints = [...catalog.endpoints.values()]
  const actions = [...catalog.actions.values()]
  const paths: Record<string, Schema> = {}
  for (const base of basePaths) {
    for (const endpoint of endpoints) {
      paths[base + endpoint.path] = legacyPath(endpoint, base)
      paths[`/dry-run${base}${endpoint.path}`] = dryRunPath(endpoint, base)
    }
  }
  paths['/dry-run/reply/{action}'] = replyPath(actions)
  paths['/dry-run/webhook/{event}'] = eventPath(catalog.callbacks, explained('EventDryRun'))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Transload: the version-1 interface',
      version: programVersion(),
      description: 'The legacy calls of a vehicle-transport service, answered by its version 2.',
    },
    paths,
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' } },
      schemas: { ...SCHEMAS, ...Object.fromEntries(actions.flatMap(schemasOf)) },
      parameters: Object.fromEntries(endpoints.filter(isQuery).flatMap(parametersOf)),
      requestBodies: Object.fromEntries(endpoints.map((endpoint) => [nameOf(endpoint), bodyOf(endpoint)])),
      responses: Object.fromEntries(endpoints.flatMap(responsesOf).concat(SHARED_RESPONSES)),
    },
  }
}

const ref = (kind: 'schemas' | 'parameters' | 'requestBodies' | 'responses', name: string): Schema => ({
  $ref: `#/components/${kind}/${name}`,
})

const json = (schema: Schema) => ({ 'application/json': { schema } })

/** The name of an endpoint's parts, which it shares under every base path. */
const nameOf = ({ path }: Endpoint): string => componentName(path.replace(/^\//, '').replace(/\.php$/, ''))

/** OpenAPI allows few characters in the name of a component. */
const componentName = (text: string): string =>
  text.replace(/[^\w.-]/g, (character) => `-${character.charCodeAt(0).toString(16)}`)

const isQuery = ({ method }: Endpoint): boolean => method === 'GET'

const schemasOf = (compiled: CompiledAction): (readonly [string, Schema])[] => [
  [requestName(compiled), requestSchema(compiled)],
  [replyName(compiled), replySchema(compiled)],
]
const requestName = ({ action }: CompiledAction) => componentName(action.name)
const replyName = ({ action }: CompiledAction) => componentName(`${action.name}.reply`)

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
      200: ref('responses', nameOf(endpoint)),
      default: ref('responses', endpoint.family === 'quote' ? 'QuoteError' : 'ShipmentError'),
    },
  }
  return { [endpoint.method.toLowerCase()]: operation }
}

function dryRunPath(endpoint: Endpoint, base: string): Schema {
  const operation = (...manner: readonly string[]) => ({
    operationId: operationId('dry-run', base, endpoint.path, ...manner),
    summary: `Explain, and do not send: ${summaryOf(endpoint)}`,
    responses: explained('DryRun'),
  })
  return {
    ...(isQuery(endpoint) && { get: { ...operation('by-query'), ...input(endpoint, 'GET') } }),
    post: { ...operation(), ...input(endpoint, 'POST') },
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
      responses: explained('ReplyDryRun'),
    },
  }
}

const explained = (name: string): Schema => ({ 200: ref('responses', name), default: ref('responses', 'Problem') })

function responsesOf(endpoint: Endpoint): (readonly [string, Schema])[] {
  const schema = { anyOf: endpoint.actions.map((compiled) => ref('schemas', replyName(compiled))) }
  return [[nameOf(endpoint), { description: 'Done.', content: json(schema) }]]
}

const SHARED_RESPONSES: (readonly [string, Schema])[] = [
  ...['QuoteError', 'ShipmentError'].map((name): readonly [string, Schema] => [
    name,
    { description: 'Not done; Message says what to do.', content: json(ref('schemas', name)) },
  ]),
  ['DryRun', { description: 'The translation, explained.', content: json(ref('schemas', 'DryRun')) }],
  ['EventDryRun', { description: 'The event, explained.', content: json(ref('schemas', 'EventDryRun')) }],
  ['ReplyDryRun', { description: 'The reply, explained.', content: json(ref('schemas', 'ReplyDryRun')) }],
  [
    'Problem',
    {
      description: 'The request cannot be read.',
      content: { 'application/problem+json': { schema: ref('schemas', 'ProblemDetails') } },
    },
  ],
]

/** Returns the fields of an endpoint: in the query of a GET, else in the body. */
function input(endpoint: Endpoint, method: string): Schema {
  if (method !== 'GET') return { requestBody: ref('requestBodies', nameOf(endpoint)) }
  return { parameters: parametersOf(endpoint).map(([name]) => ref('parameters', name)) }
}

function parametersOf(endpoint: Endpoint): (readonly [string, Schema])[] {
  const fields = Object.entries(Object.assign({}, ...endpoint.actions.map(fieldSchemas)) as Record<string, Schema>)
  return fields.map(([name, schema]) => [`${nameOf(endpoint)}.${componentName(name)}`, { name, in: 'query', schema }])
}

function bodyOf({ actions }: Endpoint): Schema {
  const schema = { anyOf: actions.map((compiled) => ref('schemas', requestName(compiled))) }
  return {
    required: true,
    content: {
      'application/json': { schema, examples: Object.fromEntries(actions.map(exampleOf)) },
      'application/x-www-form-urlencoded': { schema },
    },
  }
}

const exampleOf = ({ action }: CompiledAction) => [action.name, { value: action.example.request }] as const
