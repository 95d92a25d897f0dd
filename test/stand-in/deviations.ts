import { randomUUID } from 'node:crypto'
import type { DemoReply, DemoRequest, DemoService } from '../../src/labs/demo/service.ts'
import { tokensOf } from './tokens.ts'

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

/** A request with the data that deviations use. */
interface KnownCall extends DemoRequest {
  readonly kind: Kind
  /** The name in the path; empty if there is none. */
  readonly id: string
  readonly service: DemoService
}

/** One way in which the stand-in differs from the assumptions about the service. */
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

/** Returns the content of a quote request: its body or its query. */
function askedBy(call: KnownCall): Members {
  return call.method === 'GET' ? Object.fromEntries(new URLSearchParams(call.target.split('?')[1])) : bodyOf(call)
}

/** Changes the value at a place such as `vehicles.vin`, in every vehicle; undefined values are left out of the JSON. */
function changedAt(value: unknown, [key, ...rest]: readonly string[], change: (value: unknown) => unknown): unknown {
  if (key === undefined) return change(value)
  if (Array.isArray(value)) return value.map((one) => changedAt(one, [key, ...rest], change))
  const members: Members = Object(value)
  return members[key] === undefined ? value : { ...members, [key]: changedAt(members[key], rest, change) }
}

const gone = () => undefined

/** Changes successful answers to some kinds of requests. */
const telling = (on: readonly Kind[], change: (body: Members) => object): Deviation => ({
  on,
  after: (reply) => (reply.status < 300 ? { ...reply, body: change({ ...reply.body }) } : reply),
})

/** Changes the value at a place in such answers. */
const tellingAt = (on: readonly Kind[], place: string, change: (value: unknown) => unknown): Deviation =>
  telling(on, (body) => Object(changedAt(body, place.split('.'), change)))

/** Answers with a shipment that is changed at a place. */
const shown = (place: string, change: (value: unknown) => unknown): Deviation =>
  tellingAt(['booking', 'read', 'update'], place, change)

/** Answers one status as another. */
const instead =
  (status: number, other: number) =>
  (reply: DemoReply): DemoReply =>
    reply.status === status ? { ...reply, status: other } : reply

const refusal = (status: number): DemoReply => ({ status, body: { error: { code: 'deviation', message: 'No' } } })

/** Refuses all or some requests of one kind. */
const refusing = (
  kind: Kind,
  status: number,
  isRefused: (call: KnownCall) => boolean | undefined = () => true,
): Deviation => ({ on: [kind], before: (call) => (isRefused(call) ? refusal(status) : undefined) })

/** Refuses quotes by a value in their request. */
const refusingQuote = (name: string, isRefused: (value: string) => boolean): Deviation =>
  refusing('quote', 422, (call) => isRefused(String(askedBy(call)[name])))

/** Sends one kind of request with a body that is changed at a place. */
const sending = (kind: Kind, place: string, change: (value: unknown) => unknown): Deviation => ({
  on: [kind],
  before: (call) => ({ body: JSON.stringify(changedAt(bodyOf(call), place.split('.'), change)) }),
})

const IS_UUID = /^[0-9a-f-]{36}$/
const DATE = 'pickup.available_pickup_dttm'
const ZONE = /[+-]\d{4}$/

/** Returns the shipment that has the reference of a booking, if there is one. */
function sameReference(call: KnownCall) {
  const { external_id } = bodyOf(call)
  return [...call.service.shipments.values()].find((shipment) => shipment.external_id === external_id)
}

const DEVIATIONS = {
  'wrong-secret-401': { after: instead(401, 403) },
  'wrong-secret-before-404': { on: ['read'], after: instead(401, 404) },
  challenge: { after: (reply) => (reply.status === 401 ? { ...reply, headers: {} } : reply) },
  'token-given': telling(['token'], ({ access_token: token, ...rest }) => ({ ...rest, token })),
  'second-token-keeps-first': { on: ['token'], before: ({ service }) => void tokensOf(service).clear() },
  'token-wrong-secret': { on: ['token'], after: instead(401, 500) },

  'unknown-number-404': {
    on: ['read'],
    after: (reply, { id }) => (IS_UUID.test(id) ? reply : instead(404, 400)(reply)),
  },
  'unknown-path-404': { on: ['other'], after: instead(404, 400) },
  'invalid-quote-4xx': {
    on: ['quote'],
    after: (reply) => (reply.status === 422 ? { status: 200, body: { shipment_id: '', price: 0 } } : reply),
  },

  'quote-is-object': telling(['quote'], (data) => ({ data })),
  'quote-returns-shipment-id': telling(['quote'], ({ shipment_id: quote_id, ...rest }) => ({ ...rest, quote_id })),
  'quote-id-is-uuid': tellingAt(['quote'], 'shipment_id', (id) => `Q-${String(id).slice(0, 8)}`),
  'price-is-number': tellingAt(['quote'], 'price', String),
  'vehicle-types-known': refusingQuote('vehicle_type', (type) => type === 'service_body'),
  'transport-types-known': refusingQuote('transport_type', (type) => type === 'enclosed'),
  'quote-zip-leading-zero': refusingQuote('delivery', (zip) => zip.startsWith('0')),
  'quote-zip-plus-four': refusingQuote('delivery', (zip) => zip.includes('-')),

  'quote-id-updates': refusing('quote update', 404),
  'quote-update-keeps-id': tellingAt(['quote update'], 'shipment_id', () => randomUUID()),

  'approve-takes-empty-object': refusing('approval', 422),
  'approve-names-quote': tellingAt(['approval'], 'shipment_id', () => randomUUID()),
  'approve-twice-makes-one': {
    on: ['approval'],
    before: ({ service, id }) =>
      service.quotes.get(id)?.approved ? { status: 200, body: { shipment_id: randomUUID(), price: 1 } } : undefined,
  },
  'quote-id-books': refusing('booking', 422, ({ body }) => body.includes('"quote_id"')),

  'booking-returns-id': tellingAt(['booking'], 'id', gone),
  'minimal-booking': refusing('booking', 422, ({ body }) => !body.includes('contact_name')),
  'reference-free-after-cancel': refusing('booking', 409, (call) => sameReference(call)?.status === 'canceled'),
  'approved-takes-booking': refusing('update', 409, ({ service, id }) => service.quotes.has(id)),
  'external-id-twice': refusing('booking', 409, (call) => sameReference(call) !== undefined),
  'refused-makes-nothing': {
    on: ['booking'],
    before: (call) => ({ body: JSON.stringify({ customer: { customer_name: 'Nobody' }, ...bodyOf(call) }) }),
    after: (reply, { body }) => (body.includes('"Nobody"') ? refusal(422) : reply),
  },
  'external-id-kept': shown('external_id', gone),
  'zip-is-integer': shown('delivery.zipcode', (zip) => String(zip).padStart(5, '0')),
  'year-is-integer': shown('vehicles.year', String),
  'phone-is-digits': shown('pickup.contact_phone', () => '(214) 555-0101'),
  'state-unchanged': shown('pickup.state', () => 'Texas'),
  'vin-unchanged': shown('vehicles.vin', (vin) => String(vin).toLowerCase()),
  'transport-type-unchanged': shown('transport_type', () => 'OPEN'),
  'text-is-utf-8': shown('instructions', (text) => Buffer.from(String(text)).toString('latin1')),
  'customer-shown': shown('customer', gone),

  'date-form': shown(DATE, (date) => String(date).replace(ZONE, 'Z')),
  'date-offset-obeyed': sending('booking', DATE, (date) => String(date).replace(ZONE, '')),

  'read-is-shipment': telling(['read'], (data) => ({ data })),
  'read-by-number': refusing('read', 404, ({ id }) => id.startsWith('TL-')),
  'read-by-reference-is-no-other': {
    on: ['read'],
    before: ({ id }) =>
      id.startsWith('TRANSLOAD-TEST-')
        ? { status: 200, body: { id: randomUUID(), external_id: 'OTHER', status: 'new' } }
        : undefined,
  },
  'vehicles-have-ids': shown('vehicles.id', gone),
  'vehicles-in-order': shown('vehicles', (all) => (Array.isArray(all) ? all.toReversed() : all)),

  'update-takes-whole': refusing('update', 422),
  'vehicle-with-id-stays': sending('update', 'vehicles.id', gone),
  'update-names-shipment': tellingAt(['update'], 'id', () => randomUUID()),
  'if-match-obeyed': {
    on: ['update'],
    before: ({ headers: { 'if-match': _, ...headers } }) => ({ headers }),
  },

  'delete-cancels': refusing('cancellation', 405),
  'changes-at-once': { on: ['cancellation'], after: instead(200, 202) },
  'canceled-is-shown': shown('status', (status) => (status === 'canceled' ? 'canceled_by_client' : status)),
  'cancel-again': { on: ['cancellation'], after: instead(409, 500) },
} as const satisfies Readonly<Record<string, Deviation>>

/** The name of a way in which the stand-in differs from the assumptions about the service. */
export type DeviationName = keyof typeof DEVIATIONS

export const deviationNames = Object.keys(DEVIATIONS) as readonly DeviationName[]

/** Answers a call as the service does, but with these deviations. */
export function deviating(
  names: readonly DeviationName[],
  service: DemoService,
  asked: DemoRequest,
  answer: (call: DemoRequest) => DemoReply,
): DemoReply {
  let call: KnownCall = { ...asked, ...kindOf(asked), service }
  // This widens the table's own type, which lacks the members that only some entries have.
  const all = names.map((name): Deviation => DEVIATIONS[name]).filter(({ on }) => on?.includes(call.kind) ?? true)
  for (const { before } of all) {
    const changed = before?.(call)
    if (changed && 'status' in changed) return changed
    call = { ...call, ...changed }
  }
  return all.reduce((reply, { after }) => after?.(reply, call) ?? reply, answer(call))
}

/** Returns the kind of a request, and the name in its path. */
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
