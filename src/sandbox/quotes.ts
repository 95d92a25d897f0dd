import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { estimate } from './pricing.ts'
import { Refusal } from './refusal.ts'
import { check, TRANSPORT_TYPES, VEHICLE_TYPES } from './shipment-body.ts'
import { enterShipment } from './shipments.ts'
import type { Quote, SandboxState } from './state.ts'

const POSTAL_CODE = /^(\d{5}(-\d{4})?|[A-Za-z]\d[A-Za-z] ?\d[A-Za-z]\d)$/

const postalCode = z
  .string({ error: ({ input }) => (input === undefined ? 'is required' : 'must be a string') })
  .regex(POSTAL_CODE, 'must be a postal code')
const asked = z.object({
  pickup: postalCode,
  delivery: postalCode,
  vehicle_type: z.enum(VEHICLE_TYPES, `must be one of ${VEHICLE_TYPES.join(', ')}`).default('car'),
  transport_type: z.enum(TRANSPORT_TYPES, `must be one of ${TRANSPORT_TYPES.join(', ')}`).default('open'),
})

/** The service's reply to a quote. */
export interface QuoteReply {
  shipment_id: string
  price: number
}

/** Prices a trip and stores the quote. */
export function createQuote(state: SandboxState, client: string, body: unknown): QuoteReply {
  const trip = check(asked, body)
  return keep(state, { ...trip, shipment_id: randomUUID(), price: priceOf(state, trip), client, approved: false })
}

/** Changes a quote and prices it again. */
export function updateQuote(state: SandboxState, client: string, id: string, body: object): QuoteReply {
  const quote = findQuote(state, client, id)
  if (quote.approved) throw new Refusal('conflict', 'The quote is already approved')
  const trip = check(asked, { ...quote, ...body })
  return keep(state, { ...quote, ...trip, price: priceOf(state, trip) })
}

/** The service's reply to an approval: it speaks of a shipment only if the approval makes one. */
export type ApprovalReply =
  | (QuoteReply & { number: string; status: string })
  | { quote_id: string; price: number; status: 'approved' }

/** Approves a quote; approving it again changes nothing. */
export function approveQuote(state: SandboxState, client: string, id: string): ApprovalReply {
  const quote = findQuote(state, client, id)
  if (!state.settings.approvalBooks) {
    state.quotes.set(id, { ...quote, approved: true })
    return { quote_id: id, price: quote.price, status: 'approved' }
  }
  const { price, number, status } = state.shipments.get(id) ?? enterApproved(state, quote)
  return { shipment_id: id, price, number, status }
}

function findQuote(state: SandboxState, client: string, id: string): Quote {
  const quote = state.quotes.get(id)
  if (quote?.client !== client) throw new Refusal('not_found', `There is no quote ${id}`)
  return quote
}

function keep(state: SandboxState, quote: Quote): QuoteReply {
  state.quotes.set(quote.shipment_id, quote)
  return { shipment_id: quote.shipment_id, price: quote.price }
}

function priceOf(state: SandboxState, trip: z.infer<typeof asked>): number {
  const { pickup, delivery, vehicle_type, transport_type } = trip
  const { movingPrices } = state.settings
  const moved = movingPrices > 0 ? Math.floor(state.priced / movingPrices) : 0
  state.priced += 1
  const { price } = estimate({
    from: pickup,
    to: delivery,
    vehicleTypes: [vehicle_type],
    transportType: transport_type,
  })
  return Math.round((price + moved) * CENTS) / CENTS
}

const CENTS = 100

/** Enters the shipment of an approved quote, under the quote's id. */
function enterApproved(state: SandboxState, quote: Quote) {
  const { shipment_id: id, price, client } = quote
  const trip = check(asked, quote)
  const shipment = enterShipment(
    state,
    client,
    {
      pickup: place(trip.pickup),
      delivery: place(trip.delivery),
      vehicles: [{ type: trip.vehicle_type }],
      transport_type: trip.transport_type,
    },
    { id, price, silent: true },
  )
  state.quotes.set(id, { ...quote, approved: true })
  state.announce('shipment.rate_approved', id, { price: { old_value: null, new_value: price, difference: price } })
  return shipment
}

// A shipment's ZIP code is a number; a Canadian code does not fit.
function place(postalCode: string): { zipcode?: number } {
  return /^\d{5}/.test(postalCode) ? { zipcode: Number(postalCode.slice(0, 5)) } : {}
}
