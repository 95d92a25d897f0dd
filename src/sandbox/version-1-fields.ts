import type { Shipment } from './state.ts'

/** A version-1 body: flat, with strings only. */
export type Flat = ReadonlyMap<string, string>

// Version-1 name, part of the version-2 body, field of that part. `update` uses the same rows.
const BOOKING_ROWS: readonly (readonly [string, 'pickup' | 'delivery' | 'customer' | 'vehicle', string])[] = [
  ['PickupAddress', 'pickup', 'address'],
  ['PickupCity', 'pickup', 'city'],
  ['PickupState', 'pickup', 'state'],
  ['PickupZip', 'pickup', 'zipcode'],
  ['PickupName', 'pickup', 'contact_name'],
  ['PickupPhNo.', 'pickup', 'contact_phone'],
  ['PickupEmailAddress', 'pickup', 'contact_email'],
  ['PickupTransportationInstruction', 'pickup', 'notes'],
  ['DeliveryAddress', 'delivery', 'address'],
  ['DeliveryCity', 'delivery', 'city'],
  ['DeliveryState', 'delivery', 'state'],
  ['DeliveryZip', 'delivery', 'zipcode'],
  ['DeliveryName', 'delivery', 'contact_name'],
  ['DeliveryPhNo.', 'delivery', 'contact_phone'],
  ['DeliveryEmailAddress', 'delivery', 'contact_email'],
  ['DeliveryTransportationInstruction', 'delivery', 'notes'],
  ['BillToName', 'customer', 'customer_name'],
  ['BillToPhNo.', 'customer', 'phone'],
  ['BillToEmailAddress', 'customer', 'email'],
  ['Year', 'vehicle', 'year'],
  ['Make', 'vehicle', 'make'],
  ['Model', 'vehicle', 'model'],
  ['VinNo', 'vehicle', 'vin'],
]
const INTEGERS: ReadonlySet<string> = new Set(['zipcode', 'year'])
const ALL_NAMES: ReadonlySet<string> = new Set([
  ...BOOKING_ROWS.map(([name]) => name),
  ...['ActionName', 'ReferenceNumber', 'ShipmentNumber', 'OrderRefNumber', 'EquipmentType', 'LoadReference'],
  ...['TempShipFromPostalCode', 'TempShipToPostalCode', 'PickupCommodityCode', 'DeliveryCommodityCode'],
])

/** Tells whether a body is version 1: it has a field that only version 1 has. */
export function isVersion1(body: object): boolean {
  return Object.keys(body).some((name) => ALL_NAMES.has(name))
}

/** Reads a parsed body as flat strings; blanks and nulls are absent. */
export function flatten(body: Iterable<[string, unknown]>): Flat {
  const flat = new Map<string, string>()
  for (const [name, value] of body) {
    // PHP writes the last dot of a form field's name as an underscore.
    if (value !== null && value !== '') flat.set(name.replace(/PhNo_?$/, 'PhNo.'), String(value))
  }
  return flat
}

/** Translates a version-1 quote body to a quote request. */
export function quoteRequest(flat: Flat): object {
  const equipment = flat.get('EquipmentType')?.toUpperCase()
  const vehicle = flat.get('PickupCommodityCode') ?? flat.get('DeliveryCommodityCode') ?? flat.get('LoadReference')
  return {
    ...present('pickup', flat.get('TempShipFromPostalCode')),
    ...present('delivery', flat.get('TempShipToPostalCode')),
    ...present('vehicle_type', vehicle && vehicleType(vehicle)),
    ...present('transport_type', equipment && (equipment.startsWith('ENCLOSED') ? 'enclosed' : 'open')),
  }
}

/** Translates a version-1 booking or update to a shipment body, merged into the known shipment. */
export function shipmentRequest(flat: Flat, known?: Shipment): object {
  const { weight, height, width, length, photos, ...vehicle } = { ...known?.vehicles[0] }
  const parts = {
    pickup: { ...known?.pickup },
    delivery: { ...known?.delivery },
    customer: { ...known?.customer },
    vehicle: { ...vehicle },
  }
  for (const [name, part, field] of BOOKING_ROWS) {
    const value = flat.get(name)
    if (value !== undefined) Object.assign(parts[part], { [field]: INTEGERS.has(field) ? integer(value) : value })
  }
  const { pickup, delivery, customer } = parts
  return {
    pickup,
    delivery,
    ...(Object.keys(customer).length > 0 && { customer }),
    vehicles: [parts.vehicle],
    ...present('external_id', flat.get('ReferenceNumber')),
  }
}

/** Translates a shipment to version 1. */
export function flatShipment(shipment: Shipment): Record<string, string> {
  const { pickup, delivery, customer, vehicles } = shipment
  const parts: Record<string, object | undefined> = { pickup, delivery, customer, vehicle: vehicles[0] }
  const flat: Record<string, string> = {}
  for (const [name, part, field] of BOOKING_ROWS) {
    const value = new Map(Object.entries(parts[part] ?? {})).get(field)
    flat[name] = value === undefined ? '' : String(value).padStart(field === 'zipcode' ? 5 : 0, '0')
  }
  return {
    ShipmentNumber: shipment.number,
    ReferenceNumber: shipment.external_id ?? '',
    ...flat,
    Cost: shipment.price.toFixed(2),
    Status: shipment.status,
  }
}

// Text that is not a number stays as it is; the check of the version-2 body refuses it by its field.
function integer(text: string): number | string {
  return /^\d{1,5}(-\d{4})?$/.test(text) ? Number(text.split('-', 1)[0]) : text
}

function vehicleType(words: string): string {
  if (/\bsuv\b/i.test(words)) return 'suv'
  if (/box truck/i.test(words)) return 'truck_ext'
  if (/\bvan\b/i.test(words)) return 'van'
  return /truck|pickup/i.test(words) ? 'truck' : 'car'
}

function present(name: string, value: string | undefined): object {
  return value === undefined ? {} : { [name]: value }
}
