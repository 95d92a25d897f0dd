import { DemoRefusal, type DemoShipment, parseBody } from '../../src/labs/demo/bodies.ts'
import {
  answer,
  authenticate,
  type DemoReply,
  type DemoRequest,
  type DemoService,
  makeQuote,
} from '../../src/labs/demo/service.ts'
import { type DeviationName, deviating, kindOf } from './deviations.ts'
import { grantToken, type TokenSettings, withoutToken } from './tokens.ts'

/** The traits of possible services that differ from the demo's. */
export interface Traits extends TokenSettings {
  /** The spellings of the shipment paths that exist. @default 'both' */
  shipmentPath?: 'plural' | 'singular' | 'both'
  /** The methods for a quote that exist. @default 'both' */
  quoteMethod?: 'POST' | 'GET' | 'both'
  /** Shipments carry an `ETag`, and updates obey `If-Match`. @default false */
  etag?: boolean
  /** The answer to canceling a shipment that is already canceled. @default 409 */
  repeatedCancel?: 200 | 404 | 409
  /** A read by an `external_id` finds the client's newest shipment that has it. @default false */
  findsByReference?: boolean
  /** Changes the answers to version-1 requests. @default unchanged */
  native?: (answer: Readonly<Record<string, string>>) => object
  /** How the service differs from the assumptions. @default none */
  deviations?: readonly DeviationName[]
}

/** Answers a request as a service with these traits does. */
export function answerAs(service: DemoService, traits: Traits, call: DemoRequest): DemoReply {
  const plain = (asked: DemoRequest) => answerWith(service, traits, asked)
  return traits.deviations?.length ? deviating(traits.deviations, service, call, plain) : plain(call)
}

function answerWith(service: DemoService, traits: Traits, given: DemoRequest): DemoReply {
  const { kind, id } = kindOf(given)
  if (kind === 'token' && traits.auth !== 'basic') return grantToken(service, traits, given)
  const call = withoutToken(service, traits, given)
  if ('status' in call) return call
  if (kind === 'version 1' || (kind === 'quote' && call.body.includes('TempShip') && traits.quoteMethod !== 'GET'))
    return answerNatively(service, traits, call)
  const { etag, repeatedCancel = 409 } = traits
  const before = etag ? tagOf(service, id) : undefined
  const match = call.headers['if-match'] ?? '*'
  if (kind === 'update' && before !== undefined && match !== '*' && match !== before) {
    return { status: 412, body: { error: { code: 'precondition_failed', message: 'The shipment has changed' } } }
  }
  const reply = answer(service, asUnderstood(service, traits, call))
  if (etag && (kind === 'read' || kind === 'update') && reply.status === 200) {
    return { ...reply, headers: { etag: tagOf(service, String(Object(reply.body).id)) ?? '' } }
  }
  if (kind !== 'cancellation' || reply.status !== 409 || repeatedCancel === 409) return reply
  const canceled = service.shipments.get(id)
  return repeatedCancel === 404 || !canceled
    ? { status: 404, body: { error: { code: 'not_found', message: `There is no shipment ${id}` } } }
    : { status: 200, body: canceled }
}

/** Returns the request with which the demo's service does what a service with these traits does for the given one. */
function asUnderstood(service: DemoService, traits: Traits, call: DemoRequest): DemoRequest {
  const { shipmentPath = 'both', quoteMethod = 'both', findsByReference } = traits
  const { kind, id } = kindOf(call)
  if (kind === 'quote' && quoteMethod !== 'both' && call.method !== quoteMethod) return { ...call, method: 'PATCH' }
  const isPlural = call.target.startsWith('/v2/shipments')
  if (kind === 'read' || kind === 'booking' || kind === 'update' || kind === 'cancellation') {
    if (shipmentPath === (isPlural ? 'singular' : 'plural')) return { ...call, target: '/v2/none' }
  }
  const found = kind === 'read' && findsByReference ? idOfReference(service, call.headers.authorization, id) : undefined
  return found === undefined ? call : { ...call, target: `/v2/shipments/${found}` }
}

/** Returns the id of the client's newest shipment with a reference. */
function idOfReference(service: DemoService, authorization: string | undefined, reference: string): string | undefined {
  try {
    const client = authenticate(service, authorization)
    const isFound = ({ id, external_id }: DemoShipment) =>
      external_id === reference && (service.owners.get(id) ?? client) === client
    return [...service.shipments.values()].findLast(isFound)?.id
  } catch {
    return undefined
  }
}

const versions = new WeakMap<DemoService, Map<string, { shipment: DemoShipment; version: number }>>()

/** Returns the ETag of a shipment, which counts the versions that were asked for. */
function tagOf(service: DemoService, id: string): string | undefined {
  const known = versions.get(service) ?? new Map()
  versions.set(service, known)
  const shipment = service.shipments.get(id)
  if (!shipment) return undefined
  const last = known.get(id)
  const version = last?.shipment === shipment ? last.version : (last?.version ?? 0) + 1
  known.set(id, { shipment, version })
  return `"${version}"`
}

/** Answers a quote or a read in version 1, as the retired host did. */
function answerNatively(service: DemoService, { native = (told) => told }: Traits, call: DemoRequest): DemoReply {
  const [path = '', query = ''] = call.target.split('?', 2)
  const isRead = /getShipment\.php$/i.test(path)
  try {
    const client = authenticate(service, call.headers.authorization)
    const isJson = !isRead && call.body.trim().startsWith('{')
    const form = () => Object.fromEntries(new URLSearchParams(isRead ? query : call.body))
    // Version-1 values are texts.
    const flat = (isJson ? parseBody(call.body) : form()) as Flat
    return {
      status: 200,
      body: native(isRead ? flatShipment(service, client, flat) : flatQuote(service, client, flat)),
    }
  } catch (error) {
    if (!(error instanceof DemoRefusal)) throw error
    const { status, message: Message } = error
    return {
      status,
      body: isRead ? { Message, TransportationBooked: 'No' } : { Cost: '', ShipmentNumber: '', Message },
    }
  }
}

type Flat = Readonly<Record<string, string>>

function flatQuote(service: DemoService, client: string, flat: Flat): Flat {
  const words = flat['PickupCommodityCode'] || flat['DeliveryCommodityCode'] || flat['LoadReference'] || 'car'
  const vehicle_type =
    [
      [/\bsuv\b/i, 'suv'],
      [/box truck/i, 'truck_ext'],
      [/\bvan\b/i, 'van'],
      [/truck|pickup/i, 'truck'],
    ].find(([name]) => (name as RegExp).test(words))?.[1] ?? 'car'
  const { price, shipment_id } = makeQuote(service, client, {
    pickup: flat['TempShipFromPostalCode'],
    delivery: flat['TempShipToPostalCode'],
    vehicle_type,
    transport_type: /^enclosed/i.test(flat['EquipmentType'] ?? '') ? 'enclosed' : 'open',
  })
  return { Cost: price.toFixed(2), ShipmentNumber: flat['ShipmentNumber'] || shipment_id }
}

const PLACE = {
  Address: 'address',
  City: 'city',
  State: 'state',
  Zip: 'zipcode',
  Name: 'contact_name',
  'PhNo.': 'contact_phone',
  EmailAddress: 'contact_email',
  TransportationInstruction: 'notes',
}
const FLAT = {
  Pickup: ['pickup', PLACE],
  Delivery: ['delivery', PLACE],
  BillTo: ['customer', { Name: 'customer_name', 'PhNo.': 'phone', EmailAddress: 'email' }],
  '': ['vehicle', { Year: 'year', Make: 'make', Model: 'model', VinNo: 'vin' }],
} as const

function flatShipment(service: DemoService, client: string, flat: Flat): Flat {
  const name = flat['ShipmentNumber'] ?? flat['ReferenceNumber'] ?? ''
  const shipment = service.shipments.values().find(({ id, number }) => id === name || number === name)
  if (!shipment || service.owners.get(shipment.id) !== client)
    throw new DemoRefusal('not_found', `There is no shipment ${name}`)
  const told: Record<string, string> = {
    ShipmentNumber: shipment.number,
    ReferenceNumber: shipment.external_id ?? '',
    Cost: shipment.price.toFixed(2),
    Status: shipment.status,
    TransportationBooked: shipment.status === 'canceled' ? 'No' : 'Yes',
    Message: `DemoShipment ${shipment.number}`,
  }
  const parts: Record<string, unknown> = { ...shipment, vehicle: shipment.vehicles[0] ?? {} }
  for (const [start, [part, names]] of Object.entries(FLAT)) {
    for (const [end, field] of Object.entries(names)) {
      const value = Object(parts[part])[field]
      told[start + end] = value === undefined ? '' : String(value).padStart(end === 'Zip' ? 5 : 0, '0')
    }
  }
  return told
}
