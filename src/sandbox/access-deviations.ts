import { changing, type Deviation, instead, isDone, lacking, refusal } from './deviation.ts'
import type { Reply } from './service.ts'

const IS_UUID = /^[0-9a-f-]{36}$/
const refusedIfUnknown = (reply: Reply): Reply => (reply.status === 404 ? { ...reply, status: 400 } : reply)
const MOST_READS = 5
/** A limit below that of most services. */
const MOST_BYTES = 100 * 1024
const reads = new WeakMap<object, number>()

/** Deviations about credentials, refusals and limits. */
export const accessDeviations = {
  'wrong-secret-401': { after: instead(401, 403) },
  'wrong-secret-before-404': { on: ['read'], after: instead(401, 404) },
  'no-credential-401': {
    after: (reply, { headers }) => (headers.authorization === undefined ? { ...reply, status: 403 } : reply),
  },
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
  'error-message': { after: (reply) => (isDone(reply) ? reply : { ...reply, body: {} }) },
  'error-names-field': {
    after: (reply) => (reply.status === 422 ? refusal(422, 'The request is not valid') : reply),
  },
  'broken-json-4xx': { on: ['quote'], after: instead(400, 500) },
  'error-is-json': { after: (reply) => (isDone(reply) ? reply : { ...reply, body: ['an error'] }) },

  'body-256-kib': {
    before: ({ body }) => (body.length > MOST_BYTES ? refusal(413, 'The body is too large') : undefined),
  },
  'value-4-kib': {
    on: ['booking'],
    after: changing((body) => ({ ...body, instructions: String(body['instructions']).slice(0, 1000) })),
  },
  'reads-in-a-row': {
    on: ['read'],
    before: ({ state }) => {
      const count = (reads.get(state) ?? 0) + 1
      reads.set(state, count)
      return count > MOST_READS ? refusal(429, 'Too many reads') : undefined
    },
  },
  'version-1-body': {
    on: ['quote'],
    before: ({ body }) => (body.includes('ActionName') ? refusal(422, 'pickup is required') : undefined),
  },
  'version-1-path': { on: ['version 1'], before: () => refusal(404, 'There is no such path') },
  'booking-returns-price': { on: ['read'], after: changing((body) => lacking(body, 'price')) },
} as const satisfies Readonly<Record<string, Deviation>>
