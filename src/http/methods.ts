import { gatewayError } from '../errors.ts'

/** Throws for another method than those of a route. A `HEAD` is answered like a `GET`. */
export function requireMethod(method: string | undefined, methods: readonly string[]): void {
  if (methods.includes(method === 'HEAD' ? 'GET' : (method ?? ''))) return
  const allowed = methods.join(', ')
  throw gatewayError('method-wrong', { methods: allowed }, { headers: { Allow: allowed } })
}
