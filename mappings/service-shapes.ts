import {
  any,
  choice,
  date,
  flag,
  list,
  type Members,
  number,
  object,
  type Shape,
  text,
} from '../src/language/mapping/shape.ts'

/*
 * The replies of the service: the members are those of its interface document, and the lists of values those of its public
 * reference. The reference has no list of document types: `bol` is the one that the interface document shows. The gateway
 * reads any reply; these shapes only serve to notice what has changed, and to check new code.
 */

const zipcode: Shape = { kind: 'number', form: { pattern: /^\d{1,5}$/, says: 'is an integer of five digits at most' } }
const year: Shape = { kind: 'number', form: { pattern: /^\d{4}$/, says: 'is an integer of four digits' } }
const phone: Shape = { kind: 'text', form: { pattern: /^\d*$/, says: 'has digits only' } }
const state: Shape = { kind: 'text', form: { pattern: /^(?:[A-Z]{2})?$/, says: 'is two capital letters' } }
const parties = choice('AUCTION', 'BUSINESS', 'DEALER', 'PRIVATE', 'REPO_YARD', 'PORT')
const vehicleType = choice('car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body')
const transportType = choice('open', 'enclosed')
const address = { address: text, city: text, state, zipcode }
const contact = { contact_name: text, contact_email: text, contact_phone: phone }
const place = { location_name: text, location_type: parties, ...address, ...contact, notes: text }

const photo = object({
  id: text,
  type: choice('sample', 'pickup', 'delivery'),
  url: text,
  latitude: number,
  longitude: number,
  created_dttm: date,
})

/** The members that a request may send. */
const vehicle: Members = {
  vin: text,
  year,
  make: text,
  model: text,
  trim: text,
  type: vehicleType,
  is_modified: flag,
  is_inoperable: flag,
  notes: text,
}

const customer: Members = { customer_name: text, customer_type: parties, ...address, email: text, phone, ...contact }

/** The members that a request may send, besides its vehicles. */
const trip: Members = {
  customer: object(customer),
  pickup: object({
    ...place,
    available_pickup_dttm: date,
    scheduled_pickup_dttm: date,
    scheduled_pickup_dttm_end: date,
    pickup_dttm: date,
  }),
  delivery: object({
    ...place,
    preferred_delivery_dttm: date,
    scheduled_delivery_dttm: date,
    scheduled_delivery_dttm_end: date,
    delivery_dttm: date,
  }),
  transport_type: transportType,
  instructions: text,
  external_id: text,
}

const shipment: Members = {
  ...trip,
  id: text,
  number: text,
  status: choice('new', 'posted', 'assigned', 'picked_up', 'delivered', 'hold', 'canceled'),
  price: number,
  vehicles: list(
    object(
      { ...vehicle, id: text, weight: number, height: number, width: number, length: number, photos: list(photo) },
      ['id'],
    ),
  ),
  distance: number,
  distance_meters: number,
  documents: list(object({ id: text, type: choice('bol'), url: text })),
}

const quote: Members = { shipment_id: text, price: number }

/** The document does not show these replies: they may be a quote, a shipment, or say that the change is made. */
const changed: Members = { ...shipment, ...quote, quote_id: text, success: flag, message: text }
/** A quote has a status of its own, whose values are not known. */
const changedQuote = object({ ...changed, status: any })
const changedShipment = object(changed)

/** The shape of the service's reply to each action. */
export const replyShapes: Readonly<Record<string, Shape>> = {
  'quote.get': object(quote, ['shipment_id', 'price']),
  'quote.update': changedQuote,
  'quote.approve': changedQuote,
  'shipment.create': object(shipment, ['id', 'number', 'status', 'price', 'vehicles']),
  'shipment.get': object(shipment, ['id', 'number', 'status', 'price', 'vehicles']),
  'shipment.update': changedShipment,
  'shipment.cancel': changedShipment,
}

const priced: Members = { pickup: text, delivery: text, vehicle_type: vehicleType, transport_type: transportType }

/**
 * The shape of the body of each request. For a new shipment, the public reference requires `customer` with its name, and
 * `pickup`, and knows `quote_id`. The rest of what is required is ours: a trip ends somewhere and carries something, and a
 * shipment without a reference cannot be recognized when it is booked again.
 */
export const requestShapes: Readonly<Record<string, Shape>> = {
  'quote.get': object(priced, ['pickup', 'delivery']),
  'quote.update': object(priced),
  'quote.approve': object({}),
  'shipment.create': object(
    {
      ...trip,
      customer: object(customer, ['customer_name']),
      vehicles: list(object(vehicle)),
      quote_id: text,
    },
    ['customer', 'pickup', 'delivery', 'vehicles', 'external_id'],
  ),
  'shipment.update': object({ ...trip, vehicles: list(object({ ...vehicle, id: text }, ['id'])) }, [
    'pickup',
    'vehicles',
  ]),
}
