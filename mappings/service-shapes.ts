import { VEHICLE_TYPES } from '../src/language/config/lookups.ts'
import type { Action } from '../src/language/mapping/action.ts'
import { type Draft, placeOf, putAt } from '../src/language/mapping/paths.ts'
import { placesOf } from '../src/language/mapping/row-parts.ts'
import { isObject } from '../src/language/text/json.ts'
import { UUID } from '../src/language/text/service-text.ts'
import { actions } from './index.ts'
import { shipmentCreate } from './shipment-create.ts'

/*
 * The requests of version 2, to check new code. The members come from the places of the declarations, and the lists of values from the
 * service's public reference.
 */

/** The shape of a value. */
export type Shape =
  | { readonly kind: 'text' | 'number'; readonly form?: Form }
  | { readonly kind: 'flag' | 'any' }
  /** A date-time in one of the service's two forms. */
  | { readonly kind: 'date' }
  | { readonly kind: 'choice'; readonly values: readonly string[] }
  | {
      readonly kind: 'object'
      readonly members: Readonly<Record<string, Shape>>
      /** These must be present, and not null. */
      readonly required: readonly string[]
      /** At least one of these must be present; an empty list is no rule. */
      readonly oneOf: readonly string[]
    }
  | { readonly kind: 'list'; readonly of: Shape }

/** The form of a value. */
interface Form {
  readonly pattern: RegExp
  /** Completes a sentence that begins with the member's name. */
  readonly says: string
}

/** A date-time, with or without milliseconds. */
export const DATE =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{3})?[+-]\d{4}$/

const phone: Shape = { kind: 'text', form: { pattern: /^\d*$/, says: 'has digits only' } }
const parties: Shape = {
  kind: 'choice',
  values: ['AUCTION', 'BUSINESS', 'DEALER', 'PRIVATE', 'REPO_YARD', 'PORT'],
}
const vehicleType: Shape = { kind: 'choice', values: VEHICLE_TYPES }

/** The members that are not plain text, by name. Those whose names end in `_dttm` or `_dttm_end` are dates. */
const members: Readonly<Record<string, Shape>> = {
  zipcode: { kind: 'number', form: { pattern: /^\d{1,5}$/, says: 'is an integer of five digits at most' } },
  year: { kind: 'number', form: { pattern: /^\d{4}$/, says: 'is an integer of four digits' } },
  phone,
  contact_phone: phone,
  state: { kind: 'text', form: { pattern: /^(?:[A-Z]{2})?$/, says: 'is two capital letters' } },
  customer_type: parties,
  location_type: parties,
  vehicle_type: vehicleType,
  type: vehicleType,
  transport_type: { kind: 'choice', values: ['open', 'enclosed'] },
  is_modified: { kind: 'flag' },
  is_inoperable: { kind: 'flag' },
  id: { kind: 'text', form: { pattern: UUID, says: 'is the UUID that the service gave the vehicle' } },
  quote_id: { kind: 'text', form: { pattern: UUID, says: 'is the UUID that the service returned for the quote' } },
}

/** The required members, by action and object. */
const required: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'quote.get': { '': ['pickup', 'delivery'] },
  // The public reference requires `customer` with its name, and `pickup`. The rest is our own rule: a trip ends somewhere and carries
  // something, and a shipment without a reference cannot be recognized when it is booked again.
  'shipment.create': {
    '': ['customer', 'pickup', 'delivery', 'vehicles', 'external_id'],
    customer: ['customer_name'],
  },
  // An update replaces the whole shipment, so it must contain the members of every shipment.
  'shipment.update': {
    '': ['customer', 'pickup', 'delivery', 'vehicles', 'transport_type'],
    customer: ['customer_name'],
    vehicles: ['id'],
  },
}

/** The members of an object of which at least one is required. */
const oneOf: Readonly<Record<string, readonly string[]>> = {
  pickup: ['zipcode', 'city'],
  delivery: ['zipcode', 'city'],
}

/**
 * Returns the shape of a request body: the places that its rows write, or leave to callers of version 2. An update sends back what a booking
 * may have sent.
 */
function shapeOf({ name, verb, request }: Action): Shape {
  const body: Draft = {}
  const booked = verb === 'update' ? shipmentCreate.request : []
  for (const row of [...booked, ...request]) {
    const isSent = row.kind !== 'v2Only' || !row.setByService
    for (const place of isSent ? placesOf(row) : []) putAt(body, placeOf(place), place)
  }
  const shaped = (value: unknown, member: string): Shape => {
    if (Array.isArray(value)) return { kind: 'list', of: shaped(value[0], member) }
    if (!isObject(value)) return members[member] ?? { kind: /_dttm(?:_end)?$/.test(member) ? 'date' : 'text' }
    const parts = Object.entries(value).map(([part, below]) => [part, shaped(below, part)])
    return {
      kind: 'object',
      members: Object.fromEntries(parts),
      required: required[name]?.[member] ?? [],
      oneOf: oneOf[member] ?? [],
    }
  }
  return shaped(body, '')
}

/** The body shapes of the requests that have a body, by action. */
export const requestShapes: Readonly<Record<string, Shape>> = Object.fromEntries(
  actions
    .filter(({ service }) => service.method === 'POST' || service.method === 'PUT')
    .map((action) => [action.name, shapeOf(action)]),
)
