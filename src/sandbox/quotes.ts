import { randomUUID } from 'node:crypto'
import * as z from 'zod'
import { estimate } from './pricing.ts'
import { Refusal } from './refusal.ts'
import { check, TRANSPORT_TYPES, VEHICLE_TYPES } from './shipment-body.ts'
import { enterShipment } from './shipments.ts'
import type { Quote, World } from './world.ts'

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

/** What the service answers of a quote. */
export interface QuoteReply {
  shipment_id: string
  price: number
}

/** Prices a trip and keeps the quote. */
export function createQuote(world: World, client: string, body: unknown): QuoteReply {
  const trip = check(asked, body)
  return keep(world, { ...trip, shipment_id: randomUUID(), price: priceOf(trip), client, approved: false })
}

/** Lays new facts over a quote and prices it again. */
export function updateQuote(world: World, client: string, id: string, body: object): QuoteReply {
  const quote = findQuote(world, client, id)
  if (quote.approved) throw new Refusal('conflict', 'The quote is already approved')
  const trip = check(asked, { ...quote, ...body })
  return keep(world, { ...quote, ...trip, price: priceOf(trip) })
}

/** KeyedMutex a quote into a shipment of the same id; approving it again changes nothing. */
export function approveQuote(world: World, client: string, id: string): QuoteReply & { status: string } {
  const quote = findQuote(world, client, id)
  const shipment = world.shipments.get(id) ?? shipmentOf(world, quote)
  return { shipment_id: id, price: shipment.price, status: shipment.status }
}

function findQuote(world: World, client: string, id: string): Quote {
  const quote = world.quotes.get(id)
  if (quote?.client !== client) throw new Refusal('not_found', `There is no quote ${id}`)
  return quote
}

function keep(world: World, quote: Quote): QuoteReply {
  world.quotes.set(quote.shipment_id, quote)
  return { shipment_id: quote.shipment_id, price: quote.price }
}

function priceOf(trip: z.infer<typeof asked>): number {
  const { pickup, delivery, vehicle_type, transport_type } = trip
  return estimate({ from: pickup, to: delivery, vehicleTypes: [vehicle_type], transportType: transport_type }).price
}

function shipmentOf(world: World, quote: Quote) {
  const { shipment_id: id, price, client } = quote
  const trip = check(asked, quote)
  const shipment = enterShipment(
    world,
    client,
    {
      pickup: place(trip.pickup),
      delivery: place(trip.delivery),
      vehicles: [{ type: trip.vehicle_type }],
      transport_type: trip.transport_type,
    },
    { id, price, silent: true },
  )
  world.quotes.set(id, { ...quote, approved: true })
  world.announce('shipment.rate_approved', id, { price: { old_value: null, new_value: price, difference: price } })
  return shipment
}

// A shipment's ZIP code is a number, so a Canadian code has no place in it.
function place(postalCode: string): { zipcode?: number } {
  return /^\d{5}/.test(postalCode) ? { zipcode: Number(postalCode.slice(0, 5)) } : {}
}
