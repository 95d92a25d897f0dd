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
 * The replies of the service: the members are those of its interface document, the lists of values those of its public
 * reference. The gateway reads any reply; these shapes only serve to notice what has changed.
 */

const parties = choice('AUCTION', 'BUSINESS', 'DEALER', 'PRIVATE', 'REPO_YARD', 'PORT')
const address = { address: text, city: text, state: text, zipcode: number }
const contact = { contact_name: text, contact_email: text, contact_phone: text }
const place = { location_name: text, location_type: parties, ...address, ...contact, notes: text }

const photo = object({
  id: text,
  type: choice('sample', 'pickup', 'delivery'),
  url: text,
  latitude: number,
  longitude: number,
  created_dttm: date,
})

const vehicle = object(
  {
    id: text,
    vin: text,
    year: number,
    make: text,
    model: text,
    trim: text,
    type: choice('car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body'),
    is_modified: flag,
    is_inoperable: flag,
    notes: text,
    weight: number,
    height: number,
    width: number,
    length: number,
    photos: list(photo),
  },
  ['id'],
)

const shipment: Members = {
  id: text,
  number: text,
  status: choice('new', 'posted', 'assigned', 'picked_up', 'delivered', 'hold', 'canceled'),
  price: number,
  customer: object({ customer_name: text, customer_type: parties, ...address, email: text, phone: text, ...contact }),
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
  vehicles: list(vehicle),
  distance: number,
  distance_meters: number,
  transport_type: choice('open', 'enclosed'),
  instructions: text,
  documents: list(object({ id: text, type: choice('bol'), url: text })),
  external_id: text,
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
