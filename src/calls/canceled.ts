import type { IncomingMessage } from 'node:http'
import type { Bookings } from '../bookings/bookings.ts'
import type { Xref } from '../xref/xref.ts'

/** A shipment in the path of a version-2 call. */
const SHIPMENT_PATH = /^\/v2\/shipments?\/([^/?]+)\/?(?:\?|$)/

/** Returns the id, or the number, of the shipment that a version-2 call cancels; undefined if it cancels none. */
export function canceledBy({ method, url = '' }: Pick<IncomingMessage, 'method' | 'url'>): string | undefined {
  const segment = method === 'DELETE' ? SHIPMENT_PATH.exec(url)?.[1] : undefined
  // The router has decoded the path already.
  return segment === undefined ? undefined : decodeURIComponent(segment)
}

/** A shipment, or the quote that may become it, in the path of a version-2 call. */
const CHANGED_PATH = /^\/v2\/(?:shipments?|quote)\/([^/?]+)/
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Returns the id, or the number, of the shipment that a version-2 call may change; undefined if it changes none. */
export function changedBy({ method = '', url = '' }: Pick<IncomingMessage, 'method' | 'url'>): string | undefined {
  const segment = SAFE_METHODS.has(method) ? undefined : CHANGED_PATH.exec(url)?.[1]
  return segment === undefined ? undefined : decodeURIComponent(segment)
}

/** Frees the keys of a shipment that a version-2 call canceled, by its id or by the service's number. */
export async function freeCanceled(
  name: string,
  tenant: string,
  { bookings, xref }: { readonly bookings: Pick<Bookings, 'freeLater'>; readonly xref: Pick<Xref, 'numbered'> },
): Promise<void> {
  // If the store fails, the id of a number stays unknown. That must not fail the call, because the cancellation succeeded.
  const ids = await xref.numbered(tenant, name).catch(() => [])
  for (const id of new Set([name, name.toLowerCase(), ...ids])) await bookings.freeLater(tenant, id)
}
