import { booking } from './client.ts'

/** A booking with every member that the service takes. */
export const CROWDED = {
  customer: {
    customer_name: 'Example Motors',
    customer_type: 'DEALER',
    address: '1 Test Dr',
    city: 'Dallas',
    state: 'TX',
    zipcode: 75234,
    email: 'motors@example.com',
    phone: '2145550100',
    contact_name: 'Kim Example',
    contact_email: 'kim@example.com',
    contact_phone: '2145550101',
  },
  pickup: {
    ...place('TX', 75234),
    available_pickup_dttm: '2030-08-10T08:00:00.000-0500',
    scheduled_pickup_dttm: '2030-08-10T08:00:00+05:30',
    scheduled_pickup_dttm_end: '2030-08-10T08:00:00',
    pickup_dttm: '2030-08-10T08:00Z',
  },
  delivery: {
    ...place('MA', 2134),
    preferred_delivery_dttm: '2030-08-11T08:00:00-0500',
    scheduled_delivery_dttm: '2030-08-12T08:00:00-0500',
    scheduled_delivery_dttm_end: '2030-08-13T08:00:00-0500',
    delivery_dttm: '2030-08-14T08:00:00-0500',
  },
  vehicles: [
    { vin: '1FDXE4FN9PDD32477', year: 2023, make: 'Ford', model: 'E-450', trim: 'XL', type: 'van', notes: 'no key' },
    { vin: '1FDXE4FN9PDD32478', is_modified: true, is_inoperable: false, type: 'service_body' },
    { type: 'car' },
    { type: 'suv' },
    { type: 'truck' },
    {},
  ],
  transport_type: 'enclosed',
  instructions: 'Señor Müller, Łódź',
  external_id: 'TRANSLOAD-TEST-1',
  transload_test: 'x',
}

function place(state: string, zipcode: number) {
  return {
    location_name: 'Example Lot',
    location_type: 'AUCTION',
    address: '2 Test St',
    city: 'Springfield',
    state,
    zipcode,
    contact_name: 'Pat Example',
    contact_email: 'pat@example.com',
    contact_phone: '2145550102',
    notes: 'back gate',
  }
}

const NUMBER = 5
/** Bookings with every kind of mistake. */
export const WRONG_BODIES = [
  {},
  { ...CROWDED, customer: [], pickup: [], delivery: [], vehicles: {} },
  { customer: {}, pickup: {}, vehicles: [] },
  booking({ customer: Object.fromEntries(Object.keys(CROWDED.customer).map((name) => [name, NUMBER])) }),
  booking({ pickup: Object.fromEntries(Object.keys(CROWDED.pickup).map((name) => [name, 'x'])) }),
  booking({ pickup: Object.fromEntries(Object.keys(CROWDED.pickup).map((name) => [name, NUMBER])) }),
  booking({ delivery: Object.fromEntries(Object.keys(CROWDED.delivery).map((name) => [name, 'x'])) }),
  booking({ delivery: Object.fromEntries(Object.keys(CROWDED.delivery).map((name) => [name, 0])) }),
  booking({ delivery: { zipcode: 100_000 }, transport_type: 'OPEN', instructions: NUMBER, external_id: NUMBER }),
  booking({
    vehicles: [
      { vin: NUMBER, year: '2023', make: NUMBER, model: NUMBER, trim: NUMBER, type: 'boat', is_modified: 'no' },
      { id: 'x', is_inoperable: 'no', notes: NUMBER, weight: 1, height: 1, width: 1, length: 1, photos: [] },
      'x',
    ],
  }),
  booking({ id: 1, number: 1, status: 1, price: 1, distance: 1, distance_meters: 1, documents: 1, quote_id: NUMBER }),
]

/** A version-1 request for a quote. */
export const LEGACY_QUOTE = {
  ActionName: 'Get Rate',
  ShipmentNumber: 'Q-1',
  EquipmentType: 'Enclosed Auto',
  TempShipFromPostalCode: '10314',
  TempShipToPostalCode: '33166',
  PickupCommodityCode: 'SUV',
}

/** A version-1 booking with every field that the service knows. */
export const LEGACY_BOOKING = {
  ...Object.fromEntries(
    ['Pickup', 'Delivery'].flatMap((end, i) => [
      [`${end}Address`, `${i + 1} Test Dr`],
      [`${end}City`, 'Dallas'],
      [`${end}State`, 'TX'],
      [`${end}Zip`, `0213${i}`],
      [`${end}Name`, 'Pat Example'],
      [`${end}PhNo_`, `214555010${i}`],
      [`${end}EmailAddress`, `${end.toLowerCase()}@example.com`],
      [`${end}TransportationInstruction`, `${end} notes`],
    ]),
  ),
  BillToName: 'Example Motors',
  'BillToPhNo.': '2145550109',
  BillToEmailAddress: 'motors@example.com',
  Year: '2023',
  Make: 'Ford',
  Model: 'E-450',
  VinNo: '1FDXE4FN9PDD32477',
  ReferenceNumber: 'R-1',
}
