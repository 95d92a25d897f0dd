import { scalarText } from '../text/json.ts'

/** The beginning of every reference of a test booking, by which people and programs recognize it. */
export const REFERENCE_PREFIX = 'TRANSLOAD-TEST-'

/** The trip of every quote: two postal codes of large cities. */
export const TRIP = { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'open' } as const

/** The VIN of every test vehicle; the last digit changes where a check needs two. */
export const VIN = '1FDXE4FN9PDD32477'
export const OTHER_VIN = '1FDXE4FN9PDD32478'

/** Text with letters outside ASCII, as addresses have them. */
export const INSTRUCTIONS = 'Transload test booking: do not dispatch. Señor Müller, Łódź.'

/** The body of a test booking, with invented people and telephone numbers. */
export function bookingBody(reference: string): Record<string, unknown> {
  return {
    customer: {
      customer_name: 'Transload Test',
      address: '1 Test Dr',
      city: 'Dallas',
      state: 'TX',
      zipcode: 75234,
      email: 'test@example.com',
      phone: '2145550100',
    },
    pickup: {
      contact_name: 'Pat Example',
      contact_phone: '2145550101',
      address: '1 Test Dr',
      city: 'Dallas',
      state: 'TX',
      zipcode: 75234,
      notes: 'Test',
    },
    delivery: {
      contact_name: 'Sam Example',
      contact_phone: '6175550102',
      address: '2 Test St',
      city: 'Boston',
      state: 'MA',
      zipcode: 2134,
      notes: 'Test',
    },
    vehicles: [{ vin: VIN, year: 2023, make: 'Ford', model: 'E-450', type: 'van' }],
    transport_type: 'open',
    instructions: INSTRUCTIONS,
    external_id: reference,
  }
}

/** The members of a shipment, and of its vehicles, that only the service sets: an update does not send them. */
const SET_BY_SERVICE = ['id', 'number', 'status', 'price', 'distance', 'distance_meters', 'documents']
const SET_IN_VEHICLES = ['weight', 'height', 'width', 'length', 'photos']

/** Returns the body of an update that changes nothing: a shipment as it was read, with the ids of its parts. */
export function updateBody(shipment: unknown): Record<string, unknown> {
  const whole = without(shipment, SET_BY_SERVICE)
  const { vehicles } = whole
  if (!Array.isArray(vehicles)) return whole
  return { ...whole, vehicles: vehicles.map((vehicle) => without(vehicle, SET_IN_VEHICLES)) }
}

/** Returns an object without some members, and without those that are null, such as empty ones. */
export function without(value: unknown, names: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(Object.entries(value).filter(([name, one]) => !names.includes(name) && one !== null))
}

/** Returns true for the reference of a test booking. */
export const isTestReference = (value: unknown): boolean => (scalarText(value) ?? '').startsWith(REFERENCE_PREFIX)
