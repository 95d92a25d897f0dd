import type { IncomingHttpHeaders } from 'node:http'
import { authenticate, grantToken } from './auth.ts'
import { approveQuote, createQuote, updateQuote } from './quotes.ts'
import { Refusal } from './refusal.ts'
import { cancelShipment, createShipment, etagOf, findShipment, updateShipment } from './shipments.ts'
import { answerBodyVersion1, answerLegacyPath, isVersion1, legacyName } from './version-1.ts'
import type { Shipment, World } from './world.ts'

/** A request, read whole. */
export interface Call {
  method: string
  /** The target as it came, with the query. */
  target: string
  headers: IncomingHttpHeaders
  body: string
}

/** An answer, before it goes over the wire and before a fault gets at it. */
export interface Reply {
  status: number
  headers?: Readonly<Record<string, string>>
  /** Written as JSON. */
  body: object
}

/** Answers a call as the service would. */
export function answer(world: World, call: Call): Reply {
  try {
    return route(world, call)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { code, message, fields, status, headers } = error
    return { status, headers, body: { error: { code, message, ...(fields && { fields }) } } }
  }
}

function route(world: World, call: Call): Reply {
  const [path = '', query = ''] = call.target.split('?', 2)
  const legacy = legacyName(path)
  const [, version, kind = '', id, verb, ...rest] = path.split('/')
  if (path === '/oauth2/token' && world.settings.auth !== 'basic') {
    if (call.method !== 'POST') throw notAllowed('POST')
    return grantToken(world, call.headers.authorization, new URLSearchParams(call.body))
  }
  if (legacy) {
    const client = authenticate(world, call.headers.authorization)
    return answerLegacyPath(world, client, legacy, call.method, query, call.body)
  }
  if (version !== 'v2' || rest.length > 0) throw noSuchPath(path)
  const client = authenticate(world, call.headers.authorization)
  if (kind === 'quote') return routeQuote(world, client, call, query, id, verb)
  if (isShipmentPath(world, kind) && verb === undefined) return routeShipment(world, client, call, id)
  throw noSuchPath(path)
}

function routeQuote(world: World, client: string, call: Call, query: string, id?: string, verb?: string): Reply {
  const { quoteMethod } = world.settings
  if (id === undefined) {
    if (quoteMethod !== 'both' && quoteMethod !== call.method) throw notAllowed(quoteMethod)
    if (call.method === 'GET') return ok(createQuote(world, client, Object.fromEntries(new URLSearchParams(query))))
    if (call.method !== 'POST') throw notAllowed('GET, POST')
    const body = readJson(call.body)
    if (isVersion1(body)) return answerBodyVersion1(world, client, 'quote', body)
    return ok(createQuote(world, client, body))
  }
  if (verb === 'approve') {
    if (call.method !== 'POST') throw notAllowed('POST')
    return ok(approveQuote(world, client, decode(id)))
  }
  if (verb !== undefined) throw noSuchPath(call.target)
  if (call.method !== 'PUT') throw notAllowed('PUT')
  const body = readJson(call.body)
  if (isVersion1(body)) return answerBodyVersion1(world, client, 'quote update', body, decode(id))
  return ok(updateQuote(world, client, decode(id), body))
}

function routeShipment(world: World, client: string, call: Call, id?: string): Reply {
  if (id === undefined) {
    if (call.method !== 'POST') throw notAllowed('POST')
    const body = readJson(call.body)
    if (isVersion1(body)) return answerBodyVersion1(world, client, 'booking', body)
    return { status: 201, body: createShipment(world, client, body) }
  }
  const name = decode(id)
  switch (call.method) {
    case 'GET':
      return tagged(world, findShipment(world, client, name, 'id or number'))
    case 'PUT': {
      const body = readJson(call.body)
      if (isVersion1(body)) return answerBodyVersion1(world, client, 'update', body, name)
      return tagged(world, updateShipment(world, client, name, body, call.headers['if-match']))
    }
    case 'DELETE':
      return ok(cancelShipment(world, client, name))
    default:
      throw notAllowed('GET, PUT, DELETE')
  }
}

function isShipmentPath(world: World, kind: string): boolean {
  const { shipmentPath } = world.settings
  return (kind === 'shipments' && shipmentPath !== 'singular') || (kind === 'shipment' && shipmentPath !== 'plural')
}

function ok(body: object): Reply {
  return { status: 200, body }
}

function tagged(world: World, shipment: Shipment): Reply {
  return world.settings.etag ? { ...ok(shipment), headers: { etag: etagOf(world, shipment.id) } } : ok(shipment)
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
