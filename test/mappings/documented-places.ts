import type { Action } from '../../src/mapping/action.ts'
import { covers } from '../../src/mapping/paths.ts'
import { placesOf } from '../../src/mapping/row-parts.ts'

const below = (place: string, ...names: readonly string[]) => names.map((name) => `${place}.${name}`)

const PARTY = ['address', 'city', 'state', 'zipcode', 'contact_name', 'contact_email', 'contact_phone']
const LOCATION = [...PARTY, 'location_name', 'location_type', 'notes']

/** The places of a shipment that a client may send, as the service documents them. */
const sent = [
  ...['transport_type', 'instructions', 'external_id'],
  ...below('customer', ...PARTY, 'customer_name', 'customer_type', 'email', 'phone'),
  ...below('pickup', ...LOCATION, 'available_pickup_dttm', 'scheduled_pickup_dttm'),
  ...below('pickup', 'scheduled_pickup_dttm_end', 'pickup_dttm'),
  ...below('delivery', ...LOCATION, 'preferred_delivery_dttm', 'scheduled_delivery_dttm'),
  ...below('delivery', 'scheduled_delivery_dttm_end', 'delivery_dttm'),
  ...below('vehicles[0]', 'vin', 'year', 'make', 'model', 'trim', 'type', 'is_modified', 'is_inoperable', 'notes'),
]

/** The places that only the service sets. */
const server = [
  ...['id', 'number', 'status', 'price', 'distance', 'distance_meters', 'documents'],
  ...below('vehicles[0]', 'id', 'weight', 'height', 'width', 'length', 'photos'),
]

/** Returns the documented places that no row of an action covers: in its request, where it sends a shipment, and in its reply. */
export function uncovered({ service, request, reply, family }: Action): readonly string[] {
  if (family === 'quote') return []
  const isIn = (rows: Action['request'], place: string) =>
    rows.flatMap(placesOf).some((covered) => covers(covered, place))
  const sends = service.method === 'POST' ? sent : service.method === 'PUT' ? [...sent, ...server] : []
  return [
    ...sends.filter((place) => !isIn(request, place)),
    ...[...sent, ...server].filter((place) => !isIn(reply, place)),
  ]
}
