import { gatewayError } from '../errors.ts'
import type { Action } from '../mapping/action.ts'
import type { Draft } from '../mapping/paths.ts'
import type { ServiceRequest } from '../service/service.ts'

/** Builds the request that an action makes at the service; the id fills the parameter of its path. */
export function serviceRequest({ service }: Action, body: Draft | string, id: string | undefined): ServiceRequest {
  const { method } = service
  const path = id === undefined ? service.path : service.path.replace(PARAMETER, () => pathSegment(id))
  const namesAnId = id !== undefined
  return method === 'POST' || method === 'PUT' ? { method, path, namesAnId, body } : { method, path, namesAnId }
}

/** Shows a placeholder where an id is not known, for a request that is not sent. */
export function withPlaceholder(request: ServiceRequest, placeholder: string): ServiceRequest {
  return { ...request, path: request.path.replace(PARAMETER, () => placeholder) }
}

/** Builds the read of a shipment by its id, or by the service's number. */
export function shipmentRead(id: string): ServiceRequest {
  return { method: 'GET', path: `/v2/shipments/${pathSegment(id)}`, namesAnId: true }
}

/** Builds the read of what a request changes or cancels. */
export function readOf({ path, namesAnId }: ServiceRequest): ServiceRequest {
  return { method: 'GET', path, namesAnId }
}

/** The `{shipment_id}` of a path. */
const PARAMETER = /\{\w+\}/

/** Encodes an id as one segment of a path. Dots alone are refused, because `..` climbs even when encoded. */
function pathSegment(id: string): string {
  if (/^\.+$/.test(id)) throw gatewayError('number-unknown/dots', {})
  return encodeURIComponent(id)
}
