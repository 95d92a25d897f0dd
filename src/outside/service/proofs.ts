import { GatewayError, gatewayError } from '../../language/errors.ts'
import type { Draft } from '../../language/mapping/paths.ts'
import { isObject, isStructure, scalarText } from '../../language/text/json.ts'
import { serviceId } from '../../language/text/service-text.ts'
import { isNotFound, isSuccess, parsedOrNothing, readJson, type UpstreamReply } from './reply.ts'

/*
 * Decides whether a successful reply from the service is the reply to the request. Every reply to a translated call is checked here before
 * the call uses it in any way.
 */

/** A shipment as the service shows it. */
export interface Shipment {
  readonly id: string
  /** The reply's body: an object with this id that reports no failure. */
  readonly body: Readonly<Draft>
}

const CANCELED = 'canceled'

/** Reports whether the service shows a shipment as canceled. */
export const isCanceled = (shipment: Readonly<Draft>): boolean => statusOf(shipment['status']) === CANCELED

const statusOf = (value: unknown): string =>
  (scalarText(value) ?? '')
    .trim()
    .toLowerCase()
    .replace(/^cancelled$/, CANCELED)

/** Returns a reply's shipment; throws unless it has this id. */
export function shipmentWithId(reply: UpstreamReply, id: string): Shipment {
  const shipment = shownShipment(reply)
  if (!isSameId(shipment.id, id)) throw doubtful('it shows a shipment with another id')
  return shipment
}

/** Returns the shipment of a read that may have failed; undefined unless it shows the shipment with this id. */
export function shipmentIfRead(reply: UpstreamReply, id: string): Shipment | undefined {
  if (!isSuccess(reply.status)) return undefined
  try {
    return shipmentWithId(reply, id)
  } catch {
    return undefined
  }
}

/** Returns true if a reply to a read shows that the shipment is gone: canceled, or not found. */
export function isGone(reply: UpstreamReply, id: string): boolean {
  if (isNotFound(reply)) return true
  const shipment = shipmentIfRead(reply, id)
  return shipment !== undefined && isCanceled(shipment.body)
}

/** Reports whether a read shows a shipment as canceled, or finds nothing. A failed read leaves it live. */
export async function isShownAsGone(id: string, read: (id: string) => Promise<UpstreamReply>): Promise<boolean> {
  try {
    return isGone(await read(id), id)
  } catch {
    return false
  }
}

/** Returns a reply's shipment; throws unless its id, number or `external_id` is this name, in any case. */
export function shipmentNamed(reply: UpstreamReply, name: string): Shipment {
  const shipment = shownShipment(reply)
  if (!isNamed(shipment.body, name)) throw doubtful('it shows another shipment')
  return shipment
}

const isNamed = (shipment: Readonly<Draft>, name: string) =>
  ['id', 'number', 'external_id'].some((key) => isSameId(idAt(shipment, key) ?? '', name))

/** Returns the shipment that a booking made; throws if the reply shows none, or a canceled one. */
export function bookedShipment(reply: UpstreamReply): Shipment {
  const shipment = shipmentIn(reply)
  if (isCanceled(shipment.body)) throw doubtful('it shows a canceled shipment')
  return shipment
}

/** Returns the body of a new quote. */
export function newQuote(reply: UpstreamReply): Readonly<Draft> {
  return successIn(readJson(reply))
}

/**
 * Returns everything that a reply to a change shows, including in a wrapper; undefined if it is empty. Throws if it denies the change of
 * this thing.
 */
export function changeOf(reply: UpstreamReply, kind: keyof typeof ID_KEYS, id: string): Readonly<Draft> | undefined {
  const body = changeIn(reply)
  if (!body) return undefined
  // A shipment in a quote's reply is another thing.
  const parts = [body['data'], kind === 'quote' ? undefined : body['shipment'], body]
  const shown: Readonly<Draft> = Object.assign({}, ...parts.filter(isObject).map(toldIn))
  if (namesAnother(shown, kind, id)) throw doubtful('it names another id', 'change')
  return kind === 'shipment' ? underOwnId(shown, id) : shown
}

/**
 * Returns the values in a part of a reply to a change. Null, blank texts, and the call's own status do not replace anything that a read has
 * shown.
 */
const toldIn = (part: Readonly<Draft>): Readonly<Draft> =>
  Object.fromEntries(
    Object.entries(part).filter(([key, value]) => (key === 'status' ? isOfThing(statusOf(value)) : isPresent(value))),
  )

/** The names by which a reply may mean a quote. */
export interface NamedQuote {
  readonly id: string
  /** Every name that the caller has for it, including its id. */
  readonly names: readonly string[]
}

/** Returns the body of a reply to an approval; undefined if it is empty. Throws if it denies the approval. */
export function approvalOf(reply: UpstreamReply, quote: NamedQuote): Readonly<Draft> | undefined {
  const body = changeIn(reply)
  if (!body) return undefined
  if (namesAnother(body, 'quote', quote.id) && !isShipmentOf(body, quote)) {
    throw doubtful('it names another id', 'change')
  }
  if ([body, ...wrappedIn(body)].some((part) => isNo(part['approved']) || REJECTED.test(statusOf(part['status'])))) {
    throw doubtful('it says that the quote is not approved', 'change')
  }
  return body
}

/** Returns the parts in which some services wrap the content of a reply to a change. */
const wrappedIn = (body: Readonly<Draft>) => [body['shipment'], body['data']].filter(isObject)

const REJECTED = /^(?:rejected|declined|denied|refused|expired|not[ _-]approved)$/

/** Returns the shipment that a reply to an approval shows, directly or in a part; undefined if it shows none. */
export function shipmentInApproval(body: Readonly<Draft>, quote: NamedQuote): Shipment | undefined {
  for (const part of [body, ...wrappedIn(body)]) {
    const ids = ['id', 'shipment_id'].flatMap((key) => idAt(part, key) ?? [])
    const other = ids.find((id) => !isSameId(id, quote.id))
    if (other === undefined ? showsShipment(part) : isShipmentOf(part, quote))
      return { id: other ?? quote.id, body: part }
  }
  return undefined
}

/** Reports whether a body with another id is the shipment of the quote's approval. */
const isShipmentOf = (body: Readonly<Draft>, quote: NamedQuote): boolean =>
  isOfQuote(body, quote) || (isPresent(body['number']) && hasVehicles(body))

/** Reports whether a shipment names a quote: by its reference, or by its `quote_id`. */
export function isOfQuote(body: Readonly<Draft>, { id, names }: NamedQuote): boolean {
  const reference = idAt(body, 'external_id')
  return (reference !== undefined && names.includes(reference)) || isSameId(idAt(body, 'quote_id') ?? '', id)
}

/** Returns the error of an approval that names a shipment of something else. */
export const foreignShipment = (what: 'reference' | 'VIN'): GatewayError =>
  doubtful(`the approval named a shipment with another ${what}`)

/** Reports whether a reply to a change shows a shipment. An id or a status alone may be the change's own. */
export const showsShipment = (body: unknown): boolean =>
  isObject(body) && (isPresent(body['number']) || hasVehicles(body))

const hasVehicles = ({ vehicles }: Readonly<Draft>) => Array.isArray(vehicles) && vehicles.length > 0

/** Returns the ids that a body of any shape names, directly or in a wrapper. */
export function idsNamedIn(body: unknown): readonly string[] {
  const parts = isObject(body) ? [body, body['data'], body['shipment']] : []
  return parts.flatMap((part) => ['id', 'shipment_id'].flatMap((key) => idAt(part, key) ?? []))
}

/**
 * Checks a successful reply to a cancellation, and returns its body: the canceled shipment, or something that proves nothing, such as an
 * empty body. Throws if it denies the cancellation. Only a read proves that the shipment is canceled.
 */
export function cancellationOf(reply: UpstreamReply, id: string): Readonly<Draft> | undefined {
  const parsed = parsedOrNothing(reply)
  if (!isObject(parsed)) return undefined
  const body = successIn(parsed, 'cancellation')
  if (namesAnother(body, 'shipment', id)) throw doubtful('it names another id', 'cancellation')
  if (showsOther(body)) throw notCanceled()
  return underOwnId(body, id)
}

/** Reports whether a body shows a shipment status other than canceled. A status such as `success` is the call's own and proves nothing. */
function showsOther(body: Readonly<Draft>): boolean {
  const shown = statusOf(body['status'])
  return isOfThing(shown) && shown !== CANCELED
}

const isOfThing = (status: string) => status !== '' && !OF_THE_CALL.test(status)

const OF_THE_CALL = /^(?:success|successful|succeeded|ok|okay|true|done|accepted|deleted|2\d\d)$/

/**
 * Throws unless a shipment that was read is complete enough to be sent back: the service may clear what an update leaves out, and creates a
 * second vehicle for one that is sent without its id.
 */
export function requireWhole({ body }: Shipment): void {
  const { pickup, vehicles } = body
  if (!isObject(pickup)) throw lacking('pickup')
  if (!Array.isArray(vehicles) || !vehicles.every(isObject)) throw lacking('vehicles')
  if (vehicles.some((vehicle) => idAt(vehicle, 'id') === undefined)) throw lacking("vehicles' ids")
}

const lacking = (part: string): GatewayError => gatewayError('reply-doubtful/part', { part })

/** Reports whether an error is that of a shipment that is not complete enough to be sent back. */
export const isNotWhole = (error: unknown): boolean =>
  error instanceof GatewayError && error.about === 'reply-doubtful/part'

/** Returns the id at a key in a body of any shape, as text; undefined if there is none. */
export function idAt(body: unknown, key: string): string | undefined {
  return isObject(body) ? serviceId(body[key]) : undefined
}

/**
 * Returns what a successful reply to a cancellation by any of a shipment's names says: the canceled shipment's id, false if it denies the
 * cancellation, undefined if it proves neither.
 */
export function saidOfCancellation(reply: UpstreamReply, name: string): string | false | undefined {
  const parsed = parsedOrNothing(reply)
  if (!isObject(parsed)) return undefined
  const id = idAt(parsed, 'id')
  try {
    const body = successIn(parsed)
    if (showsOther(body)) return false
    // A reply without the name that the call used, under another id, proves nothing about that name.
    return isCanceled(body) && isNamed(body, name) ? id : undefined
  } catch {
    return false
  }
}

/** Returns the error of a cancellation after which the service shows another status. */
export function notCanceled(): GatewayError {
  return doubtful('it does not show the shipment as canceled', 'cancellation')
}

/** The keys under which a reply to a change may name the thing. A shipment's `quote_id` is its quote's. */
const ID_KEYS = { quote: ['id', 'shipment_id', 'quote_id'], shipment: ['id', 'shipment_id'] } as const

/** Every shipment shows at least one of these members. Without any, the answer would have blank fields. */
const SHIPMENT_KEYS = ['number', 'status', 'customer', 'pickup', 'delivery', 'vehicles'] as const

function shownShipment(reply: UpstreamReply): Shipment {
  const shipment = shipmentIn(reply)
  if (!SHIPMENT_KEYS.some((key) => isPresent(shipment.body[key])))
    throw doubtful("it shows none of the shipment's fields")
  return shipment
}

/** Returns a reply's shipment, even one that the service only says it will make; throws if the reply names none. */
export function shipmentIn(reply: UpstreamReply): Shipment {
  const body = successIn(readJson(reply))
  const id = idAt(body, 'id')
  // A quote has a `shipment_id` and no `id`.
  if (id === undefined) throw doubtful('it does not show a shipment with an id')
  return { id, body }
}

/** Returns a body that is an object and does not deny success; throws for any other. */
function successIn(body: unknown, of?: DoubtfulRequest): Readonly<Draft> {
  if (!isObject(body)) throw doubtful(body === undefined ? 'it is empty' : 'it is not a JSON object', of)
  const denial = denialIn(body)
  if (denial !== undefined) throw doubtful(denial, of)
  return body
}

/** Returns the body of a reply to a change; undefined if it is empty. Throws if it denies success. */
function changeIn(reply: UpstreamReply): Readonly<Draft> | undefined {
  const body = readJson(reply, true)
  if (body === undefined) return undefined
  const whole = successIn(body, 'change')
  for (const part of wrappedIn(whole)) successIn(part, 'change')
  return whole
}

function namesAnother(body: Readonly<Draft>, kind: keyof typeof ID_KEYS, id: string): boolean {
  const given = ID_KEYS[kind].map((key) => body[key]).filter(isPresent)
  const isOther = (value: unknown) => !isSameId(serviceId(value) ?? '', id)
  // One matching id is enough for a shipment: its `shipment_id` may be a number for people, its `id` the change's own.
  return kind === 'shipment' ? given.length > 0 && given.every(isOther) : given.some(isOther)
}

/** Returns a reply to a shipment's change with the shipment's id, in case its `id` is the change's own. */
function underOwnId(body: Readonly<Draft>, id: string): Readonly<Draft> {
  const isOther = isPresent(body['id']) && !isSameId(serviceId(body['id']) ?? '', id)
  return isOther ? { ...body, id } : body
}

/** Compares two ids, which the service may write in another case. */
export const isSameId = (one: string, other: string): boolean => one.toLowerCase() === other.trim().toLowerCase()

/** The kinds of requests for which the caller may have to act after a doubtful reply. */
type DoubtfulRequest = 'change' | 'cancellation'

export const doubtful = (fault: string, of?: DoubtfulRequest): GatewayError =>
  gatewayError(of ? `reply-doubtful/${of}` : 'reply-doubtful', { fault })

/** Returns how a successful reply's body denies its success; undefined if it does not. */
function denialIn(body: Readonly<Draft>): string | undefined {
  const { success, ok, error, errors, status } = body
  if (isNo(success) || isNo(ok)) return FAILED
  if (isError(error) || isError(errors)) return 'it has an error'
  // Next to an id, it may be the thing's own status.
  if (STATUS_OF_FAILURE.test(statusOf(status)) && idsNamedIn(body).length === 0) return FAILED
  return undefined
}

const FAILED = 'it says that the call failed'
const STATUS_OF_FAILURE = /^(?:error|fail(?:ed|ure)?|[45]\d\d)$/

/** Reports whether a reply's member has a value; null and blank texts are not values. */
const isPresent = (value: unknown) =>
  value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '')

/** The forms of `false` in replies: `false`, `"false"`, `0`. */
const NO = new Set(['false', '0', 'no'])

function isNo(value: unknown): boolean {
  const text = scalarText(value)
  return text !== undefined && NO.has(text.trim().toLowerCase())
}

/** Reports whether a value reports an error. Many services fill `error` with nothing, `false` or code 0. */
function isError(value: unknown): boolean {
  if (!isStructure(value)) return isPresent(value) && !isNo(value)
  // A structure's members may have any type.
  const { code, message } = value as { readonly code?: unknown; readonly message?: unknown }
  const saysOk = scalarText(code)?.trim() === '0' && WELL.test(scalarText(message)?.trim() ?? '')
  return Object.entries(value).some(([key, part]) => isError(part) && !(saysOk && key === 'message'))
}

/** Messages next to a code 0 that cannot mean an error. Without such a code, any message means one. */
const WELL = /^(?:ok|okay|success|successful|no error|none)\.?$/i
