import type { Tenant } from '../config/tenants-file.ts'
import type { Settings } from '../mapping/settings.ts'
import { compileNetworks, type Networks } from '../networks.ts'
import type { CallbackFormat } from '../store/events.ts'
import type { SigningKey } from '../webhook-signature.ts'

/** A tenant's callback. */
export interface Endpoint {
  readonly tenant: string
  readonly url: URL
  readonly format: CallbackFormat
  /** Each signs every delivery; without one, deliveries are not signed. */
  readonly keys: readonly SigningKey[]
  /** Networks that are not public and may be called all the same. */
  readonly allowed: Networks
  readonly settings: Settings
}

/** Returns the endpoint of a tenant; undefined if it has no callback. */
export function endpointOf(
  { name, callback, shipment_number: number }: Tenant,
  common: Settings,
): Endpoint | undefined {
  if (!callback) return undefined
  const { url, format, keys, networks } = callback
  const settings = { ...common, shipment_number: number ?? common.shipment_number }
  return { tenant: name, url, format, keys, allowed: compileNetworks(networks), settings }
}

/** Returns the address of an endpoint for people: without user name, password and query, which may be secrets. */
export function shownUrl({ origin, pathname, search }: URL): string {
  return origin + pathname + (search === '' ? '' : '?***')
}
