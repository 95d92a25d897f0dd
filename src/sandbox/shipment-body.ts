import * as z from 'zod'
import { Refusal } from './refusal.ts'
import { readServiceDate, serviceDate } from './service-date.ts'

/** The vehicle types that the service knows. */
export const VEHICLE_TYPES = ['car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body'] as const
/** The ways of transport that the service knows. */
export const TRANSPORT_TYPES = ['open', 'enclosed'] as const
const PARTY_TYPES = ['AUCTION', 'BUSINESS', 'DEALER', 'PRIVATE', 'REPO_YARD', 'PORT'] as const

const orRequired = (message: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required' : message),
})
const required = z.string(orRequired('must be a string')).min(1, 'is required')
const text = z.string('must be a string').optional()
const flag = z.boolean('must be true or false').optional()
const integer = z.int('must be an integer').optional()
const zipcode = z
  .int('must be an integer')
  .min(1, 'must be a postal code')
  .max(99999, 'must be a postal code')
  .optional()
const moment = z
  .string('must be a string')
  .refine((value) => readServiceDate(value), 'must be a date-time')
  .transform((value) => serviceDate(readServiceDate(value) ?? new Date(0)))
  .optional()
const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, `must be one of ${values.join(', ')}`).optional()
const serverOnly = z.never('is set by the service and cannot be sent').optional()

const address = { address: text, city: text, state: text, zipcode }
const contact = { contact_name: text, contact_email: text, contact_phone: text }
const location = { location_name: text, location_type: oneOf(PARTY_TYPES), ...address, ...contact, notes: text }

const customer = z.object(
  { customer_name: required, customer_type: oneOf(PARTY_TYPES), ...address, email: text, phone: text, ...contact },
  orRequired('must be an object'),
)
const pickup = z.object(
  {
    ...location,
    available_pickup_dttm: moment,
    scheduled_pickup_dttm: moment,
    scheduled_pickup_dttm_end: moment,
    pickup_dttm: moment,
  },
  orRequired('must be an object'),
)
const delivery = z.object(
  {
    ...location,
    preferred_delivery_dttm: moment,
    scheduled_delivery_dttm: moment,
    scheduled_delivery_dttm_end: moment,
    delivery_dttm: moment,
  },
  'must be an object',
)
const vehicle = z.object(
  {
    vin: text,
    year: integer,
    make: text,
    model: text,
    trim: text,
    type: oneOf(VEHICLE_TYPES),
    is_modified: flag,
    is_inoperable: flag,
    notes: text,
    weight: serverOnly,
    height: serverOnly,
    width: serverOnly,
    length: serverOnly,
    photos: serverOnly,
  },
  'must be an object',
)
const newVehicle = vehicle.extend({ id: serverOnly })
const knownOrNewVehicle = vehicle.extend({ id: text })

const common = {
  delivery: delivery.optional(),
  transport_type: oneOf(TRANSPORT_TYPES),
  instructions: text,
  external_id: text,
  id: serverOnly,
  number: serverOnly,
  status: serverOnly,
  price: serverOnly,
  distance: serverOnly,
  distance_meters: serverOnly,
  documents: serverOnly,
}
const creation = z.object({
  ...common,
  customer,
  pickup,
  vehicles: z.array(newVehicle, orRequired('must be an array')).min(1, 'must not be empty'),
  quote_id: text,
})
const change = z.object({
  ...common,
  customer: customer.optional(),
  pickup: pickup.optional(),
  vehicles: z.array(knownOrNewVehicle, 'must be an array').min(1, 'must not be empty').optional(),
})

/** The customer of a shipment. */
export type Customer = z.infer<typeof customer>
/** The pickup of a shipment. */
export type Pickup = z.infer<typeof pickup>
/** The delivery of a shipment. */
export type Delivery = z.infer<typeof delivery>
/** A vehicle as a client may send it. */
export type VehicleInput = z.infer<typeof knownOrNewVehicle>
/** The body of a create request, checked; dates as the service writes them. */
export type ShipmentCreation = z.infer<typeof creation>
/** The body of an update request, checked. */
export type ShipmentChange = z.infer<typeof change>

/** Checks the body of a create request; throws a 422 that names every wrong field. */
export function readCreation(body: unknown): ShipmentCreation {
  return check(creation, body)
}

/** Checks the body of an update request; throws a 422 that names every wrong field. */
export function readChange(body: unknown): ShipmentChange {
  return check(change, body)
}

/** Parses with a schema; throws a 422 that names every wrong field. */
export function check<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const { formErrors, fieldErrors } = z.flattenError(parsed.error, ({ path, message }) => ({
    field: path.reduce<string>(nameField, ''),
    message,
  }))
  const fields = [
    ...formErrors,
    ...Object.values<typeof formErrors | undefined>(fieldErrors).flatMap((list) => list ?? []),
  ]
  const message = fields.map(({ field, message }) => `${field} ${message}`).join('; ')
  throw new Refusal('validation_failed', message, { fields })
}

function nameField(path: string, part: PropertyKey): string {
  if (typeof part === 'number') return `${path}[${part}]`
  return path === '' ? String(part) : `${path}.${String(part)}`
}
