import { basic } from '../gateway.ts'

/** An answer, read whole. */
export interface Answer {
  status: number
  headers: Headers
  text: string
  json: Record<string, unknown>
}

/** A service at an address. */
type At = { readonly url: string }

export async function call(
  sandbox: At,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(sandbox.url + path, {
    method,
    headers: { authorization: basic(), 'content-type': 'application/json', ...headers },
    redirect: 'manual',
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, json: parse(text) }
}

function parse(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Returns the value at a dotted path of an answer. */
export function at(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((part, key) => new Map(Object.entries(Object(part))).get(key), value)
}

/** A booking that the service accepts. */
export function booking(more: object = {}): object {
  return {
    customer: { customer_name: 'Example Motors', customer_type: 'DEALER', phone: '2145550000' },
    pickup: { city: 'Dallas', state: 'TX', zipcode: 75234, contact_name: 'Pat Example' },
    delivery: { city: 'Boston', state: 'MA', zipcode: 2134 },
    vehicles: [{ vin: '1FDXE4FN9PDD32477', year: 2023, make: 'Ford', model: 'E-450', type: 'van' }],
    transport_type: 'open',
    external_id: 'REF-1',
    ...more,
  }
}

export const TRIP = { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'open' }

/** Returns the service's problems with a body, `<field> <message>`; none if the answer is not 422. */
export async function refusedFields(sandbox: At, method: string, path: string, body: unknown) {
  const { status, json } = await call(sandbox, method, path, body)
  if (status !== 422 || at(json, 'error.code') !== 'validation_failed') return []
  return Object.values(Object(at(json, 'error.fields'))).map((one) => `${at(one, 'field')} ${at(one, 'message')}`)
}
