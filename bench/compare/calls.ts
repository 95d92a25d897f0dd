import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'

/** The names that calls carry: a prefix and a number of so many digits. */
export interface Names {
  readonly prefix: string
  readonly digits: number
  /** The number of the first name. */
  readonly first: number
  /** How many names there are, which come again and again; without it, no name comes twice. */
  readonly count?: number
  /** How far apart names that follow each other are. @default 1 */
  readonly stride?: number
}

/** A call that is sent again and again; `{name}` stands for a name in the path or the body. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  readonly names?: Names
}

/** The credential that every call carries. */
export const AUTHORIZATION = `Basic ${Buffer.from('demo:demo-secret').toString('base64')}`

/** What the gateway calls the owner of that credential. */
export const TENANT = 'demo'

const DIGITS = 14
/** More names than one stretch of load can use. */
const NAMES_PER_STRETCH = 1_000_000_000
let stretches = 0

/** Names that no call has carried yet. */
function newNames(prefix: string): Names {
  stretches += 1
  return { prefix, digits: DIGITS, first: stretches * NAMES_PER_STRETCH }
}

/** A quote as old integrations ask for it, each under a number of its own. */
export const quote = (): Call => ({
  method: 'POST',
  path: '/getShippingQuote.php',
  body: JSON.stringify({ ...quoteExample, ShipmentNumber: '{name}', OrderRefNumber: '' }),
  names: newNames('WTS'),
})

/** A quote in version 2, which passes through. */
export const version2Quote = (): Call => ({
  method: 'POST',
  path: '/v2/quote',
  body: JSON.stringify({ pickup: '10314', delivery: '33166', vehicle_type: 'truck_ext', transport_type: 'open' }),
})

const booking = (names: Names): Call => ({
  method: 'POST',
  path: '/createShipment.php',
  body: JSON.stringify({ ...bookingExample, ReferenceNumber: '{name}' }),
  names,
})

/** A booking, each with a reference of its own. */
export const newBooking = (): Call => booking(newNames('NEW'))

/** Bookings that are made before the load, so that it can ask for them. */
export const BOOKED: Names & { readonly count: number } = { prefix: 'BKD', digits: DIGITS, first: 0, count: 5_000 }

/** A booking that was made already: the answer comes from its record. */
export const replay = (): Call => booking(BOOKED)

/** Ids as the service makes them, which the cross-reference has never heard of. */
const IDS: Names = { prefix: '6f1e4c1e-7a55-4b0c-9a3f-', digits: 12, first: 0, count: 5_000 }

/** Reads a shipment by the service's own id, which needs nobody to remember it. */
export const readById = (): Call => read(IDS)

/** Reads a shipment by the caller's number. */
export const read = (names: Names = BOOKED): Call => ({
  method: 'GET',
  path: '/getShipment.php?ReferenceNumber={name}',
  names,
})

/** The name at a place in the order of the names. */
export function nameAt({ prefix, digits, first, count, stride = 1 }: Names, index: number): string {
  const number = count === undefined ? first + index : first + ((index * stride) % count)
  return prefix + String(number).padStart(digits, '0')
}
