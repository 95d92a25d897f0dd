import { bookingExample, shipmentExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'

/*
 * The statements of the interface document, one by one, each as a call and what must come of it. It is what the gateway is for.
 */

/** A call of a version-1 or a version-2 client; a body makes it a POST. */
export interface Call {
  readonly method?: string
  readonly path: string
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
}

/** What must come of a call; only what is named is compared. */
export interface Expected {
  /** @default 200 */
  readonly status?: number
  /** `null`: the member is not there. */
  readonly answer?: Readonly<Record<string, unknown>>
  /** `null`: there is none. */
  readonly headers?: Readonly<Record<string, string | null>>
  /** The last request that changes something at the service, or else the last one; `null` is none at all. */
  readonly sends?: {
    readonly method?: string
    readonly path?: string
    /** Place → value; undefined: nothing is there. */
    readonly body?: Readonly<Record<string, unknown>>
    readonly headers?: Readonly<Record<string, string>>
  } | null
}

/** One statement. */
export interface Statement {
  readonly says: string
  /** @default none */
  readonly earlier?: readonly Call[]
  /** Replaces the shipment at the service before the call, and stays its shape. */
  readonly shipment?: object
  readonly env?: Readonly<Record<string, string>>
  readonly call: Call
  readonly expected: Expected
}

export const ID = shipmentExample.id
export const QUOTE = '/getShippingQuote.php'
const CREATE = '/createShipment.php'
const UPDATE = '/updateShipment.php'
const DELETE = '/deleteShipment.php'
const READ = `/getShipment.php?id=${ID}`
const TRIP = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }
const NUMBER = quoteExample.ShipmentNumber
const quoted: Call = { path: QUOTE, body: quoteExample }
const booked: Call = { path: CREATE, body: bookingExample }

/** A shipment with every field that the document shows. */
export const WHOLE = {
  ...shipmentExample,
  price: 1234.5,
  instructions: 'Call before noon',
  documents: [{ id: 'd-1', type: 'bol', url: 'https://service.example/bol.pdf' }],
  customer: {
    customer_name: 'Pat Example',
    customer_type: 'DEALER',
    address: '1 Test Dr',
    city: 'Dallas',
    state: 'TX',
    zipcode: 75234,
    email: 'pat@example.com',
    phone: '2145550000',
    contact_name: 'Pat',
    contact_email: 'pat.contact@example.com',
    contact_phone: '2145550001',
  },
  pickup: {
    ...shipmentExample.pickup,
    location_name: 'Lot 7',
    location_type: 'DEALER',
    available_pickup_dttm: '2024-08-10T08:00:00-0500',
    scheduled_pickup_dttm: '2024-08-10T08:00:00.000-0500',
    scheduled_pickup_dttm_end: '2024-08-10T10:00:00-0500',
    pickup_dttm: '2024-08-10T09:00:00.000-0500',
  },
  delivery: {
    ...shipmentExample.delivery,
    location_type: 'DEALER',
    preferred_delivery_dttm: '2024-08-12T08:00:00-0500',
    scheduled_delivery_dttm: '2024-08-12T08:00:00.000-0500',
    scheduled_delivery_dttm_end: '2024-08-12T10:00:00-0500',
    delivery_dttm: '2024-08-12T09:00:00.000-0500',
  },
  vehicles: [
    {
      ...shipmentExample.vehicles[0],
      trim: 'Base',
      is_modified: false,
      is_inoperable: true,
      notes: 'No keys',
      weight: 8200,
      height: 98,
      width: 84,
      length: 264,
      photos: [
        {
          id: 'p-1',
          type: 'pickup',
          url: 'https://service.example/p-1.jpg',
          latitude: 40.5,
          longitude: -74.2,
          created_dttm: '2024-08-10T09:00:00.000-0500',
        },
      ],
    },
  ],
}

/** The fields of a booking: field, place, the text of version 1, the value of version 2, another text and its value. */
const FIELDS: readonly (readonly [
  v1: string,
  v2: string,
  text: string,
  value: unknown,
  other: string,
  then: unknown,
])[] = [
  ['ReferenceNumber', 'external_id', 'R-1', 'R-1', 'R-2', 'R-2'],
  ['PickupAddress', 'pickup.address', '10 Sample St', '10 Sample St', '11 Sample St', '11 Sample St'],
  ['PickupCity', 'pickup.city', 'Staten Island', 'Staten Island', 'Albany', 'Albany'],
  ['PickupState', 'pickup.state', 'NY', 'NY', 'new jersey', 'NJ'],
  ['PickupZip', 'pickup.zipcode', '02134', 2134, '10001-1234', 10001],
  ['PickupName', 'pickup.contact_name', 'Pam', 'Pam', 'Sam', 'Sam'],
  ['PickupPhNo.', 'pickup.contact_phone', '(718) 555-0100', '7185550100', '+1 718 555 0199', '7185550199'],
  [
    'PickupEmailAddress',
    'pickup.contact_email',
    'lot@example.com',
    'lot@example.com',
    'a@example.com',
    'a@example.com',
  ],
  ['PickupTransportationInstruction', 'pickup.notes', 'Gate 5', 'Gate 5', 'Gate 6', 'Gate 6'],
  ['DeliveryAddress', 'delivery.address', '20 Test Ave', '20 Test Ave', '21 Test Ave', '21 Test Ave'],
  ['DeliveryCity', 'delivery.city', 'Miami', 'Miami', 'Tampa', 'Tampa'],
  ['DeliveryState', 'delivery.state', 'FL', 'FL', 'GA', 'GA'],
  ['DeliveryZip', 'delivery.zipcode', '33166', 33166, '30301', 30301],
  ['DeliveryName', 'delivery.contact_name', 'Robin', 'Robin', 'Alex', 'Alex'],
  ['DeliveryPhNo.', 'delivery.contact_phone', '305-555-0101', '3055550101', '305-555-0199', '3055550199'],
  [
    'DeliveryEmailAddress',
    'delivery.contact_email',
    'r@example.com',
    'r@example.com',
    'b@example.com',
    'b@example.com',
  ],
  ['DeliveryTransportationInstruction', 'delivery.notes', 'Call ahead', 'Call ahead', 'Ring', 'Ring'],
  ['BillToName', 'customer.customer_name', 'Pat Example', 'Pat Example', 'Sam Example', 'Sam Example'],
  ['BillToPhNo.', 'customer.phone', '214-555-0000', '2145550000', '214-555-0009', '2145550009'],
  ['BillToEmailAddress', 'customer.email', 'p@example.com', 'p@example.com', 's@example.com', 's@example.com'],
  ['Year', 'vehicles[0].year', '2023', 2023, '2020', 2020],
  ['Make', 'vehicles[0].make', 'Ford', 'Ford', 'Honda', 'Honda'],
  ['Model', 'vehicles[0].model', 'E-450', 'E-450', 'Civic', 'Civic'],
  ['VinNo', 'vehicles[0].vin', '1fdxe4fn9pdd32477', '1FDXE4FN9PDD32477', '1HGCM82633A004352', '1HGCM82633A004352'],
]

/** Fields of a quote that version 2 has no place for: they are accepted, and go nowhere. */
const NOT_PRICED = [
  ...['TempShipFromCountry', 'TempShipFromStreet1', 'TempShipFromStreet2', 'TempShipFromCity', 'TempShipFromState'],
  ...['TempShipToCountry', 'TempShipToStreet1', 'TempShipToCity', 'TempShipToState', 'CSR', 'BillToCountry'],
  ...['BillToCompany', 'BillToContact', 'BillToStreet1', 'BillToStreet2', 'BillToCity', 'BillToState'],
  ...['BillToPostalCode', 'OrderRefNumber', 'ShipmentNumber'],
] as const

/** The facts of a quote that its booking gets. */
const CUSTOMER: readonly (readonly [fields: object, place: string, value: unknown])[] = [
  [{ BillToCompany: 'Example Motors' }, 'customer.customer_name', 'Example Motors'],
  [{ BillToContact: 'Pat Example~2145550000~~~pat@example.com' }, 'customer.contact_name', 'Pat Example'],
  [{ BillToContact: 'Pat Example~2145550000~~~pat@example.com' }, 'customer.contact_phone', '2145550000'],
  [{ BillToContact: 'Pat Example~2145550000~~~pat@example.com' }, 'customer.contact_email', 'pat@example.com'],
  [{ BillToStreet1: '1 Test Dr', BillToStreet2: 'Suite 2' }, 'customer.address', '1 Test Dr, Suite 2'],
  [{ BillToCity: 'Dallas' }, 'customer.city', 'Dallas'],
  [{ BillToState: 'Texas' }, 'customer.state', 'TX'],
  [{ BillToPostalCode: '75234' }, 'customer.zipcode', 75234],
  [{ EquipmentType: 'ENCLOSED AUTO' }, 'transport_type', 'enclosed'],
  [{ PickupCommodityCode: 'SUV' }, 'vehicles[0].type', 'suv'],
]

/** The places that an update must send back as they are. */
const KEPT = [
  ...['customer.customer_type', 'customer.address', 'customer.city', 'customer.state', 'customer.zipcode'],
  ...['customer.contact_name', 'customer.contact_email', 'customer.contact_phone'],
  ...['pickup.location_name', 'pickup.location_type', 'pickup.available_pickup_dttm', 'pickup.scheduled_pickup_dttm'],
  ...['pickup.scheduled_pickup_dttm_end', 'pickup.pickup_dttm', 'delivery.location_type'],
  ...['delivery.preferred_delivery_dttm', 'delivery.scheduled_delivery_dttm', 'delivery.scheduled_delivery_dttm_end'],
  ...['delivery.delivery_dttm', 'vehicles[0].id', 'vehicles[0].trim', 'vehicles[0].type', 'vehicles[0].is_modified'],
  ...['vehicles[0].is_inoperable', 'vehicles[0].notes', 'transport_type', 'instructions', 'external_id'],
]

/** The places that only the service sets. */
const ONLY_READ = [
  ...['id', 'number', 'status', 'price', 'distance', 'distance_meters', 'documents'],
  ...['vehicles[0].weight', 'vehicles[0].height', 'vehicles[0].width', 'vehicles[0].length', 'vehicles[0].photos'],
]

const EVENTS = [
  ...['shipment.created', 'shipment.modified', 'shipment.assigned', 'shipment.picked_up', 'shipment.delivered'],
  ...['shipment.canceled_by_carrier', 'shipment.canceled', 'shipment.rate_approved', 'shipment.bol_available'],
]

const valueAt = (place: string): unknown =>
  place
    .split(/[.[\]]+/)
    .filter((step) => step !== '')
    .reduce<unknown>((value, step) => Reflect.get(Object(value), step), WHOLE)

const minimal = { PickupZip: '10314', DeliveryZip: '33166', BillToName: 'Pat', VinNo: '1FDXE4FN9PDD32477' }

const quotes: readonly Statement[] = [
  {
    says: 'Get quote: POST /getShippingQuote.php is POST /v2/quote',
    call: quoted,
    expected: { sends: { method: 'POST', path: '/v2/quote' } },
  },
  {
    says: 'POST /getShippingQuoteWTS.php is a quote, too',
    call: { path: '/quotes/getShippingQuoteWTS.php', body: quoteExample },
    expected: { sends: { method: 'POST', path: '/v2/quote' } },
  },
  {
    says: 'Get quote has a form with a query and no body',
    env: { V2_QUOTE_METHOD: 'GET' },
    call: { path: QUOTE, body: { ...TRIP, EquipmentType: 'OPEN AUTO', PickupCommodityCode: 'SUV' } },
    expected: {
      sends: { method: 'GET', path: '/v2/quote?pickup=10314&delivery=33166&vehicle_type=suv&transport_type=open' },
    },
  },
  {
    says: 'Update quote is PUT /v2/quote/{quote_id}',
    earlier: [quoted],
    call: { path: QUOTE, body: { ActionName: 'Update Rate', ShipmentNumber: NUMBER, TempShipToPostalCode: '33101' } },
    expected: { sends: { method: 'PUT', path: '/v2/quote/{quote}', body: { pickup: '10314', delivery: '33101' } } },
  },
  {
    says: 'Approve quote is POST /v2/quote/{quote_id}/approve',
    earlier: [quoted],
    call: { path: QUOTE, body: { ActionName: 'Approve Rate', ShipmentNumber: NUMBER } },
    expected: { sends: { method: 'POST', path: '/v2/quote/{quote}/approve' } },
  },
  ...['Get Rate', 'get_rate', 'GETRATE', 'Get Quote', undefined].map((ActionName) => ({
    says: `ActionName ${ActionName} gets a quote`,
    call: { path: QUOTE, body: { ...TRIP, ...(ActionName !== undefined && { ActionName }) } },
    expected: { sends: { method: 'POST', path: '/v2/quote' }, answer: { Cost: expect2() } },
  })),
  {
    says: 'pickup is a postal code',
    call: quoted,
    expected: { sends: { body: { pickup: '10314' } } },
  },
  {
    says: 'delivery is a postal code',
    call: quoted,
    expected: { sends: { body: { delivery: '33166' } } },
  },
  {
    says: 'vehicle_type is a type such as car',
    call: { path: QUOTE, body: TRIP },
    expected: {
      sends: { body: { vehicle_type: 'car' } },
      headers: { 'transload-assumed': 'vehicle_type=car, transport_type=open' },
    },
  },
  ...[
    ['OPEN AUTO', 'open'],
    ['ENCLOSED AUTO', 'enclosed'],
    ['Enclosed_Auto', 'enclosed'],
  ].map(([EquipmentType, transport_type]) => ({
    says: `EquipmentType ${EquipmentType} is ${transport_type}`,
    call: { path: QUOTE, body: { ...TRIP, EquipmentType } },
    expected: { sends: { body: { transport_type } } },
  })),
  {
    says: 'EquipmentType has no other value',
    call: { path: QUOTE, body: { ...TRIP, EquipmentType: 'HALF OPEN' } },
    expected: { status: 422, sends: null, answer: { Cost: '' } },
  },
  ...[
    [{ PickupCommodityCode: 'BOX TRUCK' }, 'truck_ext'],
    [{ DeliveryCommodityCode: 'VAN' }, 'van'],
    [{ LoadReference: '2023 Ford E-450 RWD, Box Van' }, 'truck_ext'],
  ].map(([kind, vehicle_type]) => ({
    says: `${Object.keys(Object(kind))} describes the vehicle`,
    call: { path: QUOTE, body: { ...TRIP, ...Object(kind) } },
    expected: { sends: { body: { vehicle_type } } },
  })),
  ...NOT_PRICED.map((field) => ({
    says: `${field} is a field of a quote, and no part of its price`,
    call: { path: QUOTE, body: { ...TRIP, [field]: quoteExample[field] || 'Example' } },
    expected: { sends: { body: { [field]: undefined, customer: undefined } } },
  })),
  {
    says: 'Cost is a decimal amount, and ShipmentNumber a string: the caller has its own back',
    call: quoted,
    expected: { answer: { Cost: expect2(), ShipmentNumber: NUMBER } },
  },
  {
    says: 'a quote without a number of the caller has that of the service',
    call: { path: QUOTE, body: TRIP },
    expected: { answer: { ShipmentNumber: '{quote}' } },
  },
  ...CUSTOMER.map(([fields, place, value]) => ({
    says: `a booking has ${Object.keys(fields).join(' and ')} of its quote as ${place}`,
    earlier: [{ path: QUOTE, body: { ...TRIP, ShipmentNumber: 'Q-1', ...fields } }],
    call: {
      path: CREATE,
      body: {
        ...minimal,
        BillToName: '',
        ReferenceNumber: 'Q-1',
        ...(place === 'customer.customer_name' ? {} : { BillToName: 'Pat' }),
      },
    },
    expected: { sends: { method: 'POST', path: '/v2/shipments', body: { [place]: value } } },
  })),
]

const shipments: readonly Statement[] = [
  {
    says: 'Create shipment is POST /v2/shipments',
    call: booked,
    expected: { sends: { method: 'POST', path: '/v2/shipments' } },
  },
  {
    says: 'the singular path is stated as well',
    env: { V2_SHIPMENT_PATH: '/v2/shipment' },
    call: booked,
    expected: { sends: { method: 'POST', path: '/v2/shipment' } },
  },
  {
    says: 'POST /ConfirmBooking is a booking, too',
    call: { path: '/ConfirmBooking', body: { ...bookingExample, ActionName: 'ConfirmBooking' } },
    expected: { sends: { method: 'POST', path: '/v2/shipments' }, answer: { TransportationBooked: 'Yes' } },
  },
  ...['MakeBooking', 'make booking', 'Create Shipment', undefined].map((ActionName) => ({
    says: `ActionName ${ActionName} books`,
    call: { path: CREATE, body: { ...minimal, ...(ActionName !== undefined && { ActionName }) } },
    expected: { answer: { TransportationBooked: 'Yes' } },
  })),
  ...FIELDS.map(([v1, v2, text, value]) => ({
    says: `${v1} of a booking is ${v2}`,
    call: { path: CREATE, body: { ...minimal, [v1]: text } },
    expected: { sends: { body: { [v2]: value } } },
  })),
  {
    says: 'PickupName is the name of the place, too',
    call: { path: CREATE, body: { ...minimal, PickupName: 'Lot' } },
    expected: { sends: { body: { 'pickup.location_name': 'Lot', 'pickup.contact_name': 'Lot' } } },
  },
  ...['PickupPhNo', 'PickupPhNo_', 'pickupphno.'].map((name) => ({
    says: `the name PickupPhNo. ends with a period, and ${name} is the same field`,
    call: { path: CREATE, body: { ...minimal, [name]: '718-555-0100' } },
    expected: { sends: { body: { 'pickup.contact_phone': '7185550100' } } },
  })),
  {
    says: 'a booking answers Message and TransportationBooked, and names the shipment',
    call: booked,
    expected: {
      answer: { Message: 'Transportation booked: shipment number {number}.', TransportationBooked: 'Yes' },
      headers: { 'transload-shipment-number': '{number}', 'transload-shipment-id': '{shipment}' },
    },
  },
  {
    says: 'no id and no version-2 name is in a version-1 answer',
    call: booked,
    expected: { answer: { id: null, number: null, status: null, vehicles: null } },
  },
  {
    says: 'Get shipment is GET /v2/shipments/{shipment_id}',
    shipment: WHOLE,
    call: { path: READ },
    expected: { sends: { method: 'GET', path: `/v2/shipments/${ID}` } },
  },
  ...FIELDS.map(([v1, v2]) => ({
    says: `${v2} is read as ${v1}`,
    shipment: WHOLE,
    call: { path: READ },
    expected: { answer: { [v1]: String(valueAt(v2)) } },
  })),
  ...[
    ['number', 'ShipmentNumber', shipmentExample.number],
    ['price', 'Cost', '1234.50'],
    ['status', 'Status', 'new'],
    ['status', 'TransportationBooked', 'Yes'],
  ].map(([v2, v1 = '', text]) => ({
    says: `${v2} is read as ${v1}`,
    shipment: WHOLE,
    call: { path: READ },
    expected: { answer: { [v1]: text } },
  })),
  {
    says: 'a zipcode is an integer, and has its leading zeros in version 1',
    shipment: { ...WHOLE, pickup: { ...WHOLE.pickup, zipcode: 2134 } },
    call: { path: READ },
    expected: { answer: { PickupZip: '02134' } },
  },
  {
    says: 'a shipment has one or more vehicles: the first is shown, and the Message says how many there are',
    shipment: { ...WHOLE, vehicles: [...WHOLE.vehicles, { id: 'v-2', vin: '1HGCM82633A004352' }] },
    call: { path: READ },
    expected: {
      answer: {
        VinNo: WHOLE.vehicles[0]?.vin,
        Message: 'Shipment TL-100001 is new. It has 2 vehicles; the first one is shown.',
      },
    },
  },
  {
    says: 'Update shipment is PUT /v2/shipments/{shipment_id}',
    shipment: WHOLE,
    call: { path: UPDATE, body: { id: ID, DeliveryCity: 'Tampa' } },
    expected: {
      sends: { method: 'PUT', path: `/v2/shipments/${ID}` },
      answer: { Message: 'Shipment TL-100001 was updated. Changed: DeliveryCity.', TransportationBooked: 'Yes' },
    },
  },
  ...FIELDS.filter(([v1]) => v1 !== 'VinNo').map(([v1, v2, , , other, then]) => ({
    says: `${v1} of an update changes ${v2}`,
    shipment: WHOLE,
    call: { path: UPDATE, body: { id: ID, [v1]: other } },
    expected: { sends: { method: 'PUT', body: { [v2]: then } } },
  })),
  ...KEPT.map((place) => ({
    says: `${place} stays as it is in an update`,
    shipment: WHOLE,
    call: { path: UPDATE, body: { id: ID, PickupName: 'Sam', Make: 'Honda' } },
    expected: { sends: { method: 'PUT', body: { [place]: valueAt(place) } } },
  })),
  ...ONLY_READ.map((place) => ({
    says: `${place} is not in a request`,
    shipment: WHOLE,
    call: { path: UPDATE, body: { id: ID, Make: 'Honda' } },
    expected: { sends: { method: 'PUT', body: { [place]: undefined } } },
  })),
  {
    says: 'Delete shipment is DELETE /v2/shipments/{shipment_id}',
    shipment: WHOLE,
    call: { path: DELETE, body: { id: ID } },
    expected: {
      sends: { method: 'DELETE', path: `/v2/shipments/${ID}` },
      answer: { Message: 'Shipment TL-100001 is canceled.', TransportationBooked: 'No' },
    },
  },
]

const others: readonly Statement[] = [
  ...[
    ['GET', QUOTE],
    ['GET', CREATE],
    ['POST', '/getShipment.php'],
    ['GET', UPDATE],
    ['GET', DELETE],
  ].map(([method = '', path = '']) => ({
    says: `${path} takes no ${method}`,
    call: { method, path },
    expected: { status: 405, sends: null },
  })),
  ...['/getRates.php', '/quotes/trackShipment.php'].map((path) => ({
    says: `${path} is no path of the document`,
    call: { path, body: TRIP },
    expected: { status: 404, sends: null },
  })),
  {
    says: 'every request has a Basic credential',
    call: { ...quoted, headers: { authorization: '' } },
    expected: { status: 401, sends: null, headers: { 'www-authenticate': 'Basic realm="transload", charset="UTF-8"' } },
  },
  {
    says: 'the credential is the Base64 of <CLIENT_ID>:<CLIENT_SECRET>, and the service gets it',
    call: quoted,
    expected: { sends: { headers: { authorization: `Basic ${Buffer.from('demo:demo-secret').toString('base64')}` } } },
  },
  {
    says: 'POST /oauth2/token takes grant_type=client_credentials',
    call: {
      path: '/oauth2/token',
      body: 'grant_type=client_credentials',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    },
    expected: { sends: { method: 'POST', path: '/oauth2/token' } },
  },
  ...[
    ['POST', '/v2/quote', { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'open' }, 200],
    ['GET', '/v2/quote?pickup=10314&delivery=33166&vehicle_type=car&transport_type=open', undefined, 200],
    ['GET', `/v2/shipments/${ID}`, undefined, 200],
    ['GET', `/v2/shipment/${ID}`, undefined, 200],
    ['PUT', `/v2/shipments/${ID}`, { pickup: { city: 'Albany' } }, 200],
    ['DELETE', `/v2/shipments/${ID}`, undefined, 200],
  ].map(([method, path, body, status]) => ({
    says: `${method} ${String(path).split('?')[0]} passes`,
    shipment: WHOLE,
    call: { method: String(method), path: String(path), ...(body !== undefined && { body: Object(body) }) },
    expected: { status: Number(status), sends: { method: String(method), path: String(path) } },
  })),
  {
    says: 'a version-2 body on a version-1 path gets the version-2 answer',
    call: {
      path: CREATE,
      body: { customer: { customer_name: 'Pat' }, pickup: { zipcode: 10314 }, vehicles: [{ vin: 'V' }] },
    },
    expected: { status: 201, answer: { status: 'new', TransportationBooked: null } },
  },
  {
    says: 'the version-1 answer is given only to a version-1 body',
    call: booked,
    expected: { answer: { TransportationBooked: 'Yes', status: null } },
  },
  {
    says: 'a freshly created shipment is new',
    earlier: [booked],
    call: { path: `/getShipment.php?ReferenceNumber=${bookingExample.ReferenceNumber}` },
    expected: { answer: { Status: 'new', TransportationBooked: 'Yes' } },
  },
  {
    says: 'the version-1 host is deprecated since 1 January 2026',
    call: quoted,
    expected: { headers: { deprecation: '@1767225600' } },
  },
  ...EVENTS.map((event) => ({
    says: `${event} is an event`,
    env: { WEBHOOK_SECRET: 'hook-secret-of-the-test' },
    call: {
      path: '/webhooks/hook-secret-of-the-test',
      body: { shipment_id: ID, event, event_date: '2024-08-10T08:00:00+0000' },
    },
    expected: { answer: { duplicate: false } },
  })),
]

/** A marker for an amount with two decimals. */
function expect2(): RegExp {
  return /^\d+\.\d\d$/
}

export const statements: readonly Statement[] = [...quotes, ...shipments, ...others]
