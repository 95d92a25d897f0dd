import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { serviceDate } from '../../src/labs/demo/bodies.ts'
import { type DemoEvent, type EventRetry, sendEvent } from '../../src/labs/demo/events.ts'
import { type DemoService, openService, type ServiceSettings } from '../../src/labs/demo/service.ts'
import { answerAs, type Traits } from './answer.ts'
import { changes } from './changes.ts'
import { type Fault, faultQueue, send, sendFaulty } from './faults.ts'
import { tokensOf } from './tokens.ts'

export type { DemoShipment, DemoVehicle } from '../../src/labs/demo/bodies.ts'
export type { DemoEvent } from '../../src/labs/demo/events.ts'
export type { DemoQuote } from '../../src/labs/demo/service.ts'
export { type DeviationName, deviationNames } from './deviations.ts'
export type { Fault } from './faults.ts'

/** The settings of the stand-in, which can change while it runs. */
export interface SandboxSettings extends ServiceSettings, Traits {
  /** The receiver of events; none are sent without it. */
  webhookUrl?: string | undefined
  webhookRetry: EventRetry
}

/** The settings that differ from those of `PLAIN`. */
export type SandboxOptions = Partial<SandboxSettings>

/** A request that the stand-in received. */
export interface RecordedRequest {
  method: string
  /** The raw target: the path and query as received. */
  path: string
  headers: IncomingHttpHeaders
  /** The body as text; empty if a fault cut the request off before it was read. */
  body: string
  at: Date
}

/** One attempt at delivering an event. */
export interface WebhookDelivery {
  event: DemoEvent
  /** The status is 2xx and arrived in time. */
  delivered: boolean
}

/** A running service for tests, with its data and controls. */
export type Sandbox = Awaited<ReturnType<typeof startSandbox>>

/** The settings of a service that keeps every assumption. */
export const PLAIN: SandboxSettings = {
  credentials: { demo: 'demo-secret' },
  tokenExpiresIn: 3600,
  approvalBooks: true,
  webhookRetry: { attempts: 6, delayMs: 60_000 },
  clock: () => new Date(),
}

// Longer than any client keeps an idle connection, because the stand-in must not close one during a request.
const KEEP_ALIVE_MS = 120_000
// A long load run must not fill the memory, so the older half is dropped.
const MOST_REQUESTS = 200_000
const NEVER_ANSWERED: ReadonlySet<Fault['kind']> = new Set(['timeout', 'timeout-unprocessed'])

/** Starts a service for tests on a real port, in memory. */
export async function startSandbox(given: SandboxOptions = {}) {
  const settings: SandboxSettings = { ...PLAIN, ...given }
  const closing = new AbortController()
  const faults = faultQueue()
  const requests = recordRequests()
  const deliveries: WebhookDelivery[] = []
  const underWay = counter()
  const service = openService(settings, (event, shipment_id, before) => {
    const { webhookUrl: url, clock, webhookRetry } = settings
    if (url === undefined) return
    const now = service.shipments.get(shipment_id)
    const data = before && now && changes(before, now)
    const payload = { shipment_id, event, event_date: serviceDate(clock()), ...(data && { data }) }
    const attempted = (status = 0) => void deliveries.push({ event: payload, delivered: status >= 200 && status < 300 })
    void sendEvent(url, payload, webhookRetry, closing.signal, attempted).finally(underWay.begin())
  })

  function note({ method = 'GET', url = '/', headers }: IncomingMessage, body: string): void {
    if (requests.all.length >= MOST_REQUESTS) requests.all.splice(0, MOST_REQUESTS / 2)
    requests.add({ method, path: url, headers, body, at: settings.clock() })
  }

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    response.setHeader('Sandbox', 'true')
    const { method = 'GET', url: target = '/', headers } = request
    const fault = faults.take(method, target.split('?', 1)[0] ?? target)
    if (fault?.kind === 'reset-before') {
      note(request, '')
      return void sendFaulty(response, fault, undefined, closing.signal)
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const body = Buffer.concat(chunks).toString()
      note(request, body)
      if (!fault || !NEVER_ANSWERED.has(fault.kind)) response.on('close', underWay.begin())
      if (fault?.lateMs) await setTimeout(fault.lateMs)
      if (fault?.after) await fault.after
      const asked = fault?.kind === 'change' && fault.process === false ? 'GET' : method
      const reply = isUndone(fault) ? undefined : answerAs(service, settings, { method: asked, target, headers, body })
      if (!fault && reply) return send(response, reply)
      // It rejects only if closing interrupts a pause.
      if (fault) sendFaulty(response, fault, reply, closing.signal).catch(() => response.destroy())
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // The address of a TCP listener is never a path or null.
  const { port } = server.address() as AddressInfo

  return {
    /** Its address, without a closing slash. */
    url: `http://127.0.0.1:${port}`,
    /** Every received request, answered or not. */
    requests: requests.all,
    /** By id. If a test changes a shipment, it becomes a new version with another ETag. */
    shipments: service.shipments,
    /** By id. */
    quotes: service.quotes,
    /** Every attempt at a webhook so far. */
    webhookDeliveries: deliveries,
    /** Changes settings at run time. */
    set: (changed: SandboxOptions) => void Object.assign(settings, changed),
    /** Queues faults; each request takes the first one that matches it. */
    fail: faults.add,
    /** Removes the faults that have not happened yet. */
    clearFaults: faults.clear,
    /** A carrier is assigned to a shipment, which is announced. */
    advance: (id: string, status: 'assigned') => advance(service, id, status),
    /** Revokes every access token. */
    revokeTokens: () => tokensOf(service).clear(),
    /** Resolves at the next request that matches, after it has been carried out, if that happens. */
    next: requests.next,
    /** Resolves when no answer and no webhook is in progress; requests that are never answered do not count. */
    idle: underWay.idle,
    /** Deletes all data, requests, deliveries and faults; the settings stay. */
    clear() {
      for (const map of [service.shipments, service.owners, service.quotes, tokensOf(service)]) map.clear()
      faults.clear()
      requests.all.length = 0
      deliveries.length = 0
    },
    /** Closes the listener and every connection. */
    async close() {
      closing.abort()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

const isUndone = (fault: Fault | undefined): boolean =>
  fault?.kind === 'timeout-unprocessed' || (fault?.kind === 'status' && !fault.process)

/** The requests so far, with a way to wait for the next one that matches. */
function recordRequests() {
  type Matches = (request: RecordedRequest) => boolean
  const all: RecordedRequest[] = []
  const waiting = new Set<{ matches: Matches; resolve: (request: RecordedRequest) => void }>()
  return {
    all,
    add(request: RecordedRequest): void {
      all.push(request)
      for (const waiter of waiting) {
        if (waiter.matches(request) && waiting.delete(waiter)) waiter.resolve(request)
      }
    },
    next: (matches: Matches = () => true) =>
      new Promise<RecordedRequest>((resolve) => void waiting.add({ matches, resolve })),
  }
}

/** Counts the work in progress, and waits until there is none. */
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

function advance({ shipments, announce }: DemoService, id: string, status: 'assigned'): void {
  const shipment = shipments.get(id)
  if (!shipment) throw new Error(`The stand-in has no shipment ${id}`)
  shipments.set(id, { ...shipment, status })
  announce(`shipment.${status}`, id)
}
