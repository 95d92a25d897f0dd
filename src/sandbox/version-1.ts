import { answerNatively } from './native-errors.ts'
import { approveQuote, createQuote, updateQuote } from './quotes.ts'
import { Refusal } from './refusal.ts'
import type { Reply } from './service.ts'
import { cancelShipment, createShipment, findShipment, updateShipment } from './shipments.ts'
import type { SandboxState } from './state.ts'
import { type Flat, flatShipment, flatten, quoteRequest, shipmentRequest } from './version-1-fields.ts'

export { isVersion1 } from './version-1-fields.ts'

/** The action that a version-1 call asks for. */
export type LegacyAction = 'quote' | 'quote update' | 'booking' | 'read' | 'update' | 'cancel'

const PATHS: ReadonlyMap<string, LegacyAction> = new Map([
  ['getshippingquote.php', 'quote'],
  ['getshippingquotewts.php', 'quote'],
  ['createshipment.php', 'booking'],
  ['confirmbooking', 'booking'],
  ['getshipment.php', 'read'],
  ['updateshipment.php', 'update'],
  ['deleteshipment.php', 'cancel'],
])
const NAMES = ['ShipmentNumber', 'ReferenceNumber', 'OrderRefNumber', 'shipment_id', 'id', 'number'] as const

/** Returns the action of a legacy path; undefined if it is not one. */
export function legacyName(path: string): LegacyAction | undefined {
  const name = /^\/(?:quotes\/)?([^/]+)$/.exec(path)?.[1]
  return name === undefined ? undefined : PATHS.get(name.toLowerCase())
}

/** Answers a call to a legacy path. */
export function answerLegacyPath(
  state: SandboxState,
  client: string,
  action: LegacyAction,
  method: string,
  query: string,
  text: string,
): Reply {
  const allow = action === 'read' ? 'GET' : 'POST'
  if (method !== allow) throw new Refusal('method_not_allowed', `Use ${allow}`, { headers: { allow } })
  return inVersion1(
    state,
    action,
    () => (action === 'read' ? flatten(new URLSearchParams(query)) : readFlat(text)),
    (flat) => act(state, client, action, flat),
  )
}

/** Answers a version-1 body on a version-2 path, in the shape of version 1. */
export function answerBodyVersion1(
  state: SandboxState,
  client: string,
  action: LegacyAction,
  body: object,
  id?: string,
): Reply {
  return inVersion1(
    state,
    action,
    () => flatten(Object.entries(body)),
    (flat) => act(state, client, action, flat, id),
  )
}

function act(state: SandboxState, client: string, action: LegacyAction, flat: Flat, id?: string): object {
  switch (action) {
    case 'quote':
    case 'quote update':
      return quote(state, client, action, flat, id)
    case 'booking': {
      const shipment = createShipment(state, client, shipmentRequest(flat))
      remember(state, client, flat, shipment.id)
      return { Message: `Shipment ${shipment.number} is booked`, TransportationBooked: 'Yes' }
    }
    case 'read': {
      const shipment = findShipment(state, client, id ?? named(state, client, flat), 'id or number')
      const booked = shipment.status === 'canceled' ? 'No' : 'Yes'
      return { ...flatShipment(shipment), TransportationBooked: booked, Message: `Shipment ${shipment.number}` }
    }
    case 'update': {
      const known = findShipment(state, client, id ?? named(state, client, flat), 'id or number')
      updateShipment(state, client, known.id, shipmentRequest(flat, known))
      return { Message: `Shipment ${known.number} is updated`, TransportationBooked: 'Yes' }
    }
    case 'cancel': {
      const { id: known } = findShipment(state, client, id ?? named(state, client, flat), 'id or number')
      const { number } = cancelShipment(state, client, known)
      return { Message: `Shipment ${number} is canceled`, TransportationBooked: 'No' }
    }
  }
}

function quote(state: SandboxState, client: string, action: LegacyAction, flat: Flat, id?: string): object {
  const actionName = (flat.get('ActionName') ?? '').toLowerCase()
  if (action === 'quote' && /^(approve|accept)/.test(actionName)) {
    const quoteId = named(state, client, flat)
    const { price } = approveQuote(state, client, quoteId)
    return {
      ...priced(flat, price, quoteId),
      Message: 'The quote is approved',
      TransportationBooked: 'Yes',
    }
  }
  const update = action === 'quote update' || actionName.startsWith('update')
  const { price, shipment_id } = update
    ? updateQuote(state, client, id ?? named(state, client, flat), quoteRequest(flat))
    : createQuote(state, client, quoteRequest(flat))
  remember(state, client, flat, shipment_id)
  return priced(flat, price, shipment_id)
}

function priced(flat: Flat, price: number, id: string): object {
  return { Cost: price.toFixed(2), ShipmentNumber: flat.get('ShipmentNumber') ?? id }
}

function remember(state: SandboxState, client: string, flat: Flat, id: string): void {
  for (const field of ['ShipmentNumber', 'OrderRefNumber', 'ReferenceNumber']) {
    const name = flat.get(field)
    if (name !== undefined) state.legacyNames.set(`${client}\n${name}`, id)
  }
}

function named(state: SandboxState, client: string, flat: Flat): string {
  for (const field of NAMES) {
    const name = flat.get(field)
    if (name !== undefined) return state.legacyNames.get(`${client}\n${name}`) ?? name
  }
  throw new Refusal('validation_failed', 'A ShipmentNumber or ReferenceNumber is required')
}

function readFlat(text: string): Flat {
  // Trimming removes a byte order mark, too.
  const body = text.trim()
  if (!body.startsWith('{')) return flatten(new URLSearchParams(body))
  try {
    return flatten(Object.entries(JSON.parse(body)))
  } catch {
    throw new Refusal('bad_json', 'The body is not JSON')
  }
}

function inVersion1(
  { settings }: SandboxState,
  action: LegacyAction,
  read: () => Flat,
  act: (flat: Flat) => object,
): Reply {
  let flat: Flat = new Map()
  try {
    flat = read()
    const of = action === 'quote' || action === 'read' ? action : undefined
    return { status: 200, body: answerNatively(settings, of, flat, act) }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { status, headers, message: Message } = error
    const body = action.startsWith('quote')
      ? { Cost: '', ShipmentNumber: flat.get('ShipmentNumber') ?? '', Message }
      : { Message, TransportationBooked: 'No' }
    return { status, headers, body }
  }
}
