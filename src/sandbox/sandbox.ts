import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Fault, faultQueue } from './faults.ts'
import { listener } from './listener.ts'
import { advanceShipment, type Step } from './progress.ts'
import { touchShipment } from './shipments.ts'
import { type RecordedRequest, traffic } from './traffic.ts'
import { type WebhookDelivery, webhooks } from './webhooks.ts'
import { emptyOut, emptyWorld, type Quote, type Settings, type Shipment } from './world.ts'

export type { Fault } from './faults.ts'
export type { Step } from './progress.ts'
export type { RecordedRequest } from './traffic.ts'
export type { WebhookDelivery } from './webhooks.ts'
export type { Quote, ServiceEvent, Settings, Shipment, Vehicle } from './world.ts'

/** How the stand-in starts. */
export interface SandboxOptions extends Partial<Settings> {
  /** @default 0, any free one */
  port?: number
  /** @default '127.0.0.1' */
  host?: string
}

/** A running stand-in of the service, and the strings to pull. */
export interface Sandbox {
  /** Its address, without a closing slash. */
  url: string
  /** Every request received, whatever came of it. */
  requests: RecordedRequest[]
  /** By id. A test may change what is in here; `touch` then makes it a new version. */
  shipments: Map<string, Shipment>
  /** By id. */
  quotes: Map<string, Quote>
  /** Every try at a webhook so far. */
  webhookDeliveries: WebhookDelivery[]
  /** Changes settings at run time. */
  set(settings: Partial<Settings>): void
  /** Queues faults; each request meets the first one that fits it. */
  fail(...faults: readonly Fault[]): void
  /** Drops the faults that have not happened yet. */
  clearFaults(): void
  /** Moves a shipment on, with its event. */
  advance(id: string, step: Step): Shipment
  /** Makes a new version of a shipment, so that its ETag differs. */
  touch(id: string): void
  /** Ends every access token at once. */
  revokeTokens(): void
  /** Resolves at the next request that matches; it has then been carried out, if it ever is. */
  next(matches?: (request: RecordedRequest) => boolean): Promise<RecordedRequest>
  /** Resolves at the next try at a webhook that matches, once it is over. */
  nextDelivery(matches?: (delivery: WebhookDelivery) => boolean): Promise<WebhookDelivery>
  /** Resolves when no answer and no webhook is under way; answers that never come do not count. */
  idle(): Promise<void>
  /** Forgets all data, requests, deliveries and faults; the settings stay. */
  clear(): void
  /** Closes the listener and every connection. */
  close(): Promise<void>
}

// Longer than any client keeps an idle connection, so that the stand-in never closes one under a request.
const KEEP_ALIVE_MS = 120_000

/** Starts a stand-in of the version-2 service on a real port: in memory, for demonstrations and tests. */
export async function startSandbox({ port = 0, host = '127.0.0.1', ...given }: SandboxOptions = {}): Promise<Sandbox> {
  if (process.env['NODE_ENV'] === 'production') throw new Error('The sandbox does not run in production')
  const settings = { ...DEFAULTS, ...given }
  const closing = new AbortController()
  const log = traffic()
  const faults = faultQueue()
  const hooks = webhooks(settings, log.begin, closing.signal)
  const world = emptyWorld(settings, hooks.announce)

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, listener(world, faults, log, closing.signal))
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
    shipments: world.shipments,
    quotes: world.quotes,
    webhookDeliveries: hooks.deliveries,
    set: (changed) => void Object.assign(settings, changed),
    fail: faults.add,
    clearFaults: faults.clear,
    advance: (id, step) => advanceShipment(world, id, step),
    touch: (id) => touchShipment(world, id),
    revokeTokens: () => world.tokens.clear(),
    next: log.next,
    nextDelivery: hooks.next,
    idle: log.idle,
    clear() {
      emptyOut(world)
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

const DEFAULTS: Settings = {
  credentials: { demo: 'demo-secret' },
  auth: 'both',
  tokenExpiresIn: 3600,
  shipmentPath: 'both',
  quoteMethod: 'both',
  etag: false,
  repeatedCancel: 409,
  webhookUrl: undefined,
  webhookRetry: { attempts: 6, delayMs: 60_000 },
  clock: () => new Date(),
}
