import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { shipments } from '../bookings/desk.ts'
import { get, OWN, post, startGateway, type WholeAnswer } from '../gateway.ts'
import type { Answer } from '../stand-in/faults.ts'

const QUOTE = '/getShippingQuote.php'
const BOOK = '/createShipment.php'
const CHANGE = { PickupName: 'Gate 9', Make: 'Honda' }

/** The calls, each with the request whose reply is changed. */
const CALLS = {
  quote: { path: QUOTE, fields: quoteExample, method: 'POST' },
  'quote update': { path: QUOTE, fields: { ActionName: 'Update Rate' }, method: 'PUT' },
  approval: { path: QUOTE, fields: { ActionName: 'Accept Rate' }, method: 'POST' },
  booking: { path: BOOK, fields: bookingExample, method: 'POST' },
  read: { path: '/getShipment.php', fields: {}, method: 'GET' },
  'read to update': { path: '/updateShipment.php', fields: CHANGE, method: 'GET' },
  update: { path: '/updateShipment.php', fields: CHANGE, method: 'PUT' },
  cancellation: { path: '/deleteShipment.php', fields: {}, method: 'DELETE' },
  'cancellation not made': { path: '/deleteShipment.php', fields: {}, method: 'DELETE' },
} as const

export type CallName = keyof typeof CALLS
export const callNames = Object.keys(CALLS) as readonly CallName[]

/** Opens a gateway whose calls get a changed reply; each concerns a separate quote or booking. */
export async function openDoubted() {
  // With one spelling of each request, each request of a call is its next step.
  const env = { ...OWN, V2_QUOTE_METHOD: 'POST', V2_SHIPMENT_PATH: '/v2/shipments' }
  const gateway = await startGateway({ env })
  const { sandbox } = gateway
  let nth = 0
  return async (name: CallName, change: (own: Answer) => Answer) => {
    const { path, fields, method } = CALLS[name]
    nth += 1
    const number = `N-${nth}`
    const named = path === QUOTE ? { ShipmentNumber: number, OrderRefNumber: '' } : { ReferenceNumber: number }
    const call = (): Promise<WholeAnswer> =>
      name === 'read'
        ? get(gateway, `${path}?${new URLSearchParams(named)}`)
        : post(gateway, path, { ...fields, ...named })
    const [before, its] = path === QUOTE ? [QUOTE, quoteExample] : [BOOK, bookingExample]
    if (path !== BOOK && name !== 'quote') await post(gateway, before, { ...its, ...named })
    sandbox.requests.length = 0
    sandbox.fail({ kind: 'change', change, process: name !== 'cancellation not made', on: { method } })
    const answer = await call()
    const methods = sandbox.requests.map((request) => request.method)
    return {
      answer,
      /** The requests that followed the one whose reply was changed. */
      next: sandbox.requests.slice(methods.indexOf(method) + 1),
      /** Repeats the call with a healthy service. */
      again: call,
      shipments: () => shipments(gateway, number).length,
    }
  }
}
