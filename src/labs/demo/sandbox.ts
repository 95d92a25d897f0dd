import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import * as z from 'zod'
import { check, DemoRefusal, parseBody, serviceDate } from './bodies.ts'
import { EVENT_RETRY, type EventRetry, sendEvent } from './events.ts'
import { answer, type DemoReply, type DemoRequest, type DemoService, openService } from './service.ts'

/** A running stand-in of the service. */
export interface Sandbox {
  /** Its address, without a closing slash. */
  readonly url: string
  /** Every request that it received, but for those to its own endpoints. */
  readonly requests: { method: string; path: string; headers: IncomingHttpHeaders; body: string }[]
  /** By id. */
  readonly shipments: DemoService['shipments']
  /** They can change while it runs. */
  readonly settings: { webhookUrl: string | null }
  /** Drops all connections, and listens again after a while; its data stay. */
  restart(downMs: number): Promise<void>
  close(): Promise<void>
}

/** The failures that a person can ask for, each with what becomes of the next request. */
const fault = z.discriminatedUnion('kind', [
  /** Not carried out, answered with this status. */
  z.strictObject({ kind: z.literal('status'), status: z.int().min(200).max(999) }),
  /** Not carried out, the connection is reset. */
  z.strictObject({ kind: z.literal('reset-before') }),
  /** Carried out, then the connection is reset. */
  z.strictObject({ kind: z.literal('reset-after') }),
  /** Carried out, never answered. */
  z.strictObject({ kind: z.literal('timeout') }),
  /** Carried out, answered later. */
  z.strictObject({ kind: z.literal('delay'), ms: z.int().nonnegative() }),
])

export type Fault = z.infer<typeof fault>

/** The settings that can change while it runs. */
const changeable = z
  .strictObject({
    approvalBooks: z.boolean(),
    tokenExpiresIn: z.number().nullable(),
    /** Where events go, such as the gateway's `/webhooks/<secret>`; null sends none. */
    webhookUrl: z.url().nullable(),
  })
  .partial()

/** Starts a stand-in of the service on a free port, in memory, to try the gateway with. */
export async function startSandbox({
  credentials,
  faultOf = () => undefined,
  eventRetry = EVENT_RETRY,
}: {
  readonly credentials: Readonly<Record<string, string>>
  /** Chooses what becomes of a request for which nobody has asked a failure. @default none */
  readonly faultOf?: (call: DemoRequest) => Fault | undefined
  readonly eventRetry?: EventRetry
}): Promise<Sandbox> {
  if (process.env['NODE_ENV'] === 'production') throw new Error('The sandbox does not run in production')
  const settings = {
    credentials,
    tokenExpiresIn: 3600,
    approvalBooks: true,
    clock: () => new Date(),
    webhookUrl: null as string | null,
  }
  const requests: Sandbox['requests'] = []
  const faults: Fault[] = []
  const closing = new AbortController()
  const dispatcher = new Agent()
  const service = openService(settings, (event, shipment_id, data) => {
    const payload = { shipment_id, event, event_date: serviceDate(settings.clock()), ...(data && { data }) }
    if (settings.webhookUrl !== null)
      void sendEvent(settings.webhookUrl, payload, eventRetry, { dispatcher, closing: closing.signal })
  })

  const server = createServer(async (request, response) => {
    const { method = 'GET', url: target = '/', headers } = request
    const body = Buffer.concat(await request.toArray().catch(() => [])).toString()
    response.setHeader('sandbox', 'true')
    const call = { method, target, headers, body }
    if (target.startsWith('/__sandbox/')) return send(response, control(call))
    requests.push({ method, path: target, headers, body })
    const fault = faults.shift() ?? faultOf(call)
    if (fault?.kind === 'reset-before') return void response.socket?.resetAndDestroy()
    if (fault?.kind === 'status') {
      const { status } = fault
      return send(response, { status, body: { error: { code: 'fault', message: `A fault of status ${status}` } } })
    }
    const reply = answer(service, call)
    if (fault?.kind === 'reset-after') return void response.socket?.resetAndDestroy()
    if (fault?.kind === 'timeout') return
    if (fault?.kind === 'delay') await pause(fault.ms, undefined, { signal: closing.signal }).catch(() => undefined)
    send(response, reply)
  })

  /** Answers the stand-in's own endpoints, with which a person makes failures. */
  function control({ method, target, body }: DemoRequest): DemoReply {
    try {
      switch (`${method} ${target}`) {
        case 'POST /__sandbox/faults':
          faults.push(check(fault, parseBody(body)))
          return { status: 200, body: { faults: faults.length } }
        case 'POST /__sandbox/settings': {
          const changed = check(changeable, parseBody(body))
          Object.assign(settings, changed)
          return { status: 200, body: { changed: Object.keys(changed) } }
        }
        default:
          throw new DemoRefusal('not_found', 'Use POST /__sandbox/faults or POST /__sandbox/settings')
      }
    } catch (error) {
      if (error instanceof DemoRefusal) return error
      throw error
    }
  }

  const listen = async (at: number) => {
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
  }
  const stop = async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
  await listen(0)
  // A TCP listener's address is never a path or null.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    shipments: service.shipments,
    settings,
    async restart(downMs) {
      await stop()
      await pause(downMs)
      await listen(port)
    },
    async close() {
      closing.abort()
      await Promise.all([stop(), dispatcher.destroy()])
    },
  }
}

function send(response: ServerResponse, { status, headers, body }: DemoReply): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
