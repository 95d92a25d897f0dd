import { randomUUID } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import type { Account } from '../service/account.ts'
import { NoReply } from '../service/exchange.ts'
import type { Upstream } from '../service/upstream.ts'
import { serviceId } from '../text/service-text.ts'
import { type Journal, OF_QUOTE } from './journal.ts'
import { CannotTell, described, done, is, isDone, member, NotAnswered, type Seen, seenReply } from './seen.ts'

/** The beginning of every reference of a test booking, by which people and programs recognize it. */
export const REFERENCE_PREFIX = 'TRANSLOAD-TEST-'

/** The trip of every quote: two postal codes of large cities. */
export const TRIP = { pickup: '10314', delivery: '33166', vehicle_type: 'car', transport_type: 'open' } as const

/** The VIN of every test vehicle; the last digit changes where a check needs two. */
export const VIN = '1FDXE4FN9PDD32477'
export const OTHER_VIN = '1FDXE4FN9PDD32478'

/** Text with letters outside ASCII, as addresses have them. */
export const INSTRUCTIONS = 'Transload test booking: do not dispatch. Señor Müller, Łódź.'

const DALLAS = { address: '1 Test Dr', city: 'Dallas', state: 'TX', zipcode: 75234 }
const BOSTON = { address: '2 Test St', city: 'Boston', state: 'MA', zipcode: 2134 }

/** The body of a test booking, with invented people and telephone numbers. */
export const bookingBody = (reference: string) => ({
  customer: { customer_name: 'Transload Test', ...DALLAS, email: 'test@example.com', phone: '2145550100' },
  pickup: { contact_name: 'Pat Example', contact_phone: '2145550101', ...DALLAS, notes: 'Test' },
  delivery: { contact_name: 'Sam Example', contact_phone: '6175550102', ...BOSTON, notes: 'Test' },
  vehicles: [{ vin: VIN, year: 2023, make: 'Ford', model: 'E-450', type: 'van' }],
  transport_type: 'open',
  instructions: INSTRUCTIONS,
  external_id: reference,
})

/** The members of a shipment, and of its vehicles, that only the service sets: an update does not send them. */
const SET_BY_SERVICE = ['id', 'number', 'status', 'price', 'distance', 'distance_meters', 'documents']
const SET_IN_VEHICLES = ['weight', 'height', 'width', 'length', 'photos']

/** Returns the body of an update that changes nothing: a shipment as it was read, with the ids of its parts. */
export function updateBody(shipment: unknown): Record<string, unknown> {
  const whole = without(shipment, SET_BY_SERVICE)
  const { vehicles } = whole
  if (!Array.isArray(vehicles)) return whole
  return { ...whole, vehicles: vehicles.map((vehicle) => without(vehicle, SET_IN_VEHICLES)) }
}

/** Returns an object without some members, and without those that are null, such as empty ones. */
function without(value: unknown, names: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return {}
  return Object.fromEntries(Object.entries(value).filter(([name, one]) => !names.includes(name) && one !== null))
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** The options of a request. */
interface Asking {
  /** An object is sent as JSON, a text as it is. */
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string>>
  /** Replaces the credential; null sends none. @default the operator's credential */
  readonly authorization?: string | null | undefined
  /** The reference that a booking has, for the journal. */
  readonly reference?: string
}

/** A test booking, with the reply that made it and the shipment as it was read afterwards. */
export interface TestShipment {
  readonly id: string
  readonly reference: string
  readonly created: Seen
  readonly read: Seen
}

export interface TrialDeps {
  readonly config: Config
  readonly upstream: Upstream
  readonly account: Account
  /** The operator's credential, as Basic authentication. */
  readonly basic: string
  /** A wrong secret for the operator's own Client ID. */
  readonly wrongCredential: string
  readonly journal: Journal
  /** Tells this run's references from those of others. */
  readonly run: string
  /** Throws once the run is to stop. */
  readonly checkGoingOn: () => void
}

/** Asks the service for the checks, and writes into the journal before it makes anything. */
export type Trial = ReturnType<typeof openTrial>

const JSON_HEADERS = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'transload' } as const
const APPROVAL = /^\/v2\/quote\/([^/]+)\/approve$/
const SHIPMENTS = /^\/v2\/shipments?(\/|$)/
const isWrongSpelling = is(404, 405, 410)

/** Opens a trial of the service. */
export function openTrial(deps: TrialDeps) {
  const { config, upstream, account, journal, run, checkGoingOn, basic, wrongCredential } = deps
  let quoteMethod = config.V2_QUOTE_METHOD === 'GET' ? 'GET' : 'POST'
  let shipments: string = config.V2_SHIPMENT_PATH === 'auto' ? '/v2/shipments' : config.V2_SHIPMENT_PATH
  let references = 0
  let quotesMade = 0
  let sharedQuote: ReturnType<typeof newQuote> | undefined
  let sharedShipment: Promise<TestShipment> | undefined

  /** Returns a reference that no booking has yet. */
  function nextReference(): string {
    references += 1
    return `${REFERENCE_PREFIX}${run}-${String(references).padStart(2, '0')}`
  }

  /** Sends one request, in exactly this spelling. */
  async function ask(method: Method, path: string, asking: Asking = {}): Promise<Seen> {
    checkGoingOn()
    const { body, headers, authorization, reference } = asking
    const quote = method === 'POST' ? APPROVAL.exec(path)?.[1] : undefined
    const books = (method === 'POST' || method === 'PUT') && SHIPMENTS.test(path)
    const name = quote === undefined ? (reference ?? nextReference()) : OF_QUOTE
    // An update of a known shipment makes nothing new that its reference does not find.
    if (books && !(method === 'PUT' && reference !== undefined)) journal.intend(name)
    if (quote !== undefined) journal.made(OF_QUOTE, decodeURIComponent(quote))
    const deadline = performance.now() + config.UPSTREAM_TIMEOUT_MS
    const send = (credential?: string) =>
      upstream.call({
        method,
        origin: account.origin,
        path: account.prefix + path,
        headers: {
          ...JSON_HEADERS,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
          ...(credential !== undefined && { authorization: credential }),
          'x-request-id': randomUUID(),
        },
        body: typeof body === 'object' ? JSON.stringify(body) : body,
        pool: account.pool(),
        usesOwn: method !== 'GET',
        deadline,
      })
    try {
      const sent = authorization === undefined ? account.authorized(deadline, send) : send(authorization ?? undefined)
      const reply = seenReply(await sent)
      if (books || quote !== undefined) note(name, reply, method)
      if (isDone(reply) && member(reply.body, 'price') !== undefined && /^\/v2\/quote(\?|$)/.test(path)) quotesMade += 1
      return reply
    } catch (error) {
      const what = `${method} ${shape(path)}`
      if (error instanceof NoReply) throw new NotAnswered(`${what} got no reply (${error.silence})`)
      if (error instanceof GatewayError) throw new NotAnswered(`no token for ${what} (${error.status})`)
      throw error
    }
  }

  /** Writes down what a request made. A plain refusal made nothing, and so did an update whose reply names no shipment. */
  function note(reference: string, { status, body }: Seen, method: Method): void {
    const isRefusal = status >= 400 && status < 500
    const ids = isRefusal ? [] : ['id', 'shipment_id'].flatMap((key) => serviceId(member(body, key)) ?? [])
    for (const id of new Set(ids)) journal.made(reference, id)
    if (ids.length === 0 && reference !== OF_QUOTE && (isRefusal || method === 'PUT')) journal.gone(reference)
  }

  /** Asks for a quote, in the spelling that the service understands. */
  async function askQuote(change: Readonly<Record<string, string>> = {}): Promise<Seen> {
    const trip = { ...TRIP, ...change }
    const send = () =>
      quoteMethod === 'POST'
        ? ask('POST', '/v2/quote', { body: trip })
        : ask('GET', `/v2/quote?${new URLSearchParams(trip)}`)
    const reply = await send()
    if (!isWrongSpelling(reply) || config.V2_QUOTE_METHOD !== 'auto') return reply
    quoteMethod = quoteMethod === 'POST' ? 'GET' : 'POST'
    return send()
  }

  /** Makes a quote of its own for a check that changes it. */
  async function newQuote() {
    const reply = await askQuote()
    const id = serviceId(member(reply.body, 'shipment_id')) ?? serviceId(member(reply.body, 'quote_id'))
    return { id: known('a quote', reply, id), reply }
  }

  /** Sends a booking with changed members and a reference of its own; a member that is undefined is left out. */
  async function book(change: Readonly<Record<string, unknown>> = {}) {
    const { external_id } = change
    const reference = typeof external_id === 'string' ? external_id : nextReference()
    const body = { ...bookingBody(reference), ...change }
    const reply = await ask('POST', shipments, { body, reference })
    if (!isWrongSpelling(reply) || config.V2_SHIPMENT_PATH !== 'auto') return { ...reply, reference }
    shipments = shipments === '/v2/shipments' ? '/v2/shipment' : '/v2/shipments'
    return { ...(await ask('POST', shipments, { body, reference })), reference }
  }

  /** Makes a booking for a check that changes it. */
  async function newShipment(change: Readonly<Record<string, unknown>> = {}): Promise<TestShipment> {
    const { reference, ...created } = await book(change)
    const id = known('a booking', created, serviceId(member(created.body, 'id')))
    return { id, reference, created, read: done('a read of a new booking', await readShipment(id)) }
  }

  /** Returns the path of shipments that the service understands, with an id. */
  const shipmentPath = (id: string) => `${shipments}/${encodeURIComponent(id)}`
  const readShipment = (id: string) => ask('GET', shipmentPath(id))

  return {
    basic,
    wrongCredential,
    nextReference,
    ask,
    askQuote,
    newQuote,
    /** Returns the id and the reply of one quote that several checks share. */
    quote: () => (sharedQuote ??= newQuote()),
    book,
    newShipment,
    /** Returns one booking that several checks share; they only read it. */
    shipment: () => (sharedShipment ??= newShipment()),
    readShipment,
    shipmentPath,
    /** Returns how many quotes the service gave. */
    quotesMade: () => quotesMade,
  }
}

/** Returns the id in a successful reply. */
function known(what: string, reply: Seen, id: string | undefined): string {
  if (isDone(reply) && id !== undefined) return id
  throw new CannotTell(`${what} is answered ${described(reply)}`)
}

/** Returns the path of a request with placeholders for ids, and without its query. */
export function shape(path: string): string {
  return path
    .replace(/\?.*/, '')
    .replace(/^(\/v2\/quote)\/[^/]+/, '$1/{quote_id}')
    .replace(/^(\/v2\/shipments?)\/[^/]+/, '$1/{shipment_id}')
}
