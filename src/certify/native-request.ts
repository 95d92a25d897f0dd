import type { Found } from '../calls/look-up.ts'
import type { Version1 } from '../calls/read-request.ts'
import { serviceRequest } from '../calls/service-request.ts'
import type { Action } from '../mapping/action.ts'
import { actionKey } from '../mapping/catalog.ts'
import type { ServiceRequest } from '../service/service.ts'

/** The native path of a service that reads version-1 bodies at its version-2 paths only. */
export const AT_VERSION_2_PATHS = '/v2'

/** Tells if the service can be asked natively: without a body, its version-2 paths cannot tell the versions apart. */
export function canBeNative({ legacy, service }: Action, nativePath: string): boolean {
  const hasBody = service.method === 'POST' || service.method === 'PUT'
  return nativePath !== AT_VERSION_2_PATHS || (legacy.method === 'POST' && hasBody)
}

/** The options of a native request. */
interface NativeOptions {
  readonly nativePath: string
  /** True to leave out the caller's own number: then the service answers with its own. */
  readonly withoutNumber?: boolean
}

/**
 * Builds the request with which the service's own version-1 handling is asked: the documented fields as the caller sent
 * them. Names of a quote or a shipment become the service's id, because the cross-reference is the gateway's.
 */
export function nativeRequest(
  { compiled, fields }: Version1,
  { id }: Pick<Found, 'id'>,
  { nativePath, withoutNumber = false }: NativeOptions,
): ServiceRequest {
  const { action } = compiled
  const left = new Set(id === undefined ? [] : action.target?.namedBy)
  // A booking is recorded by its reference.
  if (withoutNumber && action.family === 'quote') left.add(NUMBER)
  const body: Record<string, string> = {}
  for (const [slot, name] of compiled.fields.names.entries()) {
    const value = fields.values[slot]
    if (typeof value !== 'string' || left.has(name)) continue
    body[name] = name === ACTION_NAME ? knownActionName(action, value) : value
  }
  if (id !== undefined) body[NUMBER] = id
  const namesAnId = id !== undefined
  if (nativePath === AT_VERSION_2_PATHS) {
    const { method, path } = serviceRequest(action, {}, id)
    return { method, path, namesAnId, body }
  }
  const path = `${nativePath === '/' ? '' : nativePath}${action.legacy.paths[0] ?? ''}`
  return action.legacy.method === 'GET'
    ? { method: 'GET', path: `${path}?${new URLSearchParams(body)}`, namesAnId }
    : { method: 'POST', path, namesAnId, body }
}

/** Tells if a call only asks: a read, or a request for a new quote. */
export function onlyAsks(action: Action): boolean {
  return action.service.method === 'GET' || isNewQuote(action)
}

const isNewQuote = ({ family, target, service }: Action) =>
  family === 'quote' && target === undefined && !service.notIdempotent

const NUMBER = 'ShipmentNumber'
const ACTION_NAME = 'ActionName'

/** Replaces a synonym of the operator, which the service does not know, by the documented name. */
function knownActionName({ legacy: { actionNames } }: Action, sent: string): string {
  if (actionNames === 'any') return sent
  const isKnown = actionNames.some((name) => actionKey(name) === actionKey(sent))
  return isKnown ? sent : (actionNames[0] ?? sent)
}
