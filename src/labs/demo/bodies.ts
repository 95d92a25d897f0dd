import * as z from 'zod'

// Every refusal: code, status.
const REFUSALS = {
  bad_json: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  validation_failed: 422,
} as const

/** A refusal of the service: thrown anywhere, answered in one place. */
export class DemoRefusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly body: object
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(code: keyof typeof REFUSALS, message: string, headers?: Readonly<Record<string, string>>) {
    super(message)
    this.headers = headers
    this.status = REFUSALS[code]
    this.body = { error: { code, message } }
  }
}

/** Parses with a schema; a refusal lists every wrong field. */
export function check<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => `${z.core.toDotPath(path)} ${message}`)
  throw new DemoRefusal('validation_failed', faults.join('; '))
}

/** Parses a body that must be a JSON object. */
export function parseBody(text: string): object {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    // It is answered like other JSON.
  }
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  throw new DemoRefusal('bad_json', 'The body must be a JSON object')
}

/** Writes a date as the service does: UTC, whole seconds, an offset without a colon. */
export const serviceDate = (date: Date): string => `${date.toISOString().slice(0, 19)}+0000`

const MOMENT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2})?(?:\.\d{1,9})?(?:Z|([+-]\d{2}):?(\d{2}))?$/

/** Reads a date-time, which is UTC unless it has an offset; undefined for other text. */
function readDate(text: string): Date | undefined {
  const [whole, day, minutes, seconds = ':00', hours = '+00', rest = '00'] = MOMENT.exec(text) ?? []
  const date = new Date(`${day}T${minutes}${seconds}${hours}:${rest}`)
  return whole === undefined || Number.isNaN(date.getTime()) ? undefined : date
}

const transportType = z.enum(['open', 'enclosed'])
const vehicleType = z.enum(['car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body'])
const partyType = z.enum(['AUCTION', 'BUSINESS', 'DEALER', 'PRIVATE', 'REPO_YARD', 'PORT']).optional()
const text = z.string().optional()
const flag = z.boolean().optional()
const moment = z
  .string()
  .refine(readDate, 'must be a date-time')
  .transform((value) => serviceDate(readDate(value) ?? new Date(0)))
  .optional()
const setByService = z.never('is set by the service').optional()
const named = <const T extends string, S>(names: readonly T[], schema: S) =>
  // Object.fromEntries does not keep the names.
  Object.fromEntries(names.map((name) => [name, schema])) as Record<T, S>

const postalCode = z.string().regex(/^(\d{5}(-\d{4})?|[A-Za-z]\d[A-Za-z] ?\d[A-Za-z]\d)$/, 'must be a postal code')

/** The trip of a quote request. */
export const trip = z.object({
  pickup: postalCode,
  delivery: postalCode,
  vehicle_type: vehicleType.default('car'),
  transport_type: transportType.default('open'),
})

const address = {
  ...named(['address', 'city', 'state', 'contact_name', 'contact_email', 'contact_phone'], text),
  zipcode: z.int().min(1).max(99999).optional(),
}
const location = { location_type: partyType, ...address, ...named(['location_name', 'notes'], text) }
const customer = z.object({
  customer_name: z.string().min(1),
  customer_type: partyType,
  ...address,
  ...named(['email', 'phone'], text),
})
const pickup = z.object({
  ...location,
  ...named(['available_pickup_dttm', 'scheduled_pickup_dttm', 'scheduled_pickup_dttm_end', 'pickup_dttm'], moment),
})
const delivery = z.object({
  ...location,
  ...named(
    ['preferred_delivery_dttm', 'scheduled_delivery_dttm', 'scheduled_delivery_dttm_end', 'delivery_dttm'],
    moment,
  ),
})
const vehicle = z.object({
  year: z.int().optional(),
  type: vehicleType.optional(),
  ...named(['vin', 'make', 'model', 'trim', 'notes'], text),
  ...named(['is_modified', 'is_inoperable'], flag),
  ...named(['weight', 'height', 'width', 'length', 'photos'], setByService),
})
const common = {
  delivery: delivery.optional(),
  transport_type: transportType.optional(),
  ...named(['instructions', 'external_id'], text),
  ...named(['id', 'number', 'status', 'price', 'distance', 'distance_meters', 'documents'], setByService),
}

/** The body of a booking. */
export const creation = z.object({
  ...common,
  customer,
  pickup,
  vehicles: z.array(vehicle.extend({ id: setByService })).min(1),
  quote_id: text,
})

/** The body of an update. */
export const change = z.object({
  ...common,
  customer: customer.optional(),
  pickup: pickup.optional(),
  vehicles: z
    .array(vehicle.extend({ id: text }))
    .min(1)
    .optional(),
})

type SetByService = 'weight' | 'height' | 'width' | 'length'

/** A vehicle in the service's replies. */
export type DemoVehicle = Omit<z.infer<typeof vehicle>, SetByService | 'photos'> &
  Record<SetByService, number> & { id: string; photos: object[] }

/** A shipment in the service's replies. */
export type DemoShipment = Pick<z.infer<typeof change>, 'customer' | 'delivery' | 'instructions' | 'external_id'> & {
  id: string
  number: string
  status: 'new' | 'posted' | 'assigned' | 'picked_up' | 'delivered' | 'hold' | 'canceled'
  price: number
  pickup: z.infer<typeof pickup>
  vehicles: DemoVehicle[]
  distance: number
  distance_meters: number
  transport_type: string
  documents: object[]
}
