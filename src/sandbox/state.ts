import type { NativeError } from './native-errors.ts'
import type { Customer, Delivery, Pickup, VehicleInput } from './shipment-body.ts'

/** A photo of a vehicle. */
export interface Photo {
  id: string
  type: string
  url: string
  latitude: number
  longitude: number
  created_dttm: string
}

/** A document of a shipment. */
export interface Document {
  id: string
  type: string
  url: string
}

/** A vehicle in the service's replies. */
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

/** A shipment in the service's replies. */
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

/** A stored quote. */
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

/** The change of one field. */
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

/** The settings of the stand-in; they can change while it runs. */
export interface SandboxSettings {
  /** Client id to secret, or `any` for every id with every secret. @default { demo: 'demo-secret' } */
  credentials: Readonly<Record<string, string>> | 'any'
  /** The credentials that /v2 accepts; `basic` has no token endpoint. @default 'both' */
  auth: 'basic' | 'bearer' | 'both'
  /** Seconds in `expires_in`; null leaves it out, and tokens do not expire. @default 3600 */
  tokenExpiresIn: number | null
  /** The spellings of the shipment paths that exist. @default 'both' */
  shipmentPath: 'plural' | 'singular' | 'both'
  /** The methods of getting a quote that exist. @default 'both' */
  quoteMethod: 'POST' | 'GET' | 'both'
  /** Shipments carry an `ETag`, and updates obey `If-Match`. @default false */
  etag: boolean
  /** The answer to canceling a shipment that is canceled already. @default 409 */
  repeatedCancel: 200 | 404 | 409
  /** An approval makes the quote a shipment of the same id; else the quote is approved and nothing is booked. @default true */
  approvalBooks: boolean
  /** A read by an `external_id` finds the newest shipment that has it. @default false */
  findsByReference: boolean
  /** The way in which version-1 answers are wrong. @default undefined, they are right */
  nativeError: NativeError | undefined
  /** Version-1 answers have ids and times that differ each time. @default false */
  nativeNoise: boolean
  /** The price of every trip rises by a dollar after so many quotes. @default 0, never */
  movingPrices: number
  /** The receiver of events; none are sent without it. */
  webhookUrl: string | undefined
  /** The attempts for each webhook, the delay between them, and the time-out of each. @default 6, 60 s, 30 s */
  webhookRetry: { attempts: number; delayMs: number; timeoutMs?: number }
  /** The service's clock. @default the system's */
  clock: () => Date
}

/** The owner and the version of a shipment. */
export interface Ledger {
  client: string
  version: number
}

/** The data of the service, its settings, and the sender of its events. */
export interface SandboxState {
  settings: SandboxSettings
  shipments: Map<string, Shipment>
  quotes: Map<string, Quote>
  /** By shipment id. A shipment without an entry, which a test has put in, belongs to every client. */
  ledger: Map<string, Ledger>
  /** Shipment number → id. */
  numbers: Map<string, string>
  /** Client and the version-1 name of a quote or a shipment → id. */
  legacyNames: Map<string, string>
  /** How many quotes were priced. */
  priced: number
  /** Valid access tokens, with their client and when they expire (milliseconds). */
  tokens: Map<string, { client: string; until: number }>
  announce(event: EventName, shipmentId: string, data?: Record<string, Changed>): void
}

/** Returns the state of a service without data. */
export function emptyState(settings: SandboxSettings, announce: SandboxState['announce']): SandboxState {
  return {
    settings,
    shipments: new Map(),
    quotes: new Map(),
    ledger: new Map(),
    numbers: new Map(),
    legacyNames: new Map(),
    priced: 0,
    tokens: new Map(),
    announce,
  }
}

/** Deletes all data; the settings stay. */
export function emptyOut(state: SandboxState): void {
  for (const map of [state.shipments, state.quotes, state.ledger, state.numbers, state.legacyNames, state.tokens]) {
    map.clear()
  }
  state.priced = 0
}
