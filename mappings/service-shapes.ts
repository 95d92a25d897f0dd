import { choice, date, flag, list, type Members, object, type Shape, text } from '../src/language/mapping/shape.ts'
import { UUID } from '../src/language/text/service-text.ts'

/*
 * The requests of version 2: the members are those of the service's interface document, and the lists of values those of its
 * public reference. They serve to check new code.
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

const id: Shape = { kind: 'text', form: { pattern: UUID, says: 'is the UUID that the service gave the vehicle' } }

const pickup: Members = {
  ...place,
  available_pickup_dttm: date,
  scheduled_pickup_dttm: date,
  scheduled_pickup_dttm_end: date,
  pickup_dttm: date,
}

const delivery: Members = {
  ...place,
  preferred_delivery_dttm: date,
  scheduled_delivery_dttm: date,
  scheduled_delivery_dttm_end: date,
  delivery_dttm: date,
}

/** A shipment without its vehicles. */
const trip: Members = {
  customer: object(customer),
  pickup: object(pickup),
  delivery: object(delivery),
  transport_type: transportType,
  instructions: text,
  external_id: text,
}

const priced: Members = { pickup: text, delivery: text, vehicle_type: vehicleType, transport_type: transportType }

/**
 * The shape of the body of each request. For a new shipment, the public reference requires `customer` with its name, and
 * `pickup`, and knows `quote_id`. The rest of what is required is ours: a trip ends somewhere and carries something, and a
 * shipment without a reference cannot be recognized when it is booked again. An update replaces the whole shipment: what each
 * shipment has must be there.
 */
export const requestShapes: Readonly<Record<string, Shape>> = {
  'quote.get': object(priced, ['pickup', 'delivery']),
  'quote.update': object(priced),
  'quote.approve': object({}),
  'shipment.create': object(
    {
      ...trip,
      customer: object(customer, ['customer_name']),
      pickup: object(pickup, [], ['zipcode', 'city']),
      delivery: object(delivery, [], ['zipcode', 'city']),
      vehicles: list(object(vehicle)),
      quote_id: text,
    },
    ['customer', 'pickup', 'delivery', 'vehicles', 'external_id'],
  ),
  'shipment.update': object(
    {
      ...trip,
      customer: object(customer, ['customer_name']),
      pickup: object(pickup, [], ['zipcode', 'city']),
      delivery: object(delivery, [], ['zipcode', 'city']),
      vehicles: list(object({ ...vehicle, id }, ['id'])),
    },
    ['customer', 'pickup', 'delivery', 'vehicles', 'transport_type'],
  ),
}
