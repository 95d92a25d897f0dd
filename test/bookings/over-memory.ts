import {
  type Booked,
  type Booking,
  type Bookings,
  type BookingsDeps,
  createBookings,
  type Made,
} from '../../src/bookings/bookings.ts'
import { NotBooked } from '../../src/bookings/protocol.ts'
import { createMemoryStore } from '../../src/store/sqlite/sqlite.ts'
import type { Store } from '../../src/store/store.ts'

const FAR_MS = 60_000
const NOW = 5_000

/** Bookings over a store in memory; a test may replace what they depend on. */
export function openBookings(given: Partial<BookingsDeps> & { readonly faults?: Partial<Store> } = {}) {
  const store: Store = { ...createMemoryStore({ now: () => NOW }), ...given.faults }
  const counted: string[] = []
  const unknown: string[] = []
  const neverSent: string[] = []
  let handles = 0
  const bookings = createBookings({
    claims: store,
    record: {
      made: async (claim, { answer, record }) => {
        const reply = JSON.stringify(answer)
        await store.change(claim, { state: 'booked', instance: 'me', shipment: record.id, reply, why: 'made' })
      },
      failed: async (claim, error) => {
        const state = error instanceof NotBooked ? 'freed' : 'unknown'
        await store.change(claim, { state, instance: 'me', why: 'failed' })
        return state
      },
      neverSent: (handle) => neverSent.push(handle),
      isUnrecorded: () => false,
      canceled: async () => {},
      canceledLater: async () => {},
      later: async () => {},
      catchUp: async () => {},
    },
    instance: 'me',
    holdLease: async () => () => true,
    dedupeWindowMs: 1_000,
    doubt: () => undefined,
    onUnknown: ({ handle }) => unknown.push(handle),
    countBooking: (outcome) => counted.push(outcome),
    handle: () => {
      handles += 1
      return `bk_${handles}`
    },
    ...given,
  })
  const once = (booking: Booking, send: Send) => bookOnce(bookings, booking, send)
  return { store, bookings: { ...bookings, once }, counted, unknown, neverSent }
}

type Send = (isHeld: () => boolean) => Promise<Made>

/** Claims, sends and records a booking, as a call does. */
export async function bookOnce(bookings: Bookings, booking: Booking, send: Send): Promise<Booked> {
  const claimed = await bookings.claim(booking)
  if ('answer' in claimed) return claimed
  let made: Made
  try {
    made = await send(claimed.isHeld)
  } catch (error) {
    throw await bookings.failed(claimed, error)
  }
  return bookings.made(claimed, made)
}

/** Returns a booking with defaults for what a test does not care about. */
export const booking = (given: Partial<Booking> = {}): Booking => ({
  tenant: 'acme',
  credential: undefined,
  reference: 'REF-1',
  vin: 'VIN1',
  idempotencyKey: undefined,
  fields: [['PickupName', 'Pat']],
  deadline: performance.now() + FAR_MS,
  ...given,
})

/** Returns what the service made. */
export const made = (id = 's-1'): Made => ({
  answer: { status: 200, headers: { 'Transload-Shipment-Id': id }, body: '{}' },
  record: { kind: 'shipment', id, names: [], vin: '', own: undefined, facts: undefined },
})
