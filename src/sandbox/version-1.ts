import { approveQuote, createQuote, updateQuote } from './quotes.ts'
import { Refusal } from './refusal.ts'
import type { Reply } from './service.ts'
import { cancelShipment, createShipment, findShipment, updateShipment } from './shipments.ts'
import { type Flat, flatShipment, flatten, quoteRequest, shipmentRequest } from './version-1-fields.ts'
import type { World } from './world.ts'

export { isVersion1 } from './version-1-fields.ts'

/** What a version-1 call asks for. */
export type LegacyDeed = 'quote' | 'quote update' | 'booking' | 'read' | 'update' | 'cancel'

const PATHS: ReadonlyMap<string, LegacyDeed> = new Map([
  ['getshippingquote.php', 'quote'],
  ['getshippingquotewts.php', 'quote'],
  ['createshipment.php', 'booking'],
  ['confirmbooking', 'booking'],
  ['getshipment.php', 'read'],
  ['updateshipment.php', 'update'],
  ['deleteshipment.php', 'cancel'],
])
const NAMES = ['ShipmentNumber', 'ReferenceNumber', 'OrderRefNumber', 'shipment_id', 'id', 'number'] as const

/** What the legacy path asks for; undefined if it is none. */
export function legacyName(path: string): LegacyDeed | undefined {
  const name = /^\/(?:quotes\/)?([^/]+)$/.exec(path)?.[1]
  return name === undefined ? undefined : PATHS.get(name.toLowerCase())
}

/** Answers a call to a legacy path. */
export function answerLegacyPath(
  world: World,
  client: string,
  deed: LegacyDeed,
  method: string,
  query: string,
  text: string,
): Reply {
  const allow = deed === 'read' ? 'GET' : 'POST'
  if (method !== allow) throw new Refusal('method_not_allowed', `Use ${allow}`, { headers: { allow } })
  return inVersion1(
    deed,
    () => (deed === 'read' ? flatten(new URLSearchParams(query)) : readFlat(text)),
    (flat) => act(world, client, deed, flat),
  )
}

/** Answers a version-1 body that came to a version-2 path, in the shape of version 1. */
export function answerBodyVersion1(world: World, client: string, deed: LegacyDeed, body: object, id?: string): Reply {
  return inVersion1(
    deed,
    () => flatten(Object.entries(body)),
    (flat) => act(world, client, deed, flat, id),
  )
}

function act(world: World, client: string, deed: LegacyDeed, flat: Flat, id?: string): object {
  switch (deed) {
    case 'quote':
    case 'quote update':
      return quote(world, client, deed, flat, id)
    case 'booking': {
      const shipment = createShipment(world, client, shipmentRequest(flat))
      remember(world, client, flat, shipment.id)
      return { Message: `Shipment ${shipment.number} is booked`, TransportationBooked: 'Yes' }
    }
    case 'read': {
      const shipment = findShipment(world, client, id ?? named(world, client, flat), 'id or number')
      const booked = shipment.status === 'canceled' ? 'No' : 'Yes'
      return { ...flatShipment(shipment), TransportationBooked: booked, Message: `Shipment ${shipment.number}` }
    }
    case 'update': {
      const known = findShipment(world, client, id ?? named(world, client, flat), 'id or number')
      updateShipment(world, client, known.id, shipmentRequest(flat, known))
      return { Message: `Shipment ${known.number} is updated`, TransportationBooked: 'Yes' }
    }
    case 'cancel': {
      const { id: known } = findShipment(world, client, id ?? named(world, client, flat), 'id or number')
      const { number } = cancelShipment(world, client, known)
      return { Message: `Shipment ${number} is canceled`, TransportationBooked: 'No' }
    }
  }
}

function quote(world: World, client: string, deed: LegacyDeed, flat: Flat, id?: string): object {
  const action = (flat.get('ActionName') ?? '').toLowerCase()
  if (deed === 'quote' && /^(approve|accept)/.test(action)) {
    const { price, shipment_id } = approveQuote(world, client, named(world, client, flat))
    return {
      ...priced(flat, price, shipment_id),
      Message: 'The quote is approved',
      TransportationBooked: 'Yes',
    }
  }
  const update = deed === 'quote update' || action.startsWith('update')
  const { price, shipment_id } = update
    ? updateQuote(world, client, id ?? named(world, client, flat), quoteRequest(flat))
    : createQuote(world, client, quoteRequest(flat))
  remember(world, client, flat, shipment_id)
  return priced(flat, price, shipment_id)
}

function priced(flat: Flat, price: number, id: string): object {
  return { Cost: price.toFixed(2), ShipmentNumber: flat.get('ShipmentNumber') ?? id }
}

function remember(world: World, client: string, flat: Flat, id: string): void {
  for (const field of ['ShipmentNumber', 'OrderRefNumber', 'ReferenceNumber']) {
    const name = flat.get(field)
    if (name !== undefined) world.legacyNames.set(`${client}\n${name}`, id)
  }
}

function named(world: World, client: string, flat: Flat): string {
  for (const field of NAMES) {
    const name = flat.get(field)
    if (name !== undefined) return world.legacyNames.get(`${client}\n${name}`) ?? name
  }
  throw new Refusal('validation_failed', 'A ShipmentNumber or ReferenceNumber is required')
}

function readFlat(text: string): Flat {
  // Trimming takes a byte order mark off, too.
  const body = text.trim()
  if (!body.startsWith('{')) return flatten(new URLSearchParams(body))
  try {
    return flatten(Object.entries(JSON.parse(body)))
  } catch {
    throw new Refusal('bad_json', 'The body is not JSON')
  }
}

function inVersion1(deed: LegacyDeed, read: () => Flat, act: (flat: Flat) => object): Reply {
  let flat: Flat = new Map()
  try {
    flat = read()
    return { status: 200, body: act(flat) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { status, headers, message: Message } = error
    const body = deed.startsWith('quote')
      ? { Cost: '', ShipmentNumber: flat.get('ShipmentNumber') ?? '', Message }
      : { Message, TransportationBooked: 'No' }
    return { status, headers, body }
  }
}
