import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { UpstreamReply, UpstreamRequest } from '../../src/service/exchange.ts'
import { type DirectAnswer, openDirect } from './direct.ts'
import { catalog, openStandIn } from './stand-in.ts'

/*
 * The calls whose replies the tests of this folder change. Each names the request whose reply is changed; what comes
 * before is carried out by the stand-in, and so is what comes after.
 */

/** A reply of the service, as the test wants it; `undefined` is an empty body. */
export interface Reply {
  readonly status: number
  readonly body: string | Buffer | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** A call, and the request of it whose reply is changed. */
export interface DoubtedCall {
  readonly path: string
  readonly fields: Readonly<Record<string, string>>
  readonly before: readonly (readonly [path: string, fields: Readonly<Record<string, string>>])[]
  readonly method: string
  /** True if the stand-in carries the request out. */
  readonly isCarriedOut: boolean
}

const NUMBER = quoteExample.ShipmentNumber
const REFERENCE = { ReferenceNumber: bookingExample.ReferenceNumber }
const quoted = ['/getShippingQuote.php', quoteExample] as const
const booked = ['/createShipment.php', bookingExample] as const
const CHANGE = { ...REFERENCE, PickupName: 'Gate 9', Make: 'Honda' }

/** Every action; an update has two replies, and a cancellation may or may not be what the reply says. */
export const doubtedCalls = {
  quote: { path: quoted[0], fields: quoteExample, before: [], method: 'POST', isCarriedOut: true },
  'quote update': {
    path: quoted[0],
    fields: { ActionName: 'Update Rate', ShipmentNumber: NUMBER },
    before: [quoted],
    method: 'PUT',
    isCarriedOut: true,
  },
  approval: {
    path: quoted[0],
    fields: { ActionName: 'Accept Rate', ShipmentNumber: NUMBER },
    before: [quoted],
    method: 'POST',
    isCarriedOut: true,
  },
  booking: { path: booked[0], fields: bookingExample, before: [], method: 'POST', isCarriedOut: true },
  read: { path: '/getShipment.php', fields: REFERENCE, before: [booked], method: 'GET', isCarriedOut: true },
  'read to update': {
    path: '/updateShipment.php',
    fields: CHANGE,
    before: [booked],
    method: 'GET',
    isCarriedOut: true,
  },
  update: { path: '/updateShipment.php', fields: CHANGE, before: [booked], method: 'PUT', isCarriedOut: true },
  cancellation: {
    path: '/deleteShipment.php',
    fields: REFERENCE,
    before: [booked],
    method: 'DELETE',
    isCarriedOut: true,
  },
  'cancellation not made': {
    path: '/deleteShipment.php',
    fields: REFERENCE,
    before: [booked],
    method: 'DELETE',
    isCarriedOut: false,
  },
} as const satisfies Readonly<Record<string, DoubtedCall>>

export type CallName = keyof typeof doubtedCalls

export const callNames = Object.keys(doubtedCalls) as readonly CallName[]

/** The outcome of a call whose reply was changed. */
export interface Outcome {
  readonly answer: DirectAnswer
  /** The requests of the call, beginning with the one whose reply was changed. */
  readonly requests: readonly UpstreamRequest[]
  /** The answer to the same call again, with a service that is well. */
  readonly again: () => Promise<DirectAnswer>
  /** The number of shipments at the service. */
  readonly shipments: () => number
}

/** One spelling of each request, and no second attempts: each request of a call is the next step of it. */
const env = { V2_QUOTE_METHOD: 'POST', V2_SHIPMENT_PATH: '/v2/shipments' }

/** Makes a call; the stand-in's reply to one of its requests is changed. */
export async function doubt(name: CallName, change: (own: UpstreamReply) => Reply): Promise<Outcome> {
  const { path, fields, before, method, isCarriedOut }: DoubtedCall = doubtedCalls[name]
  const { state, serve } = openStandIn()
  const requests: UpstreamRequest[] = []
  let isWatching = false
  const call = openDirect(
    catalog,
    (request) => {
      if (!isWatching || (requests.length === 0 && request.method !== method)) return serve(request)
      requests.push(request)
      if (requests.length > 1) return serve(request)
      const own = isCarriedOut ? serve(request) : serve({ ...request, method: 'GET' })
      const { status, body, headers = {} } = change(own)
      return { status, headers, body: body === undefined ? Buffer.alloc(0) : Buffer.from(body) }
    },
    env,
  )
  for (const [earlier, its] of before) await call(earlier, its)
  isWatching = true
  const answer = await call(path, fields)
  isWatching = false
  return { answer, requests, again: () => call(path, fields), shipments: () => state.shipments.size }
}
