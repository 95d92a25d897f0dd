import { randomUUID } from 'node:crypto'
import { changes } from './changes.ts'
import { estimate } from './pricing.ts'
import { invalidField, Refusal } from './refusal.ts'
import { readChange, readCreation, type ShipmentCreation, type VehicleInput } from './shipment-body.ts'
import type { Shipment, Vehicle, World } from './world.ts'

const FIRST_NUMBER = 100001
// Pounds, then inches.
const SIZES: ReadonlyMap<string, Pick<Vehicle, 'weight' | 'height' | 'width' | 'length'>> = new Map([
  ['car', { weight: 3300, height: 57, width: 72, length: 190 }],
  ['suv', { weight: 4400, height: 69, width: 77, length: 195 }],
  ['van', { weight: 4700, height: 78, width: 79, length: 215 }],
  ['truck', { weight: 5100, height: 76, width: 80, length: 232 }],
])
const OTHER_SIZE = { weight: 8200, height: 98, width: 84, length: 264 }

/** Creates a shipment from a request body. */
export function createShipment(world: World, client: string, body: unknown): Shipment {
  const { quote_id, ...input } = readCreation(body)
  if (quote_id === undefined) return enterShipment(world, client, input)
  const quote = world.quotes.get(quote_id)
  if (quote?.client !== client) throw invalidField('quote_id', 'names no quote')
  return enterShipment(world, client, input, { price: quote.price })
}

/** Enters a new shipment, under an id and a price that a quote may have fixed. */
export function enterShipment(
  world: World,
  client: string,
  input: Omit<ShipmentCreation, 'quote_id' | 'customer'> & Pick<Shipment, 'customer'>,
  fixed: { id?: string; price?: number; silent?: boolean } = {},
): Shipment {
  const { customer, pickup, delivery, instructions, external_id, transport_type = 'open' } = input
  const vehicles = input.vehicles.map(enterVehicle)
  const trip = estimateOf({ pickup, delivery, vehicles, transport_type })
  const shipment: Shipment = {
    id: fixed.id ?? randomUUID(),
    number: `TL-${FIRST_NUMBER + world.numbers.size}`,
    status: 'new',
    price: fixed.price ?? trip.price,
    ...(customer && { customer }),
    pickup,
    ...(delivery && { delivery }),
    vehicles,
    distance: trip.distance,
    distance_meters: trip.distance_meters,
    transport_type,
    ...(instructions !== undefined && { instructions }),
    documents: [],
    ...(external_id !== undefined && { external_id }),
  }
  world.shipments.set(shipment.id, shipment)
  world.ledger.set(shipment.id, { client, version: 1 })
  world.numbers.set(shipment.number, shipment.id)
  if (!fixed.silent) world.announce('shipment.created', shipment.id)
  return shipment
}

/** The client's shipment with this id, or (for reading) this number; throws a 404. */
export function findShipment(world: World, client: string, name: string, by: 'id' | 'id or number' = 'id'): Shipment {
  const id = by === 'id' ? name : (world.numbers.get(name) ?? name)
  const shipment = world.shipments.get(id)
  if (!shipment || (world.ledger.get(id)?.client ?? client) !== client) {
    throw new Refusal('not_found', `There is no shipment ${name}`)
  }
  return shipment
}

/**
 * Updates a shipment: what is given replaces what was there, what is not given stays. A vehicle without an id is a new
 * one, and vehicles that are not mentioned stay.
 */
export function updateShipment(world: World, client: string, id: string, body: unknown, ifMatch?: string): Shipment {
  const old = findShipment(world, client, id)
  if (world.settings.etag && ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etagOf(world, id)) {
    throw new Refusal('precondition_failed', 'The shipment has changed since it was read')
  }
  const { vehicles, ...given } = readChange(body)
  if (old.status === 'canceled') throw new Refusal('conflict', 'The shipment is canceled')
  const next: Shipment = { ...old, ...defined(given), vehicles: mergeVehicles(old.vehicles, vehicles ?? []) }
  const trip = estimateOf(next)
  // A price that a quote fixed holds until the trip itself changes.
  if (trip.price !== estimateOf(old).price) Object.assign(next, trip)
  return replaceShipment(world, next)
}

/** Puts a changed shipment in the place of the old one, and tells what changed. */
function replaceShipment(world: World, next: Shipment): Shipment {
  const data = changes(world.shipments.get(next.id) ?? {}, next)
  world.shipments.set(next.id, next)
  touchShipment(world, next.id)
  if (Object.keys(data).length > 0) world.announce('shipment.modified', next.id, data)
  return next
}

/** Cancels a shipment. */
export function cancelShipment(world: World, client: string, id: string): Shipment {
  const shipment = findShipment(world, client, id)
  if (shipment.status !== 'canceled') {
    const canceled: Shipment = { ...shipment, status: 'canceled' }
    world.shipments.set(id, canceled)
    touchShipment(world, id)
    world.announce('shipment.canceled', id)
    return canceled
  }
  if (world.settings.repeatedCancel === 404) throw new Refusal('not_found', `There is no shipment ${id}`)
  if (world.settings.repeatedCancel === 409) throw new Refusal('conflict', 'The shipment is already canceled')
  return shipment
}

/** Makes a new version of a shipment, so that its ETag differs. */
export function touchShipment(world: World, id: string): void {
  const entry = world.ledger.get(id)
  if (entry) entry.version += 1
}

/** The ETag of a shipment as it stands. */
export function etagOf(world: World, id: string): string {
  return `"${world.ledger.get(id)?.version ?? 0}"`
}

function enterVehicle({ id: _, ...vehicle }: Omit<VehicleInput, 'id'> & { id?: unknown }): Vehicle {
  return { id: randomUUID(), ...sent(vehicle), ...sizeOf(vehicle.type), photos: [] }
}

function mergeVehicles(old: readonly Vehicle[], given: readonly VehicleInput[]): Vehicle[] {
  const vehicles = [...old]
  given.forEach((vehicle, index) => {
    const place = vehicles.findIndex(({ id }) => id === vehicle.id)
    const known = vehicles[place]
    if (known) vehicles[place] = { ...sent(vehicle), ...sizeOf(vehicle.type), id: known.id, photos: known.photos }
    else if (vehicle.id === undefined) vehicles.push(enterVehicle(vehicle))
    else throw invalidField(`vehicles[${index}].id`, 'names no vehicle of this shipment')
  })
  return vehicles
}

// The check let none of the server's own fields through; this tells the compiler.
function sent({ weight, height, width, length, photos, ...vehicle }: Omit<VehicleInput, 'id'>) {
  return vehicle
}

function sizeOf(type: string | undefined) {
  return SIZES.get(type ?? 'car') ?? OTHER_SIZE
}

function estimateOf(trip: {
  pickup: { zipcode?: number | undefined }
  delivery?: { zipcode?: number | undefined } | undefined
  vehicles: readonly Vehicle[]
  transport_type: string
}) {
  return estimate({
    from: trip.pickup.zipcode?.toString().padStart(5, '0'),
    to: trip.delivery?.zipcode?.toString().padStart(5, '0'),
    vehicleTypes: trip.vehicles.map(({ type }) => type ?? 'car'),
    transportType: trip.transport_type,
  })
}

function defined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(given).filter(([, value]) => value !== undefined)
  // Object.fromEntries forgets the names that the filter keeps.
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }
}
