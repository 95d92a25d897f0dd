import { randomUUID } from 'node:crypto'
import { changes } from './changes.ts'
import { estimate } from './pricing.ts'
import { invalidField, Refusal } from './refusal.ts'
import { readChange, readCreation, type ShipmentCreation, type VehicleInput } from './shipment-body.ts'
import type { SandboxState, Shipment, Vehicle } from './state.ts'

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
export function createShipment(state: SandboxState, client: string, body: unknown): Shipment {
  const { quote_id, ...input } = readCreation(body)
  if (quote_id === undefined) return enterShipment(state, client, input)
  const quote = state.quotes.get(quote_id)
  if (quote?.client !== client) throw invalidField('quote_id', 'names no quote')
  return enterShipment(state, client, input, { price: quote.price })
}

/** Enters a new shipment; a quote may have fixed its id and its price. */
export function enterShipment(
  state: SandboxState,
  client: string,
  input: Omit<ShipmentCreation, 'quote_id' | 'customer'> & Pick<Shipment, 'customer'>,
  fixed: { id?: string; price?: number; silent?: boolean } = {},
): Shipment {
  const { customer, pickup, delivery, instructions, external_id, transport_type = 'open' } = input
  const vehicles = input.vehicles.map(enterVehicle)
  const trip = estimateOf({ pickup, delivery, vehicles, transport_type })
  const shipment: Shipment = {
    id: fixed.id ?? randomUUID(),
    number: `TL-${FIRST_NUMBER + state.numbers.size}`,
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
  state.shipments.set(shipment.id, shipment)
  state.ledger.set(shipment.id, { client, version: 1 })
  state.numbers.set(shipment.number, shipment.id)
  if (!fixed.silent) state.announce('shipment.created', shipment.id)
  return shipment
}

/** Returns the client's shipment with this id or, for reading, this number; throws a 404. */
export function findShipment(
  state: SandboxState,
  client: string,
  name: string,
  by: 'id' | 'id or number' = 'id',
): Shipment {
  const id = by === 'id' ? name : (state.numbers.get(name) ?? idOfReference(state, client, name) ?? name)
  const shipment = state.shipments.get(id)
  if (!shipment || (state.ledger.get(id)?.client ?? client) !== client) {
    throw new Refusal('not_found', `There is no shipment ${name}`)
  }
  return shipment
}

/** Returns the id of the client's newest shipment with a reference, if reads find those. */
function idOfReference(state: SandboxState, client: string, reference: string): string | undefined {
  if (!state.settings.findsByReference) return undefined
  const isFound = ({ id, external_id }: Shipment) =>
    external_id === reference && (state.ledger.get(id)?.client ?? client) === client
  return [...state.shipments.values()].findLast(isFound)?.id
}

/**
 * Updates a shipment: sent members replace the old ones, absent ones stay. A vehicle without an id is a new one, and
 * vehicles that are not sent stay.
 */
export function updateShipment(
  state: SandboxState,
  client: string,
  id: string,
  body: unknown,
  ifMatch?: string,
): Shipment {
  const old = findShipment(state, client, id)
  if (state.settings.etag && ifMatch !== undefined && ifMatch !== '*' && ifMatch !== etagOf(state, id)) {
    throw new Refusal('precondition_failed', 'The shipment has changed since it was read')
  }
  const { vehicles, ...given } = readChange(body)
  if (old.status === 'canceled') throw new Refusal('conflict', 'The shipment is canceled')
  const next: Shipment = { ...old, ...defined(given), vehicles: mergeVehicles(old.vehicles, vehicles ?? []) }
  const trip = estimateOf(next)
  // A price that a quote fixed is valid until the trip changes.
  if (trip.price !== estimateOf(old).price) Object.assign(next, trip)
  return replaceShipment(state, next)
}

/** Replaces a shipment with its changed version, and announces the changes. */
function replaceShipment(state: SandboxState, next: Shipment): Shipment {
  const data = changes(state.shipments.get(next.id) ?? {}, next)
  state.shipments.set(next.id, next)
  touchShipment(state, next.id)
  if (Object.keys(data).length > 0) state.announce('shipment.modified', next.id, data)
  return next
}

export function cancelShipment(state: SandboxState, client: string, id: string): Shipment {
  const shipment = findShipment(state, client, id)
  if (shipment.status !== 'canceled') {
    const canceled: Shipment = { ...shipment, status: 'canceled' }
    state.shipments.set(id, canceled)
    touchShipment(state, id)
    state.announce('shipment.canceled', id)
    return canceled
  }
  if (state.settings.repeatedCancel === 404) throw new Refusal('not_found', `There is no shipment ${id}`)
  if (state.settings.repeatedCancel === 409) throw new Refusal('conflict', 'The shipment is already canceled')
  return shipment
}

/** Makes a new version of a shipment, with another ETag. */
export function touchShipment(state: SandboxState, id: string): void {
  const entry = state.ledger.get(id)
  if (entry) entry.version += 1
}

/** Returns the ETag of a shipment's current version. */
export function etagOf(state: SandboxState, id: string): string {
  return `"${state.ledger.get(id)?.version ?? 0}"`
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

// The schema refuses the fields that only the server sets; this tells the compiler.
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
  // Object.fromEntries does not keep the types of the names.
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }
}
