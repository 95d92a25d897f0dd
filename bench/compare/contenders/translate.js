import { stateCodes } from '../../../mappings/us-states.ts'
import { vehicleTypes } from '../../../mappings/vehicle-types.ts'

/*
 * Translates a quote, a booking and a read, written by hand for these three calls. Every Node contender uses it, and the
 * check before each run compares it with the gateway.
 */

const BETWEEN_WORDS = /[\s,;:./|()[\]"]+/
const LONGEST_PHRASE = 4

/** Normalizes a word: `BOX_TRUCK`, `box truck` and `Box-Truck` are the same. */
const folded = (text) =>
  text
    .toUpperCase()
    .replace(/[\s,;:./|()[\]"_–—-]+/g, ' ')
    .trim()

const types = new Map(Object.entries(vehicleTypes).map(([phrase, type]) => [folded(phrase), type]))
const transports = new Map([
  ['OPEN AUTO', 'open'],
  ['ENCLOSED AUTO', 'enclosed'],
])

/** Returns the vehicle type of the longest known phrase in a description. */
function typeInWords(text = '') {
  const words = text.split(BETWEEN_WORDS).map(folded)
  for (let length = Math.min(LONGEST_PHRASE, words.length); length > 0; length -= 1) {
    for (let start = 0; start + length <= words.length; start += 1) {
      const type = types.get(words.slice(start, start + length).join(' '))
      if (type) return type
    }
  }
  return undefined
}

/** Restores lost leading zeros: `2134` becomes `02134`. */
const zip = (text) => (/^\d{3,4}$/.test(text) ? text.padStart(5, '0') : text)

/** Returns the version-2 body of a version-1 quote. */
export function quoteToVersion2(fields) {
  const { PickupCommodityCode = '', DeliveryCommodityCode = '', EquipmentType = '' } = fields
  return {
    pickup: zip(fields.TempShipFromPostalCode),
    delivery: zip(fields.TempShipToPostalCode),
    vehicle_type:
      types.get(folded(PickupCommodityCode)) ??
      types.get(folded(DeliveryCommodityCode)) ??
      typeInWords(fields.LoadReference) ??
      'car',
    transport_type: transports.get(folded(EquipmentType)) ?? 'open',
  }
}

/** Returns the version-1 reply to a quote, with the caller's number if there is one. */
export function quoteToVersion1(reply, fields) {
  return { Cost: reply.price.toFixed(2), ShipmentNumber: fields.ShipmentNumber || reply.shipment_id }
}

/** Converts a field; a blank becomes undefined, which JSON leaves out. */
function given(text, convert) {
  const trimmed = text?.trim()
  if (!trimmed) return undefined
  return convert ? convert(trimmed) : trimmed
}

/** Returns `(718) 555-0100 ext. 5` as ten digits. */
function phone(text) {
  const digits = text.replace(/(?:ext|x|#).*/i, '').replace(/\D+/g, '')
  return digits.length === 11 && digits.startsWith('1') ? digits.slice(1) : digits
}

/** Normalizes a state: `NY`, `ny` and `New York` are the same. */
function state(text) {
  const letters = text.replace(/[\s.,]+/g, '').toUpperCase()
  return stateCodes.get(letters) ?? letters
}

const zipcode = (text) => Number(text.slice(0, 5))
const vin = (text) => text.replace(/\s+/g, '').toUpperCase()

/** Returns the version-2 body of a version-1 booking. */
export function bookingToVersion2(fields) {
  const pickupName = given(fields.PickupName)
  const deliveryName = given(fields.DeliveryName)
  return {
    external_id: given(fields.ReferenceNumber),
    transport_type: 'open',
    customer: {
      customer_name: given(fields.BillToName),
      phone: given(fields['BillToPhNo.'], phone),
      email: given(fields.BillToEmailAddress),
    },
    pickup: {
      location_name: pickupName,
      address: given(fields.PickupAddress),
      city: given(fields.PickupCity),
      state: given(fields.PickupState, state),
      zipcode: given(fields.PickupZip, zipcode),
      contact_name: pickupName,
      contact_phone: given(fields['PickupPhNo.'], phone),
      contact_email: given(fields.PickupEmailAddress),
      notes: given(fields.PickupTransportationInstruction),
    },
    delivery: {
      location_name: deliveryName,
      address: given(fields.DeliveryAddress),
      city: given(fields.DeliveryCity),
      state: given(fields.DeliveryState, state),
      zipcode: given(fields.DeliveryZip, zipcode),
      contact_name: deliveryName,
      contact_phone: given(fields['DeliveryPhNo.'], phone),
      contact_email: given(fields.DeliveryEmailAddress),
      notes: given(fields.DeliveryTransportationInstruction),
    },
    vehicles: [
      {
        vin: given(fields.VinNo, vin),
        year: given(fields.Year, Number),
        make: given(fields.Make),
        model: given(fields.Model),
      },
    ],
  }
}

/** Returns the version-1 reply to a booking. */
export function bookingToVersion1({ id, number }) {
  const shipment = number ? `shipment number ${number}` : `shipment ${id}`
  return { Message: `Transportation booked: ${shipment}.`, TransportationBooked: 'Yes' }
}

/** Returns the service's path of a shipment. */
export const shipmentPath = (name) => `/v2/shipments/${encodeURIComponent(name)}`

/** Returns a value as text, the only type of version 1. */
const shown = (value) => String(value ?? '')

const shownZip = (value) => (typeof value === 'number' ? String(value).padStart(5, '0') : shown(value))

/** Returns the version-1 reply to a read. */
export function shipmentToVersion1(shipment) {
  const { number, status, customer = {}, pickup = {}, delivery = {}, vehicles = [] } = shipment
  const [vehicle = {}] = vehicles
  const more = vehicles.length > 1 ? ` It has ${vehicles.length} vehicles; one of them is shown.` : ''
  return {
    ShipmentNumber: shown(number),
    ReferenceNumber: shown(shipment.external_id),
    BillToName: shown(customer.customer_name),
    'BillToPhNo.': shown(customer.phone),
    BillToEmailAddress: shown(customer.email),
    PickupAddress: shown(pickup.address),
    PickupCity: shown(pickup.city),
    PickupState: shown(pickup.state),
    PickupZip: shownZip(pickup.zipcode),
    PickupName: shown(pickup.contact_name ?? pickup.location_name),
    'PickupPhNo.': shown(pickup.contact_phone),
    PickupEmailAddress: shown(pickup.contact_email),
    PickupTransportationInstruction: shown(pickup.notes),
    DeliveryAddress: shown(delivery.address),
    DeliveryCity: shown(delivery.city),
    DeliveryState: shown(delivery.state),
    DeliveryZip: shownZip(delivery.zipcode),
    DeliveryName: shown(delivery.contact_name ?? delivery.location_name),
    'DeliveryPhNo.': shown(delivery.contact_phone),
    DeliveryEmailAddress: shown(delivery.contact_email),
    DeliveryTransportationInstruction: shown(delivery.notes),
    VinNo: shown(vehicle.vin),
    Year: shown(vehicle.year),
    Make: shown(vehicle.make),
    Model: shown(vehicle.model),
    Cost: shipment.price?.toFixed(2) ?? '',
    Status: shown(status),
    TransportationBooked: status === 'canceled' ? 'No' : 'Yes',
    Message: (status ? `Shipment ${number} is ${status}.` : `Shipment ${number} was found.`) + more,
  }
}
