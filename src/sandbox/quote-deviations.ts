import { randomUUID } from 'node:crypto'
import { askedBy, changing, type Deviation, instead, lacking, refusal } from './deviation.ts'

const KNOWN = new Set(['pickup', 'delivery', 'vehicle_type', 'transport_type'])
const updated = new WeakMap<object, Set<string>>()

/** Deviations about quotes and approvals. */
export const quoteDeviations = {
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
  'price-in-cents': { on: ['quote'], after: changing((body) => ({ ...body, price: 1234.567 })) },
  'quote-repeats': {
    on: ['quote'],
    before: ({ state }) => (state.quotes.size > 0 ? refusal(409, 'The trip has a quote already') : undefined),
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
  'quote-update-price': { on: ['quote update'], after: changing((body) => lacking(body, 'price')) },
  'quote-update-keeps-id': {
    on: ['quote update'],
    after: changing((body) => ({ ...body, shipment_id: randomUUID() })),
  },
  'quote-update-twice': {
    on: ['quote update'],
    before: ({ state, id }) => {
      const before = updated.get(state) ?? new Set()
      updated.set(state, new Set([...before, id]))
      return before.has(id) ? refusal(409, 'The quote was updated before') : undefined
    },
  },
  'quote-update-unknown-404': { on: ['quote update'], after: instead(404, 400) },

  'approve-takes-empty-object': { on: ['approval'], before: () => refusal(422, 'signature is required') },
  'approve-names-quote': {
    on: ['approval'],
    after: changing((body) => ({ ...body, shipment_id: randomUUID() })),
  },
  'approve-twice-makes-one': {
    on: ['approval'],
    before: ({ state, id }) =>
      state.quotes.get(id)?.approved ? { status: 200, body: { shipment_id: randomUUID(), price: 1 } } : undefined,
  },
  'quote-id-books': {
    on: ['booking'],
    before: ({ body }) => (body.includes('"quote_id"') ? refusal(422, 'quote_id is unknown') : undefined),
  },
} as const satisfies Readonly<Record<string, Deviation>>
