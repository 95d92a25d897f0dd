import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'

/** The names that calls carry: a prefix and a number with leading zeros. */
export interface Names {
  readonly prefix: string
  readonly digits: number
  /** The number of the first name. */
  readonly first: number
  /** The number of names, which repeat; without it, no name repeats. */
  readonly count?: number
}

/** A call that is sent repeatedly; `{name}` in the path or the body stands for a name. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  readonly names?: Names
}

/** The credential that every call carries. */
export const AUTHORIZATION = `Basic ${Buffer.from('demo:demo-secret').toString('base64')}`

const DIGITS = 14
/** More names than one round can use. */
const NAMES_PER_STRETCH = 1_000_000_000
let stretches = 0

/** Returns names that no call has carried yet. */
function newNames(prefix: string): Names {
  stretches += 1
  return { prefix, digits: DIGITS, first: stretches * NAMES_PER_STRETCH }
}

/** Makes a version-1 quote; each call has a new number. */
export const quote = (): Call => ({
  method: 'POST',
  path: '/getShippingQuote.php',
  body: JSON.stringify({ ...quoteExample, ShipmentNumber: '{name}', OrderRefNumber: '' }),
  names: newNames('WTS'),
})

/** Makes a version-2 quote, which passes through. */
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

/** Makes a booking; each call has a new reference. */
export const newBooking = (): Call => booking(newNames('NEW'))

/** The bookings that are made before the load, which then asks for them. */
export const BOOKED: Names & { readonly count: number } = { prefix: 'BKD', digits: DIGITS, first: 0, count: 5_000 }

/** Repeats a booking that was made before: the answer comes from its record. */
export const replay = (): Call => booking(BOOKED)

/** Ids in the form of the service's, unknown to the cross-reference. */
const IDS: Names = { prefix: '6f1e4c1e-7a55-4b0c-9a3f-', digits: 12, first: 0, count: 5_000 }

/** Reads a shipment by the service's id, which needs no cross-reference. */
export const readById = (): Call => read(IDS)

/** Reads a shipment by the caller's number. */
export const read = (names: Names = BOOKED): Call => ({
  method: 'GET',
  path: '/getShipment.php?ReferenceNumber={name}',
  names,
})

/** Returns the name at an index. */
export function nameAt({ prefix, digits, first, count }: Names, index: number): string {
  const number = count === undefined ? first + index : first + (index % count)
  return prefix + String(number).padStart(digits, '0')
}
