import { randomUUID } from 'node:crypto'
import {
  bodyOf,
  type Call,
  changing,
  type Deviation,
  inPart,
  instead,
  inVehicles,
  lacking,
  type Members,
  refusal,
  sending,
} from './deviation.ts'
import type { SandboxState } from './state.ts'

/** Answers as a shipment looks in the stand-in, changed. */
const shown = (change: (body: Members, call: Call) => Members): Deviation => ({
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
function sameReference(state: SandboxState, { external_id }: Members) {
  return [...state.shipments.values()].find((shipment) => shipment.external_id === external_id)
}

const vinOf = ({ vehicles }: { readonly vehicles?: unknown }): unknown =>
  Array.isArray(vehicles) ? Object(vehicles[0])['vin'] : undefined

/** Deviations about bookings, reads, updates and cancellations. */
export const shipmentDeviations = {
  'booking-returns-id': { on: ['booking'], after: changing((body) => lacking(body, 'id')) },
  'booking-returns-number': { on: ['booking'], after: changing((body) => lacking(body, 'number')) },
  'booking-status-new': { on: ['booking'], after: changing((body) => ({ ...body, status: 'posted' })) },
  'minimal-booking': {
    on: ['booking'],
    before: ({ body }) => (body.includes('contact_name') ? undefined : refusal(422, 'pickup.contact_name is required')),
  },
  'booking-needs-customer': {
    on: ['booking'],
    before: (call) => sending({ customer: SOMEBODY, ...bodyOf(call) }),
  },
  'booking-needs-pickup': {
    on: ['booking'],
    before: (call) => sending({ pickup: { zipcode: 75234 }, ...bodyOf(call) }),
  },
  'booking-needs-vehicles': {
    on: ['booking'],
    before: (call) => sending({ vehicles: [{ type: 'car' }], ...bodyOf(call) }),
  },
  'reference-free-after-cancel': {
    on: ['booking'],
    before: (call) =>
      sameReference(call.state, bodyOf(call))?.status === 'canceled'
        ? refusal(409, 'external_id is in use')
        : undefined,
  },
  'approved-takes-booking': {
    on: ['update'],
    before: ({ state, id }) => (state.quotes.has(id) ? refusal(409, 'The shipment is of a quote') : undefined),
  },
  'zip-string-refused': {
    on: ['booking'],
    before: (call) => sending(inPart(bodyOf(call), 'pickup', (pickup) => ({ ...pickup, zipcode: 75234 }))),
  },
  'booking-unknown-field': {
    on: ['booking'],
    before: ({ body }) => (body.includes('transload_test') ? refusal(422, 'transload_test is unknown') : undefined),
  },
  'external-id-twice': {
    on: ['booking'],
    before: (call) => (sameReference(call.state, bodyOf(call)) ? refusal(409, 'external_id is in use') : undefined),
  },
  'booking-repeats': {
    on: ['booking'],
    before: (call) => {
      const found = sameReference(call.state, bodyOf(call))
      return found && vinOf(found) === vinOf(bodyOf(call)) ? { status: 200, body: found } : undefined
    },
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
  'vehicle-without-id-is-new': {
    on: ['update'],
    before: (call) => {
      const known = call.state.shipments.get(call.id)?.vehicles[0]?.id
      return sending(inVehicles(bodyOf(call), (vehicle) => ({ id: known, ...vehicle })))
    },
  },
  'update-names-shipment': { on: ['update'], after: changing((body) => ({ ...body, id: randomUUID() })) },
  'if-match-obeyed': {
    on: ['update'],
    before: ({ headers: { 'if-match': _, ...headers } }) => ({ headers }),
  },
  'update-unknown-404': { on: ['update'], after: instead(404, 400) },

  'delete-cancels': { on: ['cancellation'], before: () => refusal(405, 'Use POST') },
  'canceled-is-shown': shown((body) =>
    body['status'] === 'canceled' ? { ...body, status: 'canceled_by_client' } : body,
  ),
  'cancel-again': { on: ['cancellation'], after: instead(409, 500) },
  'cancel-unknown-404': {
    on: ['cancellation'],
    after: (reply) => (reply.status === 404 ? { status: 200, body: { success: true } } : reply),
  },
} as const satisfies Readonly<Record<string, Deviation>>
