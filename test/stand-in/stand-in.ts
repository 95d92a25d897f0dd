import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Agent } from 'undici'
import { type Shipment, serviceDate } from '../../src/sandbox/bodies.ts'
import { EVENT_RETRY, type EventName, type EventRetry, type ServiceEvent, sendEvent } from '../../src/sandbox/events.ts'
import { openService, type Quote, type Service, type ServiceSettings } from '../../src/sandbox/service.ts'
import { answerAs, type Traits } from './answer.ts'
import { type Fault, faultQueue, type RequestFault, send, sendFaulty } from './faults.ts'

export type { Shipment, Vehicle } from '../../src/sandbox/bodies.ts'
export type { ServiceEvent } from '../../src/sandbox/events.ts'
export type { Quote } from '../../src/sandbox/service.ts'
export { type DeviationName, deviationNames } from './deviations.ts'
export type { Fault } from './faults.ts'

/** The settings of the stand-in; they can change while it runs. */
export interface SandboxSettings extends ServiceSettings, Traits {
  /** The receiver of events; none are sent without it. */
  webhookUrl?: string | undefined
  webhookRetry: EventRetry
}

/** The options of a start. */
export interface SandboxOptions extends Partial<SandboxSettings> {
  /** @default 0, any free one */
  port?: number
  /** @default '127.0.0.1' */
  host?: string
}

/** A request that the stand-in received. */
export interface RecordedRequest {
  method: string
  /** The raw target: path and query as they came. */
  path: string
  headers: IncomingHttpHeaders
  /** As text; empty where a fault cut the request off before it was read. */
  body: string
  at: Date
}

/** One attempt at delivering an event. */
export interface WebhookDelivery {
  url: string
  event: ServiceEvent
  /** Counts from 1. */
  attempt: number
  /** The receiver's status; undefined if it did not answer. */
  status: number | undefined
  /** The status is 2xx, and came in time. */
  delivered: boolean
  at: Date
}

/** A running service for tests, with its data and controls. */
export interface Sandbox {
  /** Its address, without a closing slash. */
  url: string
  /** Every received request, answered or not. */
  requests: RecordedRequest[]
  /** By id. A test may change a shipment; that makes a new version of it, with another ETag. */
  shipments: Map<string, Shipment>
  /** By id. */
  quotes: Map<string, Quote>
  /** Every attempt at a webhook so far. */
  webhookDeliveries: WebhookDelivery[]
  /** Changes settings at run time. */
  set(settings: Partial<SandboxSettings>): void
  /** Queues faults; each request takes the first one that matches it. */
  fail(...faults: readonly Fault[]): void
  /** Removes the faults that have not happened yet. */
  clearFaults(): void
  /** Moves a shipment to its next step, with its event. */
  advance(id: string, step: Step): Shipment
  /** Revokes every access token. */
  revokeTokens(): void
  /** Resolves at the next request that matches, after it has been carried out, if it is at all. */
  next(matches?: (request: RecordedRequest) => boolean): Promise<RecordedRequest>
  /** Resolves after the next attempt at a webhook that matches. */
  nextDelivery(matches?: (delivery: WebhookDelivery) => boolean): Promise<WebhookDelivery>
  /** Resolves when no answer and no webhook is under way; requests that are never answered do not count. */
  idle(): Promise<void>
  /** Deletes all data, requests, deliveries and faults; the settings stay. */
  clear(): void
  /** Closes the listener and every connection. */
  close(): Promise<void>
}

/** The settings of a service that keeps every assumption. */
export const PLAIN: SandboxSettings = {
  credentials: { demo: 'demo-secret' },
  tokenExpiresIn: 3600,
  approvalBooks: true,
  webhookRetry: EVENT_RETRY,
  clock: () => new Date(),
}

// Longer than any client keeps an idle connection: the stand-in must not close one under a request.
const KEEP_ALIVE_MS = 120_000
// A long load run must not fill the memory: the older half is dropped.
const MOST_REQUESTS = 200_000
const NEVER_ANSWERED: ReadonlySet<Fault['kind']> = new Set(['timeout', 'timeout-unprocessed'])

/** Starts a service for tests on a real port, in memory. */
export async function startSandbox({ port = 0, host = '127.0.0.1', ...given }: SandboxOptions = {}): Promise<Sandbox> {
  const settings = { ...PLAIN, ...given }
  const closing = new AbortController()
  const dispatcher = new Agent()
  const faults = faultQueue()
  const requests = record<RecordedRequest>()
  const deliveries = record<WebhookDelivery>()
  const underWay = counter()
  const service = openService(settings, (event, shipment_id, data) => {
    const { webhookUrl: url, clock, webhookRetry } = settings
    if (url === undefined) return
    const payload = { shipment_id, event, event_date: serviceDate(clock()), ...(data && { data }) }
    const attempted = (attempt: number, status: number | undefined) => {
      const delivered = status !== undefined && status >= 200 && status < 300
      deliveries.add({ url, event: payload, attempt, status, delivered, at: clock() })
    }
    void sendEvent(url, payload, webhookRetry, { dispatcher, closing: closing.signal, attempted }).finally(
      underWay.begin(),
    )
  })

  function note({ method = 'GET', url = '/', headers }: IncomingMessage, body: string): void {
    if (requests.all.length >= MOST_REQUESTS) requests.all.splice(0, MOST_REQUESTS / 2)
    requests.add({ method, path: url, headers, body, at: settings.clock() })
  }

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    response.setHeader('Sandbox', 'true')
    const { method = 'GET', url: target = '/', headers } = request
    const fault = faults.takeForRequest(method, target.split('?', 1)[0] ?? target)
    if (fault?.kind === 'reset-before') {
      note(request, '')
      return void sendFaulty(request, response, fault, undefined, closing.signal)
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      note(request, body)
      if (!fault || !NEVER_ANSWERED.has(fault.kind)) response.on('close', underWay.begin())
      const asked = fault?.kind === 'change' && fault.process === false ? 'GET' : method
      const reply = isUndone(fault) ? undefined : answerAs(service, settings, { method: asked, target, headers, body })
      if (!fault && reply) return send(response, reply)
      // Only a pause that closing interrupts rejects.
      if (fault) sendFaulty(request, response, fault, reply, closing.signal).catch(() => response.destroy())
    })
  })
  server.on('connection', (socket) => {
    if (faults.takeForConnection()) socket.destroy()
  })
  server.listen(port, host)
  await once(server, 'listening')
  // A TCP listener's address is never a path or null.
  const address = server.address() as AddressInfo
  const authority = address.family === 'IPv6' ? `[${address.address}]` : address.address

  return {
    url: `http://${authority}:${address.port}`,
    requests: requests.all,
    shipments: service.shipments,
    quotes: service.quotes,
    webhookDeliveries: deliveries.all,
    set: (changed) => void Object.assign(settings, changed),
    fail: faults.add,
    clearFaults: faults.clear,
    advance: (id, step) => advance(service, id, step),
    revokeTokens: () => service.tokens.clear(),
    next: requests.next,
    nextDelivery: deliveries.next,
    idle: underWay.idle,
    clear() {
      for (const map of [service.shipments, service.owners, service.quotes, service.tokens]) map.clear()
      faults.clear()
      requests.all.length = 0
      deliveries.all.length = 0
    },
    async close() {
      closing.abort()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await Promise.all([closed, dispatcher.destroy()])
    },
  }
}

const isUndone = (fault: RequestFault | undefined): boolean =>
  fault?.kind === 'timeout-unprocessed' || (fault?.kind === 'status' && !fault.process)

/** A list, with a way to wait for the next entry that matches. */
function record<T>() {
  const all: T[] = []
  let waiting: { matches: (entry: T) => boolean; resolve: (entry: T) => void }[] = []
  return {
    all,
    add(entry: T): void {
      all.push(entry)
      if (waiting.length === 0) return
      const matched = new Set(waiting.filter(({ matches }) => matches(entry)))
      waiting = waiting.filter((waiter) => !matched.has(waiter))
      for (const { resolve } of matched) resolve(entry)
    },
    next: (matches: (entry: T) => boolean = () => true) =>
      new Promise<T>((resolve) => waiting.push({ matches, resolve })),
  }
}

/** Counts what is under way, until nothing is. */
function counter() {
  let count = 0
  const atRest: (() => void)[] = []
  return {
    begin() {
      count += 1
      let ended = false
      return () => {
        if (ended) return
        ended = true
        count -= 1
        if (count === 0) for (const resolve of atRest.splice(0)) resolve()
      }
    },
    idle: () => (count === 0 ? Promise.resolve() : new Promise<void>((resolve) => atRest.push(resolve))),
  }
}

/** The carrier's steps of a shipment after its booking. */
export type Step = 'posted' | 'assigned' | 'picked_up' | 'delivered' | 'hold' | 'canceled' | 'bol_available'

const EVENTS: Partial<Record<Step, EventName>> = {
  assigned: 'shipment.assigned',
  picked_up: 'shipment.picked_up',
  delivered: 'shipment.delivered',
  canceled: 'shipment.canceled_by_carrier',
  bol_available: 'shipment.bol_available',
}

function advance({ shipments, settings, announce }: Service, id: string, step: Step): Shipment {
  const shipment = shipments.get(id)
  if (!shipment) throw new Error(`The stand-in has no shipment ${id}`)
  const next = stepped(shipment, step, serviceDate(settings.clock()))
  shipments.set(id, next)
  const event = EVENTS[step]
  if (event) announce(event, id)
  return next
}

function stepped(shipment: Shipment, step: Step, now: string): Shipment {
  const { pickup, delivery, vehicles, documents, number } = shipment
  const photographed = (type: string) =>
    vehicles.map((vehicle) => ({
      ...vehicle,
      photos: [
        ...vehicle.photos,
        { id: randomUUID(), type, url: 'https://files.example.com/1.jpg', created_dttm: now },
      ],
    }))
  if (step === 'bol_available') {
    const document = { id: randomUUID(), type: 'bol', url: `https://files.example.com/${number}-bol.pdf` }
    return { ...shipment, documents: [...documents, document] }
  }
  if (step === 'picked_up')
    return { ...shipment, status: step, pickup: { ...pickup, pickup_dttm: now }, vehicles: photographed('pickup') }
  if (step === 'delivered')
    return {
      ...shipment,
      status: step,
      delivery: { ...delivery, delivery_dttm: now },
      vehicles: photographed('delivery'),
    }
  return { ...shipment, status: step }
}
