import type { IncomingHttpHeaders } from 'node:http'
import { authenticate, grantToken } from './auth.ts'
import { approveQuote, createQuote, updateQuote } from './quotes.ts'
import { Refusal } from './refusal.ts'
import { cancelShipment, createShipment, etagOf, findShipment, updateShipment } from './shipments.ts'
import type { SandboxState, Shipment } from './state.ts'
import { answerBodyVersion1, answerLegacyPath, isVersion1, legacyName } from './version-1.ts'

/** A whole request. */
export interface SandboxRequest {
  method: string
  /** The raw target, with the query. */
  target: string
  headers: IncomingHttpHeaders
  body: string
}

/** An answer before a fault changes it. */
export interface Reply {
  status: number
  headers?: Readonly<Record<string, string>>
  /** Written as JSON. */
  body: object
}

/** Answers a request as the service does. */
export function answer(state: SandboxState, call: SandboxRequest): Reply {
  try {
    return route(state, call)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { code, message, fields, status, headers } = error
    return { status, headers, body: { error: { code, message, ...(fields && { fields }) } } }
  }
}

function route(state: SandboxState, call: SandboxRequest): Reply {
  const [path = '', query = ''] = call.target.split('?', 2)
  const legacy = legacyName(path)
  const [, version, kind = '', id, verb, ...rest] = path.split('/')
  if (path === '/oauth2/token' && state.settings.auth !== 'basic') {
    if (call.method !== 'POST') throw notAllowed('POST')
    return grantToken(state, call.headers.authorization, new URLSearchParams(call.body))
  }
  if (legacy) {
    const client = authenticate(state, call.headers.authorization)
    return answerLegacyPath(state, client, legacy, call.method, query, call.body)
  }
  if (version !== 'v2' || rest.length > 0) throw noSuchPath(path)
  const client = authenticate(state, call.headers.authorization)
  if (kind === 'quote') return routeQuote(state, client, call, query, id, verb)
  if (isShipmentPath(state, kind) && verb === undefined) return routeShipment(state, client, call, id)
  throw noSuchPath(path)
}

function routeQuote(
  state: SandboxState,
  client: string,
  call: SandboxRequest,
  query: string,
  id?: string,
  verb?: string,
): Reply {
  const { quoteMethod } = state.settings
  if (id === undefined) {
    if (quoteMethod !== 'both' && quoteMethod !== call.method) throw notAllowed(quoteMethod)
    if (call.method === 'GET') return ok(createQuote(state, client, Object.fromEntries(new URLSearchParams(query))))
    if (call.method !== 'POST') throw notAllowed('GET, POST')
    const body = readJson(call.body)
    if (isVersion1(body)) return answerBodyVersion1(state, client, 'quote', body)
    return ok(createQuote(state, client, body))
  }
  if (verb === 'approve') {
    if (call.method !== 'POST') throw notAllowed('POST')
    return ok(approveQuote(state, client, decode(id)))
  }
  if (verb !== undefined) throw noSuchPath(call.target)
  if (call.method !== 'PUT') throw notAllowed('PUT')
  const body = readJson(call.body)
  if (isVersion1(body)) return answerBodyVersion1(state, client, 'quote update', body, decode(id))
  return ok(updateQuote(state, client, decode(id), body))
}

function routeShipment(state: SandboxState, client: string, call: SandboxRequest, id?: string): Reply {
  if (id === undefined) {
    if (call.method !== 'POST') throw notAllowed('POST')
    const body = readJson(call.body)
    if (isVersion1(body)) return answerBodyVersion1(state, client, 'booking', body)
    return { status: 201, body: createShipment(state, client, body) }
  }
  const name = decode(id)
  switch (call.method) {
    case 'GET':
      return tagged(state, findShipment(state, client, name, 'id or number'))
    case 'PUT': {
      const body = readJson(call.body)
      if (isVersion1(body)) return answerBodyVersion1(state, client, 'update', body, name)
      return tagged(state, updateShipment(state, client, name, body, call.headers['if-match']))
    }
    case 'DELETE':
      return ok(cancelShipment(state, client, name))
    default:
      throw notAllowed('GET, PUT, DELETE')
  }
}

function isShipmentPath(state: SandboxState, kind: string): boolean {
  const { shipmentPath } = state.settings
  return (kind === 'shipments' && shipmentPath !== 'singular') || (kind === 'shipment' && shipmentPath !== 'plural')
}

function ok(body: object): Reply {
  return { status: 200, body }
}

function tagged(state: SandboxState, shipment: Shipment): Reply {
  return state.settings.etag ? { ...ok(shipment), headers: { etag: etagOf(state, shipment.id) } } : ok(shipment)
}

function readJson(text: string): object {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new Refusal('bad_json', 'The body is not JSON')
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new Refusal('bad_json', 'The body must be a JSON object')
  }
  return body
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw noSuchPath(part)
  }
}

function noSuchPath(path: string): Refusal {
  return new Refusal('not_found', `There is no ${path}`)
}

function notAllowed(allow: string): Refusal {
  return new Refusal('method_not_allowed', `Use ${allow}`, { headers: { allow } })
}
