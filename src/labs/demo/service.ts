import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isDeepStrictEqual } from 'node:util'
import type * as z from 'zod'
import { change, check, creation, DemoRefusal, type DemoShipment, type DemoVehicle, parseBody, trip } from './bodies.ts'
import type { Announce } from './events.ts'

/** A whole request. */
export interface DemoRequest {
  readonly method: string
  /** The raw target, with the query. */
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface DemoReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Written as JSON. */
  readonly body: object
}

/** A stored quote. */
export interface DemoQuote extends z.infer<typeof trip> {
  shipment_id: string
  price: number
  client: string
  approved: boolean
}

/** The settings of the service, which can change while it runs. */
export interface ServiceSettings {
  /** Secrets by client id, or `any` for every id with every secret. */
  credentials: Readonly<Record<string, string>> | 'any'
  /** If true, an approval turns the quote into a shipment with the same id; otherwise it approves the quote but books nothing. */
  approvalBooks: boolean
}

/** The data of the service. */
export type DemoService = ReturnType<typeof openService>

/** Opens a service without data. */
export const openService = (settings: ServiceSettings, announce: Announce) => ({
  settings,
  announce,
  /** By id. */
  shipments: new Map<string, DemoShipment>(),
  /** The client of each shipment. */
  owners: new Map<string, string>(),
  /** By id. */
  quotes: new Map<string, DemoQuote>(),
})

/** Answers a request as the service does. */
export function answer(service: DemoService, call: DemoRequest): DemoReply {
  try {
    return route(service, call)
  } catch (error) {
    if (error instanceof DemoRefusal) return error
    throw error
  }
}

type Handle = (service: DemoService, client: string, sent: object, id: string) => object

/** The methods of each path; `id` stands for any name. */
const routes: Readonly<Record<string, Readonly<Record<string, Handle>>>> = {
  quote: { GET: makeQuote, POST: makeQuote },
  'quote/id': { PUT: updateQuote },
  'quote/id/approve': { POST: approveQuote },
  shipments: { POST: book },
  'shipments/id': { GET: readShipment, PUT: updateShipment, DELETE: cancelShipment },
}

/** The requests that need no body. */
const WITHOUT_BODY: ReadonlySet<Handle> = new Set([approveQuote, cancelShipment])

function route(service: DemoService, { method, target, headers, body }: DemoRequest): DemoReply {
  const [path = '', query = ''] = target.split('?', 2)
  const [, version, kind = '', name, ...verbs] = path.split('/')
  if (version !== 'v2') throw noSuchPath(path)
  const client = authenticate(service, headers.authorization)
  const place = [kind === 'shipment' ? 'shipments' : kind, ...(name === undefined ? [] : ['id']), ...verbs].join('/')
  const methods = Object.hasOwn(routes, place) ? routes[place] : undefined
  if (!methods) throw noSuchPath(path)
  const handle = methods[method]
  if (!handle) {
    const allow = Object.keys(methods).join(', ')
    throw new DemoRefusal('method_not_allowed', `Use ${allow}`, { allow })
  }
  const isQuery = method === 'GET' || WITHOUT_BODY.has(handle)
  const sent = isQuery ? Object.fromEntries(new URLSearchParams(query)) : parseBody(body)
  return { status: handle === book ? 201 : 200, body: handle(service, client, sent, decode(name ?? '')) }
}

const noSuchPath = (path: string) => new DemoRefusal('not_found', `There is no ${path}`)

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw noSuchPath(part)
  }
}

/** Returns the client of a request. */
export function authenticate({ settings: { credentials } }: DemoService, authorization = ''): string {
  const encoded = /^basic +(\S+)$/i.exec(authorization)?.[1]
  if (!encoded) throw unauthorized('Credentials are required')
  const [, id, secret] = /^([^:]+):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  const isKnown =
    id !== undefined && (credentials === 'any' || (Object.hasOwn(credentials, id) && credentials[id] === secret))
  if (isKnown) return id
  throw unauthorized('The credentials are unknown')
}

const unauthorized = (message: string) =>
  new DemoRefusal('unauthorized', message, { 'www-authenticate': 'Basic realm="sandbox"' })

export function makeQuote(service: DemoService, client: string, body: object) {
  const asked = check(trip, body)
  return keep(service, { ...asked, shipment_id: randomUUID(), price: priceOf(asked), client, approved: false })
}

function updateQuote(service: DemoService, client: string, body: object, id: string) {
  const quote = findQuote(service, client, id)
  if (quote.approved) throw new DemoRefusal('conflict', 'The quote is already approved')
  const asked = check(trip, { ...quote, ...body })
  return keep(service, { ...quote, ...asked, price: priceOf(asked) })
}

/** Approves a quote; approving it again changes nothing. The reply describes a shipment only if there is one. */
function approveQuote(service: DemoService, client: string, _sent: object, id: string) {
  const quote = findQuote(service, client, id)
  const isNew = !quote.approved
  keep(service, { ...quote, approved: true })
  const { price } = quote
  let shipment = service.shipments.get(id)
  if (!shipment && !service.settings.approvalBooks) return { quote_id: id, price, status: 'approved' }
  shipment ??= enter(service, client, tripOf(quote), { id, price })
  if (isNew) service.announce('shipment.rate_approved', id)
  return { shipment_id: id, price, number: shipment.number, status: shipment.status }
}

function findQuote({ quotes }: DemoService, client: string, id: string): DemoQuote {
  const quote = quotes.get(id)
  if (quote?.client !== client) throw new DemoRefusal('not_found', `There is no quote ${id}`)
  return quote
}

function keep({ quotes }: DemoService, quote: DemoQuote) {
  quotes.set(quote.shipment_id, quote)
  return { shipment_id: quote.shipment_id, price: quote.price }
}

const priceOf = (asked: z.infer<typeof trip>) => estimateOf(tripOf(asked)).price

const tripOf = ({ pickup, delivery, vehicle_type: type, transport_type }: z.infer<typeof trip>) => ({
  pickup: placeOf(pickup),
  delivery: placeOf(delivery),
  vehicles: [{ type }],
  transport_type,
})

// A shipment's ZIP code is a number, so a Canadian code does not fit.
const placeOf = (postalCode: string) => ({ zipcode: Number(postalCode.slice(0, 5)) || undefined })

function book(service: DemoService, client: string, body: object): DemoShipment {
  const { quote_id, ...input } = check(creation, body)
  const quote = quote_id === undefined ? undefined : service.quotes.get(quote_id)
  if (quote_id !== undefined && quote?.client !== client)
    throw new DemoRefusal('validation_failed', `There is no quote ${quote_id}`)
  const shipment = enter(service, client, input, { id: randomUUID(), price: quote?.price })
  service.announce('shipment.created', shipment.id)
  return shipment
}

type ShipmentInput = Omit<z.infer<typeof creation>, 'quote_id' | 'customer'> & Pick<DemoShipment, 'customer'>
type VehicleInput = ShipmentInput['vehicles'][number]
type Trip = Pick<DemoShipment, 'pickup' | 'delivery' | 'transport_type'> & {
  vehicles: readonly { readonly type?: string | undefined }[]
}

const FIRST_NUMBER = 100001

/** Adds a shipment; a quote may have fixed its price. */
function enter(
  service: DemoService,
  client: string,
  { transport_type = 'open', ...input }: ShipmentInput,
  { id, price }: { id: string; price: number | undefined },
): DemoShipment {
  const trip = { ...input, vehicles: input.vehicles.map(newVehicle), transport_type }
  const estimated = estimateOf(trip)
  const shipment: DemoShipment = {
    ...trip,
    ...estimated,
    id,
    number: `TL-${FIRST_NUMBER + service.owners.size}`,
    status: 'new',
    price: price ?? estimated.price,
    documents: [],
  }
  service.shipments.set(id, shipment)
  service.owners.set(id, client)
  return shipment
}

/** Returns the client's shipment with this id; a refusal uses the name that the client sent. */
function findShipment({ shipments, owners }: DemoService, client: string, id: string, name = id): DemoShipment {
  const shipment = shipments.get(id)
  if (shipment && (owners.get(id) ?? client) === client) return shipment
  throw new DemoRefusal('not_found', `There is no shipment ${name}`)
}

function readShipment(service: DemoService, client: string, _sent: object, name: string): DemoShipment {
  const numbered = name.startsWith('TL-') ? service.shipments.values().find(({ number }) => number === name) : undefined
  return findShipment(service, client, numbered?.id ?? name, name)
}

/** Replaces the sent members and keeps the others, including vehicles that are not sent. */
function updateShipment(service: DemoService, client: string, body: object, id: string): DemoShipment {
  const old = findShipment(service, client, id)
  const { vehicles = [], ...given } = check(change, body)
  if (old.status === 'canceled') throw new DemoRefusal('conflict', 'The shipment is canceled')
  // The compiler takes an absent member for undefined, but it is missing.
  const next: DemoShipment = { ...old, ...(given as object), vehicles: merged(old.vehicles, vehicles) }
  const estimated = estimateOf(next)
  // A price from a quote is valid until the trip changes.
  if (estimated.price !== estimateOf(old).price) Object.assign(next, estimated)
  service.shipments.set(id, next)
  if (!isDeepStrictEqual(old, next)) service.announce('shipment.modified', id, old)
  return next
}

function cancelShipment(service: DemoService, client: string, _sent: object, id: string): DemoShipment {
  const old = findShipment(service, client, id)
  if (old.status === 'canceled') throw new DemoRefusal('conflict', 'The shipment is already canceled')
  const canceled: DemoShipment = { ...old, status: 'canceled' }
  service.shipments.set(id, canceled)
  service.announce('shipment.canceled', id)
  return canceled
}

/** Pounds, then inches. */
const SIZE = { weight: 3300, height: 57, width: 72, length: 190 }

function newVehicle(vehicle: Omit<VehicleInput, 'id'>): DemoVehicle {
  return { id: randomUUID(), ...vehicle, ...SIZE, photos: [] }
}

/** Merges vehicles into those of a shipment by id; one without an id is new. */
function merged(
  old: readonly DemoVehicle[],
  given: readonly (Omit<VehicleInput, 'id'> & { id?: string | undefined })[],
): DemoVehicle[] {
  const vehicles = [...old]
  given.forEach(({ id, ...vehicle }) => {
    const place = vehicles.findIndex((known) => known.id === id)
    const known = vehicles[place]
    if (known) vehicles[place] = { ...newVehicle(vehicle), id: known.id, photos: known.photos }
    else if (id === undefined) vehicles.push(newVehicle(vehicle))
    else throw new DemoRefusal('validation_failed', `The shipment has no vehicle ${id}`)
  })
  return vehicles
}

const LOADING_FEE_DOLLARS = 165
const CAR_DOLLARS_PER_MILE = 0.62
const OTHER_DOLLARS_PER_MILE = 0.84
const ENCLOSED_FACTOR = 1.4
const METERS_PER_MILE = 1609.344

/** Prices a trip: a loading fee and a rate per mile for each vehicle, times a factor for an enclosed trailer. */
function estimateOf({ pickup, delivery, vehicles, transport_type }: Trip) {
  const distance = milesBetween(pickup.zipcode, delivery?.zipcode)
  const rates = vehicles.map(({ type = 'car' }) => (type === 'car' ? CAR_DOLLARS_PER_MILE : OTHER_DOLLARS_PER_MILE))
  const open = rates.reduce((sum, rate) => sum + LOADING_FEE_DOLLARS + distance * rate, 0)
  return {
    price: cents(transport_type === 'enclosed' ? open * ENCLOSED_FACTOR : open),
    distance,
    distance_meters: Math.round(distance * METERS_PER_MILE),
  }
}

/** The distance of a trip if an end has no ZIP code. */
const UNKNOWN_MILES = 500
const SHORTEST_MILES = 5
/** ZIP codes grow from east to west. A stand-in needs the same miles for the same trip, not the real distance. */
const CODES_PER_MILE = 18

function milesBetween(from?: number, to?: number): number {
  if (from === undefined || to === undefined) return UNKNOWN_MILES
  return Math.round(Math.max(Math.abs(from - to) / CODES_PER_MILE, SHORTEST_MILES) * 10) / 10
}

const cents = (dollars: number) => Math.round(dollars * 100) / 100
