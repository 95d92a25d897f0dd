import * as z from 'zod'

// Every refusal: code, status.
const REFUSALS = {
  bad_json: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  validation_failed: 422,
} as const

/** A refusal of the service: thrown anywhere, answered in one place. */
export class DemoRefusal extends Error {
  override readonly name = 'Refusal'
  readonly status: number
  readonly body: object
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(
    code: keyof typeof REFUSALS,
    message: string,
    more: { fields?: readonly object[]; headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.status = REFUSALS[code]
    this.body = { error: { code, message, ...(more.fields && { fields: more.fields }) } }
    this.headers = more.headers
  }
}

/** A 422 that lists every wrong field. */
export function invalid(fields: readonly { readonly field: string; readonly message: string }[]): DemoRefusal {
  const message = fields.map(({ field, message }) => `${field} ${message}`).join('; ')
  return new DemoRefusal('validation_failed', message, { fields })
}

/** Parses with a schema. */
export function check<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body)
  if (parsed.success) return parsed.data
  throw invalid(parsed.error.issues.map(({ path, message }) => ({ field: z.core.toDotPath(path), message })))
}

/** Parses a body that must be a JSON object. */
export function parseBody(text: string): object {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new DemoRefusal('bad_json', 'The body is not JSON')
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

const orRequired = (message: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required' : message),
})
const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.enum(values, `must be one of ${values.join(', ')}`)
const vehicleType = oneOf(['car', 'suv', 'van', 'truck', 'truck_ext', 'work_van', 'service_body'])
const transportType = oneOf(['open', 'enclosed'])
const partyType = oneOf(['AUCTION', 'BUSINESS', 'DEALER', 'PRIVATE', 'REPO_YARD', 'PORT']).optional()
const text = z.string('must be a string').optional()
const flag = z.boolean('must be true or false').optional()
const integer = z.int('must be an integer').optional()
const moment = z
  .string('must be a string')
  .refine(readDate, 'must be a date-time')
  .transform((value) => serviceDate(readDate(value) ?? new Date(0)))
  .optional()
const setByService = z.never('is set by the service and cannot be sent').optional()
const named = <const T extends string, S>(names: readonly T[], schema: S) =>
  // Object.fromEntries does not keep the names.
  Object.fromEntries(names.map((name) => [name, schema])) as Record<T, S>

const postalCode = z
  .string(orRequired('must be a string'))
  .regex(/^(\d{5}(-\d{4})?|[A-Za-z]\d[A-Za-z] ?\d[A-Za-z]\d)$/, 'must be a postal code')

/** The trip of a quote request. */
export const trip = z.object({
  pickup: postalCode,
  delivery: postalCode,
  vehicle_type: vehicleType.default('car'),
  transport_type: transportType.default('open'),
})

const address = {
  ...named(['address', 'city', 'state'], text),
  zipcode: z.int('must be an integer').min(1, 'must be a postal code').max(99999, 'must be a postal code').optional(),
  ...named(['contact_name', 'contact_email', 'contact_phone'], text),
}
const location = { location_name: text, location_type: partyType, ...address, notes: text }
const customer = z.object(
  {
    customer_name: z.string(orRequired('must be a string')).min(1, 'is required'),
    customer_type: partyType,
    ...address,
    ...named(['email', 'phone'], text),
  },
  orRequired('must be an object'),
)
const pickup = z.object(
  {
    ...location,
    ...named(['available_pickup_dttm', 'scheduled_pickup_dttm', 'scheduled_pickup_dttm_end', 'pickup_dttm'], moment),
  },
  orRequired('must be an object'),
)
const delivery = z.object(
  {
    ...location,
    ...named(
      ['preferred_delivery_dttm', 'scheduled_delivery_dttm', 'scheduled_delivery_dttm_end', 'delivery_dttm'],
      moment,
    ),
  },
  'must be an object',
)
const vehicle = z.object(
  {
    vin: text,
    year: integer,
    ...named(['make', 'model', 'trim'], text),
    type: vehicleType.optional(),
    ...named(['is_modified', 'is_inoperable'], flag),
    notes: text,
    ...named(['weight', 'height', 'width', 'length', 'photos'], setByService),
  },
  'must be an object',
)
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
  vehicles: z.array(vehicle.extend({ id: setByService }), orRequired('must be an array')).min(1, 'must not be empty'),
  quote_id: text,
})

/** The body of an update. */
export const change = z.object({
  ...common,
  customer: customer.optional(),
  pickup: pickup.optional(),
  vehicles: z
    .array(vehicle.extend({ id: text }), 'must be an array')
    .min(1, 'must not be empty')
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
