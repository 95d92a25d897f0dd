import { forEachMember, scalarText } from '../text/json.ts'
import type { Outgoing, ServiceRequest } from './service.ts'

/** The spellings of a request for a quote. */
export type QuoteMethod = 'POST' | 'GET'
/** The spellings of a path of shipments. */
export type ShipmentPath = '/v2/shipments' | '/v2/shipment'

/** Returns true for a request with two spellings of its method. */
export const asksForQuote = ({ method, path }: ServiceRequest) => method === 'POST' && path === '/v2/quote'

/** Returns true for a request with two spellings of its path. */
export const isAboutShipments = ({ path }: ServiceRequest) => /^\/v2\/shipments(\/|$)/.test(path)

/** The headers of every request that the gateway writes itself. */
export const BASE_HEADERS = {
  accept: 'application/json',
  // On a short connection, compression only costs time, and a small reply could inflate to a huge one.
  'accept-encoding': 'identity',
  'user-agent': 'transload',
} as const

/** Writes a request in its declared spelling. */
export function plain({ method, path, body, ifMatch }: ServiceRequest): Outgoing {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  return {
    method,
    path,
    headers: {
      ...BASE_HEADERS,
      ...(text !== undefined && { 'content-type': 'application/json' }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    },
    body: text,
  }
}

/** Writes a request for a quote, with its facts in the query of a `GET`. */
export function quoteSpelled(request: ServiceRequest, method: QuoteMethod): Outgoing {
  if (method === 'POST') return plain(request)
  const { body, ...rest } = request
  const query = new URLSearchParams()
  const add = (name: string, value: unknown) => {
    const text = scalarText(value)
    // Of two members with one name, the last counts.
    if (text === undefined) query.delete(name)
    else query.set(name, text)
  }
  // Not parsed as a whole: a body may nest deeper than that reads, and a query takes only its single values.
  if (typeof body === 'string') forEachMember(body, add)
  else for (const [name, value] of Object.entries(body ?? {})) add(name, value)
  return plain({ ...rest, method, path: `${request.path}?${query}` })
}

/** Writes a request about shipments. */
export function shipmentSpelled(request: ServiceRequest, path: ShipmentPath): Outgoing {
  return plain({ ...request, path: path + request.path.slice('/v2/shipments'.length) })
}
