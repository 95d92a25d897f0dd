import {
  choose,
  move,
  quoteFact,
  type Row,
  ref,
  setByService,
  split,
  v1Only,
  v2Only,
} from '../src/language/mapping/declare.ts'
import { fieldsOf } from '../src/language/mapping/row-parts.ts'
import { email, locationName, phone, state, text, vin, year, zipcode } from './codecs.ts'

/** The fields that name a shipment and never change it. */
export const shipmentNames = [
  'ShipmentNumber',
  'ReferenceNumber',
  'OrderRefNumber',
  'shipment_id',
  'id',
  'number',
] as const

/** The fields that only name the shipment. */
export const nameRows: readonly Row[] = shipmentNames.map((name) =>
  ref(name, 'identifies the shipment; its id is in the path'),
)

/** The fields of a call that needs only the name of a shipment. */
export const namingRows = (why: string): readonly Row[] => [
  ...nameRows,
  ref('VinNo', 'selects one of several shipments with the same number'),
  ...v1Only(['ActionName'], 'the path determines the action'),
  ...v1Only(
    bookingRows.flatMap(fieldsOf).filter((v1) => v1 !== 'ReferenceNumber' && v1 !== 'VinNo'),
    why,
  ),
]

const locationRows = (v1: 'Pickup' | 'Delivery', v2: 'pickup' | 'delivery'): readonly Row[] => [
  move(`${v1}Address`, `${v2}.address`, text),
  move(`${v1}City`, `${v2}.city`, text),
  move(`${v1}State`, `${v2}.state`, state),
  move(`${v1}Zip`, `${v2}.zipcode`, zipcode),
  split(`${v1}Name`, { location_name: `${v2}.location_name`, contact_name: `${v2}.contact_name` }, locationName),
  move(`${v1}PhNo.`, `${v2}.contact_phone`, phone),
  move(`${v1}EmailAddress`, `${v2}.contact_email`, email),
  move(`${v1}TransportationInstruction`, `${v2}.notes`, text),
]

/** The fields of a booking, which are the same for creating, reading and changing a shipment. */
export const bookingRows: readonly Row[] = [
  move('ReferenceNumber', 'external_id', text),
  // A phone number or an e-mail address is never the name.
  move('BillToName', 'customer.customer_name', text, { fallbacks: [quoteFact('customer_name', 'contact_name')] }),
  move('BillToPhNo.', 'customer.phone', phone),
  move('BillToEmailAddress', 'customer.email', email),
  ...locationRows('Pickup', 'pickup'),
  ...locationRows('Delivery', 'delivery'),
  move('VinNo', 'vehicles[0].vin', vin),
  move('Year', 'vehicles[0].year', year),
  move('Make', 'vehicles[0].make', text),
  move('Model', 'vehicles[0].model', text),
]

/** The same for an existing shipment: the data of a remembered quote may be older than the service's. */
export const bookedRows: readonly Row[] = bookingRows.map((row) =>
  row.kind === 'move' ? { ...row, fallbacks: [] } : row,
)

/** Derives from its status whether a shipment is booked. */
export const bookedByStatus: Row = choose('TransportationBooked', 'status', { canceled: 'No', cancelled: 'No' }, 'Yes')

/** Places of a shipment for which a version-1 booking has no field. */
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

/** Facts about a customer that only the remembered quote has. */
export const quoteOnlyFacts: readonly string[] = [
  'address',
  'city',
  'state',
  'zipcode',
  'contact_name',
  'contact_email',
  'contact_phone',
]

/** The places of these facts in a shipment. */
export const quoteOnlyPlaces: readonly Row[] = v2Only(
  quoteOnlyFacts.map((fact) => `customer.${fact}`),
  'version 1 has no field for it',
)

/** Places that a caller may send but a read does not show. */
export const unshownKinds: readonly Row[] = v2Only(['vehicles[0].type'], 'version 1 has several codes for it')

/** Places that only the service sets and no version-1 reply shows. */
export const serverRows: readonly Row[] = [
  ...setByService(['id', 'distance', 'distance_meters', 'documents'], 'version 1 does not show it'),
  ...setByService(
    ['vehicles[0].weight', 'vehicles[0].height', 'vehicles[0].width', 'vehicles[0].length', 'vehicles[0].photos'],
    'the service measures the vehicle',
  ),
]

/** Places that only the service sets but a version-1 reply shows. */
export const shownServerRows: readonly Row[] = setByService(['number', 'status', 'price'], 'the service sets it')

/** The ids of a shipment's parts: an update must send them back, but version 1 never sees them. */
export const partIdRows: readonly Row[] = v2Only(['vehicles[0].id'], 'the gateway keeps it for the caller')

/** The whole shipment, where the version-1 reply is only a message. */
export const wholeShipmentRows = (why: string): readonly Row[] =>
  v2Only(
    [
      ...['id', 'number', 'external_id', 'status', 'price', 'distance', 'distance_meters', 'documents'],
      ...['transport_type', 'instructions', 'customer', 'pickup', 'delivery', 'vehicles'],
    ],
    why,
  )

/** A booking as legacy callers send it. */
export const bookingExample = {
  ActionName: 'MakeBooking',
  ReferenceNumber: 'WTS20250216191244',
  PickupAddress: '10 Sample St',
  PickupCity: 'Staten Island',
  PickupState: 'NY',
  PickupZip: '10314',
  PickupName: 'Example Motors',
  'PickupPhNo.': '(718) 555-0100',
  PickupEmailAddress: 'lot@example.com',
  DeliveryAddress: '20 Test Ave',
  DeliveryCity: 'Miami',
  DeliveryState: 'FL',
  DeliveryZip: '33166',
  DeliveryName: 'Robin Example',
  'DeliveryPhNo.': '305-555-0101',
  DeliveryEmailAddress: 'robin@example.com',
  BillToName: 'Pat Example',
  'BillToPhNo.': '214-555-0000',
  BillToEmailAddress: 'pat@example.com',
  Year: '2023',
  Make: 'Ford',
  Model: 'E-450',
  VinNo: '1FDXE4FN9PDD32477',
  PickupTransportationInstruction: 'Gate code 1234',
  DeliveryTransportationInstruction: 'Call ahead',
} as const

/** The service's answer to that booking. */
export const shipmentExample = {
  id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11',
  number: 'TL-100001',
  status: 'new',
  price: 1234.5,
  customer: { customer_name: 'Pat Example', phone: '2145550000', email: 'pat@example.com' },
  pickup: {
    location_name: 'Example Motors',
    address: '10 Sample St',
    city: 'Staten Island',
    state: 'NY',
    zipcode: 10314,
    contact_name: 'Example Motors',
    contact_email: 'lot@example.com',
    contact_phone: '7185550100',
    notes: 'Gate code 1234',
  },
  delivery: {
    location_name: 'Robin Example',
    address: '20 Test Ave',
    city: 'Miami',
    state: 'FL',
    zipcode: 33166,
    contact_name: 'Robin Example',
    contact_email: 'robin@example.com',
    contact_phone: '3055550101',
    notes: 'Call ahead',
  },
  vehicles: [
    {
      id: '0d4f1b1c-3f0e-4c58-8a53-5a3f4de0b801',
      vin: '1FDXE4FN9PDD32477',
      year: 2023,
      make: 'Ford',
      model: 'E-450',
      type: 'truck_ext',
    },
  ],
  distance: 1290,
  distance_meters: 2076054,
  transport_type: 'open',
  documents: [],
  external_id: 'WTS20250216191244',
} as const
