import { eventStatuses } from '../../mappings/shipment-event.ts'
import type { ServiceEvent, ShipmentNames } from '../mapping/callback.ts'
import type { Catalog } from '../mapping/catalog.ts'
import { valueAt } from '../mapping/paths.ts'
import type { Settings } from '../mapping/settings.ts'
import type { CallbackBody, CallbackFormat, StoredEvent } from '../store/events.ts'
import type { Claims } from '../store/store.ts'
import { parseJson } from '../text/json.ts'
import type { Xref } from '../xref/xref.ts'

/** The dependencies of a rendering. */
export interface RenderDeps {
  readonly catalog: Pick<Catalog, 'callbackOf'>
  readonly claims: Pick<Claims, 'claimsOfShipment' | 'listClaims'>
  readonly xref: Pick<Xref, 'remembered'>
}

/** Returns the caller's names for the shipment of an event; undefined if none is known. */
export async function namesOf(
  { tenant, shipment }: Pick<StoredEvent, 'tenant' | 'shipment'>,
  { claims, xref }: RenderDeps,
): Promise<ShipmentNames | undefined> {
  const claim = (await claims.claimsOfShipment(tenant, shipment)).at(-1)
  const { own } = await xref.remembered(tenant, claim?.shipment ?? shipment)
  if (!claim && own === undefined) return undefined
  return { own, number: claim && numberIn(claim.reply), reference: claim?.reference || undefined }
}

/** Tells if a booking of the tenant may still get the shipment of an event: it is under way, or its outcome is not known. */
export async function hasOpenBooking(tenant: string, { claims }: Pick<RenderDeps, 'claims'>): Promise<boolean> {
  const states = ['sending', 'unknown'] as const
  const open = await Promise.all(states.map((state) => claims.listClaims({ tenant, state, limit: 1 })))
  return open.some(({ length }) => length > 0)
}

/** The names of a shipment that the store does not know. */
export const NO_NAMES: ShipmentNames = { own: undefined, number: undefined, reference: undefined }

/** Renders an event in a tenant's format; undefined if no callback is declared for it. */
export function renderEvent(
  event: ServiceEvent,
  names: ShipmentNames,
  { format, settings }: { readonly format: CallbackFormat; readonly settings: Settings },
  { callbackOf }: Pick<Catalog, 'callbackOf'>,
): CallbackBody | undefined {
  const fields = callbackOf(event.event)?.translate(event, { settings, names, statuses: eventStatuses })
  return fields && { format, text: bodyOf(fields, format) }
}

/** Writes flat fields as JSON or as a form. */
export function bodyOf(fields: Readonly<Record<string, string>>, format: CallbackFormat): string {
  return format === 'json' ? JSON.stringify(fields) : new URLSearchParams(fields).toString()
}

/** Reads the event in a stored payload. */
export function storedEvent({ payload, shipment, event, date }: StoredEvent): ServiceEvent {
  // With all digits of numbers.
  const data = valueAt(parseJson(payload), ['data'])
  return { shipment_id: shipment, event, event_date: date, ...(data !== undefined && { data }) }
}

/** Returns the service's number in the stored answer of a booking. */
function numberIn(reply: string): string | undefined {
  if (reply === '') return undefined
  // Only the record of bookings and an operator's settlement write it.
  const { headers }: { readonly headers?: Readonly<Record<string, string>> } = JSON.parse(reply)
  return headers?.['Transload-Shipment-Number']
}
