import { type Row, setByService, v2Only } from '../src/language/mapping/declare.ts'

/** Places of a shipment that a version-1 booking has no field for. */
export const shipmentOnlyRows: readonly Row[] = [
  ...v2Only(
    ['customer.customer_type', 'pickup.location_type', 'delivery.location_type'],
    'version 1 has no party types',
  ),
  ...v2Only(
    [
      'pickup.available_pickup_dttm',
      'pickup.scheduled_pickup_dttm',
      'pickup.scheduled_pickup_dttm_end',
      'pickup.pickup_dttm',
      'delivery.preferred_delivery_dttm',
      'delivery.scheduled_delivery_dttm',
      'delivery.scheduled_delivery_dttm_end',
      'delivery.delivery_dttm',
    ],
    'version-1 bookings have no dates',
  ),
  ...v2Only(
    ['vehicles[0].trim', 'vehicles[0].is_modified', 'vehicles[0].is_inoperable', 'vehicles[0].notes'],
    'version 1 describes a vehicle only by year, make, model and VIN',
  ),
  ...v2Only(['instructions'], 'version 1 has instructions only for pickup and delivery'),
]

/** Places of a shipment that only the remembered quote can fill. */
export const quoteOnlyPlaces: readonly Row[] = v2Only(
  [
    'customer.address',
    'customer.city',
    'customer.state',
    'customer.zipcode',
    'customer.contact_name',
    'customer.contact_email',
    'customer.contact_phone',
  ],
  'version 1 has no field for it',
)

/** Places that a caller may send and a read does not show. */
export const unshownKinds: readonly Row[] = v2Only(['vehicles[0].type'], 'version 1 has several codes for it')

/** Places that only the service sets and no version-1 reply shows. */
export const serverRows: readonly Row[] = [
  ...setByService(['id', 'distance', 'distance_meters', 'documents'], 'version 1 does not show it'),
  ...setByService(
    ['vehicles[0].weight', 'vehicles[0].height', 'vehicles[0].width', 'vehicles[0].length', 'vehicles[0].photos'],
    'the service measures the vehicle',
  ),
]

/** Places that only the service sets and a version-1 reply shows. */
export const shownServerRows: readonly Row[] = setByService(['number', 'status', 'price'], 'the service sets it')

/** The ids of a shipment's parts: an update must send them back, and version 1 never sees them. */
export const partIdRows: readonly Row[] = v2Only(['vehicles[0].id'], 'the gateway keeps it for the caller')

/** The whole shipment, where the version-1 reply is a message only. */
export const wholeShipmentRows = (why: string): readonly Row[] =>
  v2Only(
    [
      ...['id', 'number', 'external_id', 'status', 'price', 'distance', 'distance_meters', 'documents'],
      ...['transport_type', 'instructions', 'customer', 'pickup', 'delivery', 'vehicles'],
    ],
    why,
  )
