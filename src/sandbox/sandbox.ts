import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Fault, faultQueue } from './faults.ts'
import { listener } from './listener.ts'
import { advanceShipment, type Step } from './progress.ts'
import { touchShipment } from './shipments.ts'
import { emptyOut, emptyState, type Quote, type SandboxSettings, type Shipment } from './state.ts'
import { type RecordedRequest, traffic } from './traffic.ts'
import { type WebhookDelivery, webhooks } from './webhooks.ts'

export type { Fault } from './faults.ts'
export { NATIVE_ERROR_NAMES, type NativeError } from './native-errors.ts'
export type { Step } from './progress.ts'
export type { Quote, SandboxSettings, ServiceEvent, Shipment, Vehicle } from './state.ts'
export type { RecordedRequest } from './traffic.ts'
export type { WebhookDelivery } from './webhooks.ts'

/** The options of a start. */
export interface SandboxOptions extends Partial<SandboxSettings> {
  /** @default 0, any free one */
  port?: number
  /** @default '127.0.0.1' */
  host?: string
}

/** A running stand-in of the service, with its data and controls. */
export interface Sandbox {
  /** Its address, without a closing slash. */
  url: string
  /** Every received request, answered or not. */
  requests: RecordedRequest[]
  /** By id. A test may change a shipment; `touch` then makes a new version of it. */
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
  /** Makes a new version of a shipment, with another ETag. */
  touch(id: string): void
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

// Longer than any client keeps an idle connection: the stand-in must not close one under a request.
const KEEP_ALIVE_MS = 120_000

/** Starts a stand-in of the version-2 service on a real port, in memory, for demonstrations and tests. */
export async function startSandbox({ port = 0, host = '127.0.0.1', ...given }: SandboxOptions = {}): Promise<Sandbox> {
  if (process.env['NODE_ENV'] === 'production') throw new Error('The sandbox does not run in production')
  const settings = { ...DEFAULTS, ...given }
  const closing = new AbortController()
  const log = traffic()
  const faults = faultQueue()
  const hooks = webhooks(settings, log.begin, closing.signal)
  const state = emptyState(settings, hooks.announce)

  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS },
    listener({ state, faults, log, closing: closing.signal }),
  )
  server.on('connection', (socket) => {
    if (faults.takeForConnection()) socket.destroy()
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
  // A TCP listener's address is never a path or null.
  const address = server.address() as AddressInfo
  const authority = address.family === 'IPv6' ? `[${address.address}]` : address.address

  return {
    url: `http://${authority}:${address.port}`,
    requests: log.requests,
    shipments: state.shipments,
    quotes: state.quotes,
    webhookDeliveries: hooks.deliveries,
    set: (changed) => void Object.assign(settings, changed),
    fail: faults.add,
    clearFaults: faults.clear,
    advance: (id, step) => advanceShipment(state, id, step),
    touch: (id) => touchShipment(state, id),
    revokeTokens: () => state.tokens.clear(),
    next: log.next,
    nextDelivery: hooks.next,
    idle: log.idle,
    clear() {
      emptyOut(state)
      faults.clear()
      log.requests.length = 0
      hooks.deliveries.length = 0
    },
    async close() {
      closing.abort()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await Promise.all([closed, hooks.close()])
    },
  }
}

const DEFAULTS: SandboxSettings = {
  credentials: { demo: 'demo-secret' },
  auth: 'both',
  tokenExpiresIn: 3600,
  shipmentPath: 'both',
  quoteMethod: 'both',
  etag: false,
  repeatedCancel: 409,
  approvalBooks: true,
  findsByReference: false,
  nativeError: undefined,
  nativeNoise: false,
  movingPrices: 0,
  webhookUrl: undefined,
  webhookRetry: { attempts: 6, delayMs: 60_000 },
  clock: () => new Date(),
}
