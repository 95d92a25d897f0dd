import { parseJson, scalarText } from '../text/json.ts'
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
export function plain({ method, path, body, ifMatch, isVersion1, isIdempotent }: ServiceRequest): Outgoing {
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
    // At a version-2 path, the method alone does not tell that a version-1 request may be repeated.
    ...(isVersion1 && { isIdempotent: method === 'GET' || isIdempotent === true }),
  }
}

/** Writes a request for a quote, with its facts in the query of a `GET`. */
export function quoteSpelled(request: ServiceRequest, method: QuoteMethod): Outgoing {
  if (method === 'POST') return plain(request)
  const { body, ...rest } = request
  const values: unknown = typeof body === 'string' ? parseJson(body) : (body ?? {})
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values as object)) {
    const text = scalarText(value)
    if (text !== undefined) query.append(name, text)
  }
  return plain({ ...rest, method, path: `${request.path}?${query}` })
}

/** Writes a request about shipments. */
export function shipmentSpelled(request: ServiceRequest, path: ShipmentPath): Outgoing {
  return plain({ ...request, path: path + request.path.slice('/v2/shipments'.length) })
}
