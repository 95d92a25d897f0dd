import { randomUUID } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { GatewayError } from '../errors.ts'
import type { Account } from '../service/account.ts'
import { NoReply } from '../service/exchange.ts'
import type { Upstream } from '../service/upstream.ts'
import { serviceId } from '../text/service-text.ts'
import { CannotTell, NotAnswered } from './assumption.ts'
import { type Journal, OF_QUOTE } from './journal.ts'
import { bookingBody, REFERENCE_PREFIX, TRIP } from './samples.ts'
import { described, isDone, isUnknown, member, type Seen, seenReply } from './seen.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** The options of a request. */
export interface Asking {
  /** An object is sent as JSON, a text as it is. */
  readonly body?: object | string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Replaces the credential; null sends none. @default the operator's credential */
  readonly authorization?: string | null
  /** The reference that a booking has, for the journal. */
  readonly reference?: string | undefined
}

/** A test booking, with the reply that made it and the shipment as it was read afterwards. */
export interface TestShipment {
  readonly id: string
  readonly reference: string
  readonly created: Seen
  readonly read: Seen
}

/** Asks the service for the checks, and writes into the journal before it makes anything. */
export interface Trial {
  /** Sends one request, in exactly this spelling. */
  readonly ask: (method: Method, path: string, asking?: Asking) => Promise<Seen>
  /** Asks for a quote, in the spelling that the service understands. */
  readonly askQuote: (change?: Readonly<Record<string, string>>) => Promise<Seen>
  /** Returns the id and the reply of one quote that several checks share. */
  readonly quote: () => Promise<{ readonly id: string; readonly reply: Seen }>
  /** Makes a quote of its own for a check that changes it. */
  readonly newQuote: () => Promise<{ readonly id: string; readonly reply: Seen }>
  /** Returns a reference that no booking has yet. */
  readonly nextReference: () => string
  /** Sends a booking with changed members and a reference of its own; a member that is undefined is left out. */
  readonly book: (change?: object) => Promise<Seen & { readonly reference: string }>
  /** Returns one booking that several checks share; they only read it. */
  readonly shipment: () => Promise<TestShipment>
  /** Makes a booking for a check that changes it. */
  readonly newShipment: (change?: object) => Promise<TestShipment>
  readonly readShipment: (id: string, asking?: Asking) => Promise<Seen>
  /** Returns the path of shipments that the service understands, with an id. */
  readonly shipmentPath: (id: string) => string
  /** Returns how many quotes the service gave. */
  readonly quotesMade: () => number
  /** A wrong secret for the operator's own Client ID. */
  readonly wrongCredential: string
  /** The operator's credential, as Basic authentication. */
  readonly basic: string
}

export interface TrialDeps {
  readonly config: Config
  readonly upstream: Upstream
  readonly account: Account
  readonly basic: string
  readonly wrongCredential: string
  readonly journal: Journal
  /** Tells this run's references from those of others. */
  readonly run: string
  /** Throws once the run is to stop. */
  readonly checkGoingOn: () => void
}

const JSON_HEADERS = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'transload' } as const

/** Opens a trial of the service. */
export function openTrial(deps: TrialDeps): Trial {
  const { config, upstream, account, journal, run, checkGoingOn, basic, wrongCredential } = deps
  let quoteMethod: 'GET' | 'POST' = config.V2_QUOTE_METHOD === 'GET' ? 'GET' : 'POST'
  let shipments: string = config.V2_SHIPMENT_PATH === 'auto' ? '/v2/shipments' : config.V2_SHIPMENT_PATH
  let references = 0
  let quotesMade = 0
  let sharedQuote: ReturnType<Trial['newQuote']> | undefined
  let sharedShipment: Promise<TestShipment> | undefined

  const nextReference = () => {
    references += 1
    return `${REFERENCE_PREFIX}${run}-${String(references).padStart(2, '0')}`
  }

  async function ask(method: Method, path: string, asking: Asking = {}): Promise<Seen> {
    checkGoingOn()
    const { body, headers, authorization, reference } = asking
    const makes = madeBy(method, path)
    const approved = APPROVAL.exec(path)?.[1]
    const name = reference ?? (makes === 'approval' ? OF_QUOTE : nextReference())
    // An update of a known shipment makes nothing new that its reference does not find.
    const mayMake = makes === 'booking' && !(method === 'PUT' && reference !== undefined)
    if (mayMake) journal.intend(name)
    if (approved !== undefined) journal.made(OF_QUOTE, decodeURIComponent(approved))
    const deadline = performance.now() + config.UPSTREAM_TIMEOUT_MS
    const send = (sent: string | undefined) =>
      upstream.call({
        method,
        origin: account.origin,
        path: account.prefix + path,
        headers: {
          ...JSON_HEADERS,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
          ...(sent !== undefined && { authorization: sent }),
          'x-request-id': randomUUID(),
        },
        body: typeof body === 'object' ? JSON.stringify(body) : body,
        pool: account.pool(),
        usesOwn: method !== 'GET',
        deadline,
      })
    try {
      const reply = seenReply(
        authorization === undefined
          ? await account.authorized(deadline, send)
          : await send(authorization === null ? undefined : authorization),
      )
      if (makes) note(name, reply, method)
      if (isDone(reply) && member(reply.body, 'price') !== undefined && QUOTE.test(path)) quotesMade += 1
      return reply
    } catch (error) {
      if (error instanceof NoReply) throw new NotAnswered(`${method} ${shape(path)} got no reply (${error.silence})`)
      if (error instanceof GatewayError)
        throw new NotAnswered(`no token for ${method} ${shape(path)} (${error.status})`)
      throw error
    }
  }

  /** Writes down what a request made. A plain refusal made nothing, and so did an update whose reply names no shipment. */
  function note(reference: string, reply: Seen, method: Method): void {
    const isRefusal = reply.status >= 400 && reply.status < 500
    const ids = isRefusal ? [] : ['id', 'shipment_id'].flatMap((key) => serviceId(member(reply.body, key)) ?? [])
    for (const id of new Set(ids)) journal.made(reference, id)
    if (ids.length === 0 && reference !== OF_QUOTE && (isRefusal || method === 'PUT')) journal.gone(reference)
  }

  async function askQuote(change: Readonly<Record<string, string>> = {}): Promise<Seen> {
    const trip = { ...TRIP, ...change }
    const send = () =>
      quoteMethod === 'POST'
        ? ask('POST', '/v2/quote', { body: trip })
        : ask('GET', `/v2/quote?${new URLSearchParams({ ...trip })}`)
    const reply = await send()
    if (!isWrongSpelling(reply) || config.V2_QUOTE_METHOD !== 'auto') return reply
    quoteMethod = quoteMethod === 'POST' ? 'GET' : 'POST'
    return send()
  }

  async function newQuote() {
    const reply = await askQuote()
    const id = serviceId(member(reply.body, 'shipment_id')) ?? serviceId(member(reply.body, 'quote_id'))
    if (!isDone(reply) || id === undefined) throw new CannotTell(`a quote is answered ${described(reply)}`)
    return { id, reply }
  }

  async function book(change: object = {}) {
    const given = Object.entries(change).find(([name]) => name === 'external_id')?.[1]
    const reference = typeof given === 'string' ? given : nextReference()
    const body = { ...bookingBody(reference), ...change }
    const reply = await ask('POST', shipments, { body, reference })
    if (!isWrongSpelling(reply) || config.V2_SHIPMENT_PATH !== 'auto') return { ...reply, reference }
    shipments = shipments === '/v2/shipments' ? '/v2/shipment' : '/v2/shipments'
    return { ...(await ask('POST', shipments, { body, reference })), reference }
  }

  async function newShipment(change: object = {}): Promise<TestShipment> {
    const created = await book(change)
    const id = serviceId(member(created.body, 'id'))
    if (!isDone(created) || id === undefined) throw new CannotTell(`a booking is answered ${described(created)}`)
    const read = await readShipment(id)
    if (!isDone(read)) throw new CannotTell(`a read of a new booking is answered ${described(read)}`)
    return { id, reference: created.reference, created, read }
  }

  const shipmentPath = (id: string) => `${shipments}/${encodeURIComponent(id)}`
  const readShipment = (id: string, asking?: Asking) => ask('GET', shipmentPath(id), asking)

  return {
    ask,
    askQuote,
    newQuote,
    quote: () => {
      sharedQuote ??= newQuote()
      return sharedQuote
    },
    nextReference,
    book,
    newShipment,
    shipment: () => {
      sharedShipment ??= newShipment()
      return sharedShipment
    },
    readShipment,
    shipmentPath,
    basic,
    wrongCredential,
    quotesMade: () => quotesMade,
  }
}

const APPROVAL = /^\/v2\/quote\/([^/]+)\/approve$/
const QUOTE = /^\/v2\/quote(\?|$)/
const SHIPMENTS = /^\/v2\/shipments?(\/|$)/

function madeBy(method: Method, path: string): 'approval' | 'booking' | undefined {
  if (method === 'POST' && APPROVAL.test(path)) return 'approval'
  return (method === 'POST' || method === 'PUT') && SHIPMENTS.test(path) ? 'booking' : undefined
}

const isWrongSpelling = (reply: Seen) => isUnknown(reply) || reply.status === 405

/** Returns the path of a request with placeholders for ids, and without its query. */
export function shape(path: string): string {
  return path
    .replace(/\?.*/, '')
    .replace(/^(\/v2\/quote)\/[^/]+/, '$1/{quote_id}')
    .replace(/^(\/v2\/shipments?)\/[^/]+/, '$1/{shipment_id}')
}
