import type { Customer, Delivery, Pickup, VehicleInput } from './shipment-body.ts'

/** A photo of a vehicle, taken on the way. */
export interface Photo {
  id: string
  type: string
  url: string
  latitude: number
  longitude: number
  created_dttm: string
}

/** A paper that belongs to a shipment. */
export interface Document {
  id: string
  type: string
  url: string
}

/** A vehicle as the service answers it. */
export type Vehicle = Omit<VehicleInput, 'id' | 'weight' | 'height' | 'width' | 'length' | 'photos'> & {
  id: string
  weight: number
  height: number
  width: number
  length: number
  photos: Photo[]
}

/** The states of a shipment. */
export type Status = 'new' | 'posted' | 'assigned' | 'picked_up' | 'delivered' | 'hold' | 'canceled'

/** A shipment as the service answers it. */
export interface Shipment {
  id: string
  number: string
  status: Status
  price: number
  customer?: Customer
  pickup: Pickup
  delivery?: Delivery
  vehicles: Vehicle[]
  distance: number
  distance_meters: number
  transport_type: string
  instructions?: string
  documents: Document[]
  external_id?: string
}

/** A quote as the service keeps it. */
export interface Quote {
  shipment_id: string
  price: number
  pickup: string
  delivery: string
  vehicle_type: string
  transport_type: string
  client: string
  approved: boolean
}

/** The nine kinds of webhook. */
export type EventName =
  | 'shipment.created'
  | 'shipment.modified'
  | 'shipment.assigned'
  | 'shipment.picked_up'
  | 'shipment.delivered'
  | 'shipment.canceled_by_carrier'
  | 'shipment.canceled'
  | 'shipment.rate_approved'
  | 'shipment.bol_available'

/** What became of one field. */
export interface Changed {
  old_value: unknown
  new_value: unknown
  difference?: number
}

/** The payload of a webhook. */
export interface ServiceEvent {
  shipment_id: string
  event: EventName
  event_date: string
  data?: Record<string, Changed>
}

/** What can be changed while the stand-in runs. */
export interface Settings {
  /** Client id to secret, or `any` for every id with every secret. @default { demo: 'demo-secret' } */
  credentials: Readonly<Record<string, string>> | 'any'
  /** Which credentials /v2 takes; `basic` has no token endpoint yet. @default 'both' */
  auth: 'basic' | 'bearer' | 'both'
  /** Seconds in `expires_in`; null leaves it out, and tokens last. @default 3600 */
  tokenExpiresIn: number | null
  /** Which spelling of the shipment paths exists. @default 'both' */
  shipmentPath: 'plural' | 'singular' | 'both'
  /** Which way of getting a quote exists. @default 'both' */
  quoteMethod: 'POST' | 'GET' | 'both'
  /** Whether shipments carry an `ETag` and updates obey `If-Match`. @default false */
  etag: boolean
  /** The answer to cancelling what is already cancelled. @default 409 */
  repeatedCancel: 200 | 404 | 409
  /** Where events go; none are sent without it. */
  webhookUrl: string | undefined
  /** How often a webhook is tried in all, how long apart, how long each may take. @default 6, 60 s, 30 s */
  webhookRetry: { attempts: number; delayMs: number; timeoutMs?: number }
  /** The service's clock. @default the real one */
  clock: () => Date
}

/** Whose a shipment is, and how often it has changed. */
export interface Ledger {
  client: string
  version: number
}

/** Everything that the service knows, and what it needs from outside. */
export interface World {
  settings: Settings
  shipments: Map<string, Shipment>
  quotes: Map<string, Quote>
  /** By shipment id. A shipment that a test puts in without an entry here belongs to everybody. */
  ledger: Map<string, Ledger>
  /** Shipment number to id. */
  numbers: Map<string, string>
  /** What a version-1 caller calls a quote or a shipment, under its client, to the id. */
  legacyNames: Map<string, string>
  /** Access tokens that are good, with whose they are and until when (milliseconds). */
  tokens: Map<string, { client: string; until: number }>
  announce(event: EventName, shipmentId: string, data?: Record<string, Changed>): void
}

/** An empty service. */
export function emptyWorld(settings: Settings, announce: World['announce']): World {
  return {
    settings,
    shipments: new Map(),
    quotes: new Map(),
    ledger: new Map(),
    numbers: new Map(),
    legacyNames: new Map(),
    tokens: new Map(),
    announce,
  }
}

/** Forgets everything but the settings. */
export function emptyOut(world: World): void {
  for (const map of [world.shipments, world.quotes, world.ledger, world.numbers, world.legacyNames, world.tokens]) {
    map.clear()
  }
}
