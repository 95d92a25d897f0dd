const OF_QUOTE = /^\/v2\/quote(\/[^/?]+)?(\/approve)?(?:\?|$)/
const OF_SHIPMENT = /^\/v2\/shipments?(\/[^/?]+)?(?:\?|$)/

const OF_VERSION_1 = /\.php(?:\?|$)/i

/** Returns the name of an operation of version 2, without ids: `PUT /v2/shipments/{id}`; callers cannot make new ones. */
export function operationOf(method: string, path: string): string {
  const quote = OF_QUOTE.exec(path)
  if (quote) return `${method} /v2/quote${quote[1] ? '/{id}' : ''}${quote[2] ?? ''}`
  const shipment = OF_SHIPMENT.exec(path)
  if (shipment) return `${method} /v2/shipments${shipment[1] ? '/{id}' : ''}`
  if (OF_VERSION_1.test(path) && (method === 'GET' || method === 'POST')) return `${method} *.php`
  return OTHER
}

/** Requests that no declaration of the gateway makes. */
export const OTHER = 'other'
