import { randomUUID } from 'node:crypto'
import type { DemoReply, DemoRequest, DemoService } from '../../src/labs/demo/service.ts'

/** The kind of a request. */
type Kind =
  | 'token'
  | 'quote'
  | 'quote update'
  | 'approval'
  | 'booking'
  | 'read'
  | 'update'
  | 'cancellation'
  | 'version 1'
  | 'other'

/** A request, with what deviations look at. */
interface KnownCall extends DemoRequest {
  readonly kind: Kind
  /** The name in the path; empty if there is none. */
  readonly id: string
  readonly service: DemoService
}

/** One way in which the stand-in behaves otherwise than the service is assumed to. */
interface Deviation {
  /** @default every kind */
  readonly on?: readonly Kind[]
  /** Changes a request, or answers it. */
  readonly before?: (call: KnownCall) => Partial<DemoRequest> | DemoReply | undefined
  /** Changes an answer. */
  readonly after?: (reply: DemoReply, call: KnownCall) => DemoReply
}

/** A body as an object, for changes. */
type Members = Readonly<Record<string, unknown>>

/** Returns the body of a request as an object. */
function bodyOf({ body }: DemoRequest): Members {
  try {
    return Object(JSON.parse(body))
  } catch {
    return {}
  }
}

/** Returns what a request for a quote asks for: its body, or its query. */
function askedBy(call: KnownCall): Members {
  return call.method === 'GET' ? Object.fromEntries(new URLSearchParams(call.target.split('?')[1])) : bodyOf(call)
}

/** Returns true for a successful answer. */
const isDone = ({ status }: DemoReply): boolean => status < 300

/** Changes the members of successful answers. */
const changing =
  (change: (body: Members, call: KnownCall) => object): NonNullable<Deviation['after']> =>
  (reply, call) =>
    isDone(reply) ? { ...reply, body: change({ ...reply.body }, call) } : reply

/** Answers one status as another. */
const instead =
  (status: number, other: number): NonNullable<Deviation['after']> =>
  (reply) =>
    reply.status === status ? { ...reply, status: other } : reply

const refusal = (status: number, message: string): DemoReply => ({
  status,
  body: { error: { code: 'deviation', message } },
})

/** Returns an object without a member. */
function lacking(body: Members, name: string): Members {
  const { [name]: _, ...rest } = body
  return rest
}

/** Changes a part of a shipment, such as its pickup. */
const inPart = (body: Members, part: string, change: (members: Members) => Members): Members =>
  body[part] === undefined ? body : { ...body, [part]: change(Object(body[part])) }

/** Changes every vehicle of a shipment. */
const inVehicles = (body: Members, change: (vehicle: Members) => Members): Members =>
  Array.isArray(body['vehicles']) ? { ...body, vehicles: body['vehicles'].map((one) => change(Object(one))) } : body

/** Sends a request with another body. */
const sending = (body: Members) => ({ body: JSON.stringify(body) })

const IS_UUID = /^[0-9a-f-]{36}$/
const refusedIfUnknown = (reply: DemoReply): DemoReply => (reply.status === 404 ? { ...reply, status: 400 } : reply)
const MOST_READS = 5
/** A limit below that of most services. */
const MOST_BYTES = 100 * 1024
const reads = new WeakMap<object, number>()

const KNOWN = new Set(['pickup', 'delivery', 'vehicle_type', 'transport_type'])
const updated = new WeakMap<object, Set<string>>()

/** Answers as a shipment looks in the stand-in, changed. */
const shown = (change: (body: Members, call: KnownCall) => Members): Deviation => ({
  on: ['booking', 'read', 'update'],
  after: changing(change),
})

const SOMEBODY = { customer_name: 'Nobody' }
const ZONE = /[+-]\d{4}$/

/** Changes the date of the pickup in a booking. */
const sentDate = (change: (text: string) => string): Deviation => ({
  on: ['booking'],
  before: (call) =>
    sending(
      inPart(bodyOf(call), 'pickup', (pickup) => {
        const { available_pickup_dttm: date } = pickup
        return typeof date === 'string' ? { ...pickup, available_pickup_dttm: change(date) } : pickup
      }),
    ),
})

/** Returns the shipment that has the reference of a booking, if there is one. */
function sameReference(service: DemoService, { external_id }: Members) {
  return [...service.shipments.values()].find((shipment) => shipment.external_id === external_id)
}

const DEVIATIONS = {
  'wrong-secret-401': { after: instead(401, 403) },
  'wrong-secret-before-404': { on: ['read'], after: instead(401, 404) },
  challenge: {
    after: (reply) => (reply.status === 401 ? { ...reply, headers: {} } : reply),
  },
  'token-given': {
    on: ['token'],
    after: changing(({ access_token: token, ...rest }) => ({ ...rest, token })),
  },
  'token-accepted': {
    before: ({ headers, kind }) =>
      kind !== 'token' && headers.authorization?.startsWith('Bearer') ? refusal(401, 'No tokens here') : undefined,
  },
  'second-token-keeps-first': {
    on: ['token'],
    before: ({ service }) => void service.tokens.clear(),
  },
  'token-wrong-secret': { on: ['token'], after: instead(401, 500) },

  'unknown-shipment-404': {
    on: ['read'],
    after: (reply, { id }) => (IS_UUID.test(id) ? refusedIfUnknown(reply) : reply),
  },
  'unknown-number-404': {
    on: ['read'],
    after: (reply, { id }) => (!IS_UUID.test(id) ? refusedIfUnknown(reply) : reply),
  },
  'unknown-path-404': { on: ['other'], after: instead(404, 400) },
  'invalid-quote-4xx': {
    on: ['quote'],
    after: (reply) => (reply.status === 422 ? { status: 200, body: { shipment_id: '', price: 0 } } : reply),
  },

  'body-256-kib': {
    before: ({ body }) => (body.length > MOST_BYTES ? refusal(413, 'The body is too large') : undefined),
  },
  'value-4-kib': {
    on: ['booking'],
    after: changing((body) => ({ ...body, instructions: String(body['instructions']).slice(0, 1000) })),
  },
  'reads-in-a-row': {
    on: ['read'],
    before: ({ service }) => {
      const count = (reads.get(service) ?? 0) + 1
      reads.set(service, count)
      return count > MOST_READS ? refusal(429, 'Too many reads') : undefined
    },
  },

  'quote-is-object': { on: ['quote'], after: changing((data) => ({ data })) },
  'quote-returns-shipment-id': {
    on: ['quote'],
    after: changing(({ shipment_id: quote_id, ...rest }) => ({ ...rest, quote_id })),
  },
  'quote-id-is-uuid': {
    on: ['quote'],
    after: changing((body) => ({ ...body, shipment_id: `Q-${String(body['shipment_id']).slice(0, 8)}` })),
  },
  'price-is-number': { on: ['quote'], after: changing((body) => ({ ...body, price: String(body['price']) })) },
  'quote-repeats': {
    on: ['quote'],
    before: ({ service }) => (service.quotes.size > 0 ? refusal(409, 'The trip has a quote already') : undefined),
  },
  'vehicle-types-known': {
    on: ['quote'],
    before: (call) =>
      askedBy(call)['vehicle_type'] === 'service_body' ? refusal(422, 'vehicle_type is wrong') : undefined,
  },
  'transport-types-known': {
    on: ['quote'],
    before: (call) =>
      askedBy(call)['transport_type'] === 'enclosed' ? refusal(422, 'transport_type is wrong') : undefined,
  },
  'quote-zip-leading-zero': {
    on: ['quote'],
    before: (call) =>
      String(askedBy(call)['delivery']).startsWith('0') ? refusal(422, 'delivery is wrong') : undefined,
  },
  'quote-zip-plus-four': {
    on: ['quote'],
    before: (call) => (String(askedBy(call)['delivery']).includes('-') ? refusal(422, 'delivery is wrong') : undefined),
  },
  'quote-unknown-field': {
    on: ['quote'],
    before: (call) =>
      Object.keys(askedBy(call)).every((name) => KNOWN.has(name)) ? undefined : refusal(422, 'A field is unknown'),
  },

  'quote-id-updates': { on: ['quote update'], before: () => refusal(404, 'There is no such quote') },
  'quote-update-keeps-id': {
    on: ['quote update'],
    after: changing((body) => ({ ...body, shipment_id: randomUUID() })),
  },
  'quote-update-twice': {
    on: ['quote update'],
    before: ({ service, id }) => {
      const before = updated.get(service) ?? new Set()
      updated.set(service, new Set([...before, id]))
      return before.has(id) ? refusal(409, 'The quote was updated before') : undefined
    },
  },

  'approve-takes-empty-object': { on: ['approval'], before: () => refusal(422, 'signature is required') },
  'approve-names-quote': {
    on: ['approval'],
    after: changing((body) => ({ ...body, shipment_id: randomUUID() })),
  },
  'approve-twice-makes-one': {
    on: ['approval'],
    before: ({ service, id }) =>
      service.quotes.get(id)?.approved ? { status: 200, body: { shipment_id: randomUUID(), price: 1 } } : undefined,
  },
  'quote-id-books': {
    on: ['booking'],
    before: ({ body }) => (body.includes('"quote_id"') ? refusal(422, 'quote_id is unknown') : undefined),
  },

  'booking-returns-id': { on: ['booking'], after: changing((body) => lacking(body, 'id')) },
  'minimal-booking': {
    on: ['booking'],
    before: ({ body }) => (body.includes('contact_name') ? undefined : refusal(422, 'pickup.contact_name is required')),
  },
  'reference-free-after-cancel': {
    on: ['booking'],
    before: (call) =>
      sameReference(call.service, bodyOf(call))?.status === 'canceled'
        ? refusal(409, 'external_id is in use')
        : undefined,
  },
  'approved-takes-booking': {
    on: ['update'],
    before: ({ service, id }) => (service.quotes.has(id) ? refusal(409, 'The shipment is of a quote') : undefined),
  },
  'booking-unknown-field': {
    on: ['booking'],
    before: ({ body }) => (body.includes('transload_test') ? refusal(422, 'transload_test is unknown') : undefined),
  },
  'external-id-twice': {
    on: ['booking'],
    before: (call) => (sameReference(call.service, bodyOf(call)) ? refusal(409, 'external_id is in use') : undefined),
  },
  'refused-makes-nothing': {
    on: ['booking'],
    before: (call) => sending({ customer: SOMEBODY, ...bodyOf(call) }),
    after: (reply, { body }) => (body.includes('"Nobody"') ? refusal(422, 'customer is required') : reply),
  },
  'external-id-kept': shown((body) => lacking(body, 'external_id')),
  'zip-is-integer': shown((body) =>
    inPart(body, 'delivery', (delivery) => ({ ...delivery, zipcode: String(delivery['zipcode']).padStart(5, '0') })),
  ),
  'year-is-integer': shown((body) => inVehicles(body, (vehicle) => ({ ...vehicle, year: String(vehicle['year']) }))),
  'phone-is-digits': shown((body) =>
    inPart(body, 'pickup', (pickup) => ({ ...pickup, contact_phone: '(214) 555-0101' })),
  ),
  'state-unchanged': shown((body) => inPart(body, 'pickup', (pickup) => ({ ...pickup, state: 'Texas' }))),
  'vin-unchanged': shown((body) =>
    inVehicles(body, (vehicle) => ({ ...vehicle, vin: String(vehicle['vin']).toLowerCase() })),
  ),
  'transport-type-unchanged': shown((body) => ({ ...body, transport_type: 'OPEN' })),
  'text-is-utf-8': shown((body) => ({
    ...body,
    instructions: Buffer.from(String(body['instructions'])).toString('latin1'),
  })),
  'customer-shown': shown((body) => lacking(body, 'customer')),

  'date-form': shown((body) =>
    inPart(body, 'pickup', (pickup) => {
      const { available_pickup_dttm: date } = pickup
      return typeof date === 'string' ? { ...pickup, available_pickup_dttm: date.replace(ZONE, 'Z') } : pickup
    }),
  ),
  'date-offset-obeyed': sentDate((date) => date.replace(ZONE, '')),
  'date-without-offset-is-utc': sentDate((date) => (ZONE.test(date) ? date : `${date}-0500`)),

  'read-is-shipment': { on: ['read'], after: changing((data) => ({ data })) },
  'read-by-number': {
    on: ['read'],
    before: ({ id }) => (id.startsWith('TL-') ? refusal(404, 'There is no such shipment') : undefined),
  },
  'read-by-reference-is-no-other': {
    on: ['read'],
    before: ({ id }) =>
      id.startsWith('TRANSLOAD-TEST-')
        ? { status: 200, body: { id: randomUUID(), external_id: 'OTHER', status: 'new' } }
        : undefined,
  },
  'vehicles-have-ids': shown((body) => inVehicles(body, (vehicle) => lacking(vehicle, 'id'))),
  'vehicles-in-order': shown((body) => ({
    ...body,
    ...(Array.isArray(body['vehicles']) && { vehicles: body['vehicles'].toReversed() }),
  })),

  'update-takes-whole': { on: ['update'], before: () => refusal(422, 'customer cannot be changed') },
  'vehicle-with-id-stays': {
    on: ['update'],
    before: (call) => sending(inVehicles(bodyOf(call), (vehicle) => lacking(vehicle, 'id'))),
  },
  'update-names-shipment': { on: ['update'], after: changing((body) => ({ ...body, id: randomUUID() })) },
  'if-match-obeyed': {
    on: ['update'],
    before: ({ headers: { 'if-match': _, ...headers } }) => ({ headers }),
  },

  'delete-cancels': { on: ['cancellation'], before: () => refusal(405, 'Use POST') },
  'changes-at-once': { on: ['cancellation'], after: (reply) => (isDone(reply) ? { ...reply, status: 202 } : reply) },
  'canceled-is-shown': shown((body) =>
    body['status'] === 'canceled' ? { ...body, status: 'canceled_by_client' } : body,
  ),
  'cancel-again': { on: ['cancellation'], after: instead(409, 500) },
} as const satisfies Readonly<Record<string, Deviation>>

/** The name of a way in which the stand-in behaves otherwise than the service is assumed to. */
export type DeviationName = keyof typeof DEVIATIONS

export const deviationNames = Object.keys(DEVIATIONS) as readonly DeviationName[]

/** Answers a call as the service does, apart from these deviations. */
export function deviating(
  names: readonly DeviationName[],
  service: DemoService,
  asked: DemoRequest,
  answer: (call: DemoRequest) => DemoReply,
): DemoReply {
  let call: KnownCall = { ...asked, ...kindOf(asked), service }
  // A widening: the table's own type has no member that some entries lack.
  const all = names.map((name): Deviation => DEVIATIONS[name]).filter(({ on }) => on?.includes(call.kind) ?? true)
  for (const { before } of all) {
    const changed = before?.(call)
    if (changed && 'status' in changed) return changed
    call = { ...call, ...changed }
  }
  return all.reduce((reply, { after }) => after?.(reply, call) ?? reply, answer(call))
}

/** Returns what a request asks for, and the name in its path. */
export function kindOf({ method, target }: DemoRequest): { kind: Kind; id: string } {
  const [path = ''] = target.split('?', 1)
  const [, version, collection = '', id = '', verb] = path.split('/').map(decoded)
  return { kind: kindAt(method, path, version, collection, id, verb), id }
}

function kindAt(method: string, path: string, version = '', collection = '', id = '', verb?: string): Kind {
  if (path === '/oauth2/token') return 'token'
  if (/^(\/quotes)?\/get(ShippingQuote(WTS)?|Shipment)\.php$/i.test(path)) return 'version 1'
  if (version !== 'v2') return 'other'
  if (collection === 'quote') return verb === 'approve' ? 'approval' : id === '' ? 'quote' : 'quote update'
  if (collection !== 'shipments' && collection !== 'shipment') return 'other'
  if (method === 'POST') return 'booking'
  return method === 'GET' ? 'read' : method === 'PUT' ? 'update' : 'cancellation'
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
