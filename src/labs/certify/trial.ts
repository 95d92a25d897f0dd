import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { serverRows, shownServerRows } from '../../../mappings/booking-rows.ts'
import type { Config } from '../../language/config/config.ts'
import { GatewayError } from '../../language/errors.ts'
import { compileOverlay } from '../../language/mapping/overlay.ts'
import { type Draft, type Place, valueAt } from '../../language/mapping/paths.ts'
import { placesOf } from '../../language/mapping/row-parts.ts'
import { isStructure, scalarText } from '../../language/text/json.ts'
import { serviceId, shownText } from '../../language/text/service-text.ts'
import type { Account } from '../../outside/service/account.ts'
import { basicOf, basicPair } from '../../outside/service/credential.ts'
import { exchange, NoReply } from '../../outside/service/exchange.ts'
import { isSuccess, parsedOrNothing } from '../../outside/service/reply.ts'
import { type ServiceRequest, type Spelling, spelling, written } from '../../outside/service/service.ts'
import type { Upstream } from '../../outside/service/upstream.ts'
import type { Journal } from './journal.ts'

/** The prefix by which people and programs recognize the reference of a test booking. */
const REFERENCE_PREFIX = 'TRANSLOAD-TEST-'

/** Stands for the reference of a shipment that the approval of a quote may have created. */
export const OF_QUOTE = 'quote'

/** The trip of every quote, between two large cities. */
export const TRIP = { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'open' }

/** The VIN of every test vehicle; the last digit changes where a check needs two. */
export const VIN = '1FDXE4FN9PDD32477'
export const OTHER_VIN = '1FDXE4FN9PDD32478'

/** Text with non-ASCII letters, which addresses contain. */
export const INSTRUCTIONS = 'Transload test booking: do not dispatch. Señor Müller, Łódź.'

const DALLAS = { address: '1 Test Dr', city: 'Dallas', state: 'TX', zipcode: 75234 }
const BOSTON = { address: '2 Test St', city: 'Boston', state: 'MA', zipcode: 2134 }

/** The body of a test booking, with invented people and phone numbers. */
export const bookingBody = (reference: string) => ({
  customer: { customer_name: 'Transload Test', ...DALLAS, email: 'test@example.com', phone: '2145550100' },
  pickup: { contact_name: 'Pat Example', contact_phone: '2145550101', ...DALLAS, notes: 'Test' },
  delivery: { contact_name: 'Sam Example', contact_phone: '6175550102', ...BOSTON, notes: 'Test' },
  vehicles: [{ vin: VIN, year: 2023, make: 'Ford', model: 'E-450', type: 'van' }],
  transport_type: 'open',
  instructions: INSTRUCTIONS,
  external_id: reference,
})

/**
 * Applies changes to a shipment that was read, as the gateway does: an update sends the whole shipment without the members that only the
 * service sets.
 */
export const updated = compileOverlay([...serverRows, ...shownServerRows].flatMap(placesOf))

/** The options of a request. */
interface Asking {
  /** An object is sent as JSON, a text unchanged. */
  readonly body?: Draft | string
  readonly headers?: Readonly<Record<string, string>>
  /** Replaces the credential; null sends none. @default the operator's credential */
  readonly authorization?: string | null | undefined
  /** The shipment that the request creates, for the journal. */
  readonly makes?: readonly [reference: string, id?: string]
}

interface TrialRooms {
  readonly config: Config
  readonly upstream: Upstream
  readonly account: Account
  /** The operator's credential, as Basic authentication. */
  readonly basic: string
  readonly journal: Journal
  /** Distinguishes this run's references from those of other runs. */
  readonly run: string
  /** Aborted when the run should stop. */
  readonly stop?: AbortSignal | undefined
}

/** Sends the requests of the checks, and writes to the journal before it creates anything. */
export type Trial = ReturnType<typeof openTrial>

/** Opens a trial of the service. */
export function openTrial({ config, upstream, account, basic, journal, run, stop }: TrialRooms) {
  const quotes = spelling<'POST' | 'GET'>(config.V2_QUOTE_METHOD, ['POST', 'GET'])
  const shipments = spelling<string>(config.V2_SHIPMENT_PATH, ['/v2/shipments', '/v2/shipment'])
  let references = 0

  /** Returns a reference that no booking has yet. */
  function nextReference() {
    references += 1
    return `${REFERENCE_PREFIX}${run}-${String(references).padStart(2, '0')}`
  }

  /** Sends one request with exactly this method and path. */
  async function ask(
    method: ServiceRequest['method'],
    path: string,
    { body, headers, authorization, makes }: Asking = {},
  ): Promise<ParsedReply> {
    stop?.throwIfAborted()
    // An update of a known shipment creates nothing that its reference does not find.
    if (makes && method === 'POST') journal.made(...makes)
    const deadline = performance.now() + config.UPSTREAM_TIMEOUT_MS
    const outgoing = written({ method, path, body, namesAnId: false })
    const send = (credential?: string) =>
      exchange(upstream.line(account, method !== 'GET'), {
        ...outgoing,
        path: account.prefix + path,
        headers: {
          ...outgoing.headers,
          ...headers,
          ...(credential !== undefined && { authorization: credential }),
          'x-request-id': randomUUID(),
        },
        deadline,
      })
    try {
      const sent = authorization === undefined ? account.authorized(deadline, send) : send(authorization ?? undefined)
      const { status, headers: answered, body: bytes } = await sent
      const reply = { status, headers: answered, body: parsedOrNothing({ status, body: bytes }), bytes }
      if (makes) note(makes[0], reply, method)
      return reply
    } catch (error) {
      const what = `${method} ${shape(path)}`
      if (error instanceof NoReply) throw new NotAnswered(`${what} got ${error.message}`)
      if (error instanceof GatewayError) throw new NotAnswered(`no token for ${what} (${error.status})`)
      throw error
    }
  }

  /** Records what a request created. A plain refusal created nothing, nor did an update whose reply names no shipment. */
  function note(reference: string, { status, body }: ParsedReply, method: ServiceRequest['method']): void {
    const isRefusal = status >= 400 && status < 500
    const ids = isRefusal ? [] : ['id', 'shipment_id'].flatMap((key) => serviceId(member(body, key)) ?? [])
    for (const id of new Set(ids)) journal.made(reference, id)
    if (ids.length === 0 && reference !== OF_QUOTE && (isRefusal || method === 'PUT')) journal.gone(reference)
  }

  /** Sends a booking to exactly this path. */
  const bookAt = (path: string, body = bookingBody(nextReference())) =>
    ask('POST', path, { body, makes: [body.external_id] })

  /** Requests a quote with the method that the service understands. */
  function askQuote(change: Readonly<Record<string, string>> = {}): Promise<ParsedReply> {
    const trip = { ...TRIP, ...change }
    return spelled(quotes, (method) =>
      method === 'POST'
        ? ask(method, '/v2/quote', { body: trip })
        : ask(method, `/v2/quote?${new URLSearchParams(trip)}`),
    )
  }

  /** Creates a separate quote for a check that changes it. */
  async function newQuote() {
    const reply = await askQuote()
    const id = idIn('a quote', reply, 'shipment_id', 'quote_id')
    const path = `/v2/quote/${encodeURIComponent(id)}`
    return {
      id,
      reply,
      change: () => ask('PUT', path, { body: { ...TRIP, transport_type: 'enclosed' } }),
      approve: () => ask('POST', `${path}/approve`, { body: {}, makes: [OF_QUOTE, id] }),
    }
  }

  /** Sends a booking with changed members and a new reference, without the members that are undefined. */
  async function book(change: Draft = {}) {
    const body = { ...bookingBody(nextReference()), ...change }
    return { ...(await spelled(shipments, (path) => bookAt(path, body))), reference: body.external_id }
  }

  /** Creates a booking for a check that changes it. */
  async function newShipment(change: Draft = {}) {
    const { reference, ...created } = await book(change)
    const id = idIn('a booking', created, 'id')
    const read = done('a read of a new booking', await readShipment(id))
    return {
      id,
      reference,
      created,
      read,
      readAgain: () => readShipment(id),
      /** Sends the shipment back with changes. */
      update: (changes: Draft = {}, headers = {}) =>
        ask('PUT', shipmentPath(id), { body: updated(read.body, changes, 0), headers, makes: [reference] }),
      cancel: () => ask('DELETE', shipmentPath(id)),
    }
  }

  /** Returns the path of a shipment that the service understands. */
  const shipmentPath = (id: string) => `${shipments.current}/${encodeURIComponent(id)}`
  const readShipment = (id: string) => ask('GET', shipmentPath(id))

  return {
    basic,
    /** The same Client ID with a random secret. */
    wrongCredential: basicOf(basicPair(basic)?.id ?? 'transload-test', randomUUID()),
    nextReference,
    ask,
    bookAt,
    askQuote,
    newQuote,
    /** One quote that several checks share. */
    quote: once(newQuote),
    book,
    newShipment,
    /** One booking that several checks share and only read. */
    shipment: once(newShipment),
    readShipment,
    shipmentPath,
    /** The shipment paths that the service may understand. */
    shipmentPaths: [shipments.current, ...(shipments.other ? [shipments.other] : [])],
  }
}

/** Makes something when it is first needed. */
function once<Made>(make: () => Made) {
  let made: Made | undefined
  return () => (made ??= make())
}

/** Sends a request in the spelling that the service understands. */
async function spelled<T>(way: Spelling<T>, send: (spelling: T) => Promise<ParsedReply>) {
  const reply = await send(way.current)
  if (!is(404, 405, 410)(reply) || way.other === undefined) return reply
  Object.assign(way, { current: way.other, other: way.current })
  return send(way.current)
}

/** Returns the id in a successful reply, under the first of these names that is present. */
function idIn(what: string, reply: ParsedReply, ...names: readonly string[]) {
  const [id] = names.flatMap((name) => serviceId(member(reply.body, name)) ?? [])
  if (isDone(reply) && id !== undefined) return id
  throw new CannotTell(`${what} is answered ${described(reply)}`)
}

/** Returns a path without its query and with placeholders for ids. */
export function shape(path: string) {
  return path.replace(/\?.*/, '').replace(/^(\/v2\/(quote|shipment)s?)\/[^/]+/, '$1/{$2_id}')
}

/** The replies do not show whether an assumption holds. */
export class CannotTell extends Error {}

/** The service did not answer. */
export class NotAnswered extends CannotTell {}

/** A reply of the service, parsed as far as possible. */
export interface ParsedReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The parsed body; undefined if it is empty or not JSON. */
  readonly body: unknown
  readonly bytes: Buffer
}

/** Reports whether the status is 2xx. */
export const isDone = ({ status }: ParsedReply) => isSuccess(status)
/** Reports whether the service refused the content of the request, not its credential or its rate. */
export const isRefused = ({ status }: ParsedReply) =>
  status >= 400 && status < 500 && ![401, 403, 404, 405, 429].includes(status)
/** Makes a test for some statuses. */
export const is =
  (...statuses: readonly number[]) =>
  ({ status }: ParsedReply) =>
    statuses.includes(status)

/** Reports whether the service does not know the thing. */
export const isUnknown = is(404, 410)

/** Returns a successful reply; no conclusion can be drawn from any other. */
export function done(what: string, reply: ParsedReply): ParsedReply {
  if (isDone(reply)) return reply
  throw new CannotTell(`${what} is answered ${described(reply)}`)
}

/** Returns a member of a body of any shape. */
export const member = (body: unknown, ...place: Place) => valueAt(body, place)

/** Returns a scalar as text; empty for anything else. */
export const textOf = (value: unknown) => scalarText(value) ?? ''
/** Returns the text of a member of a reply. */
export const textIn = ({ body }: ParsedReply, ...names: Place) => textOf(member(body, ...names))

/** Returns the JSON name of a value's type. */
export function typeName(value: unknown) {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (JSON.isRawJSON(value)) return 'a number'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const MOST_NAMES = 12
const SHOWN_CHARACTERS = 40

/** Lists the names of a reply's members. They are not values, but come from the service, so they are bounded. */
export function namesInReply({ body }: ParsedReply) {
  if (!isStructure(body) || Array.isArray(body)) return typeName(body)
  const names = Object.keys(body).map((name) => shownText(name, SHOWN_CHARACTERS))
  if (names.length === 0) return 'an empty object'
  const rest = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''
  return `an object with ${names.slice(0, MOST_NAMES).join(', ')}${rest}`
}

/** Describes a reply by its status and the type of its body. */
export function described({ status, bytes, body }: ParsedReply) {
  return `${status} with ${bytes.length === 0 ? 'no body' : body === undefined ? 'no JSON' : typeName(body)}`
}

/** Returns the form of a date: its digits as 0, and its letters, except T and Z, as a. */
export const formOf = (value: unknown) =>
  typeof value === 'string'
    ? shownText(value.replace(/\d/g, '0').replace(/(?![TZ])\p{L}/gu, 'a'), SHOWN_CHARACTERS)
    : typeName(value)
