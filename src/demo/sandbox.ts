import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent } from 'undici'
import * as z from 'zod'
import { check, Refusal, readJson, serviceDate } from './bodies.ts'
import { EVENT_RETRY, sendEvent } from './events.ts'
import { answer, type Call, openService, type Reply } from './service.ts'

/** A running stand-in of the service. */
export interface Sandbox {
  /** Its address, without a closing slash. */
  readonly url: string
  /** Every request that it received, but for those to its own endpoints. */
  readonly requests: { method: string; path: string; headers: IncomingHttpHeaders; body: string }[]
  close(): Promise<void>
}

const common = {
  /** The requests that fail; all by default. A path that ends in `*` is a prefix. */
  on: z.strictObject({ method: z.string().optional(), path: z.string().optional() }).default({}),
  /** How many of them. */
  times: z.union([z.int().positive(), z.literal('always').transform(() => Number.POSITIVE_INFINITY)]).default(1),
}

/** The failures that a person can ask for, each with what becomes of the request. */
const fault = z.discriminatedUnion('kind', [
  /** Not carried out, answered with this status. */
  z.strictObject({
    kind: z.literal('status'),
    ...common,
    status: z.int().min(200).max(999),
    body: z.record(z.string(), z.unknown()).optional(),
  }),
  /** Not carried out, the connection is reset. */
  z.strictObject({ kind: z.literal('reset-before'), ...common }),
  /** Carried out, then the connection is reset. */
  z.strictObject({ kind: z.literal('reset-after'), ...common }),
  /** Carried out, never answered. */
  z.strictObject({ kind: z.literal('timeout'), ...common }),
  /** Carried out, answered later. */
  z.strictObject({ kind: z.literal('delay'), ...common, ms: z.int().nonnegative() }),
])

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
}: {
  credentials: Readonly<Record<string, string>>
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
  let faults: z.infer<typeof fault>[] = []
  const closing = new AbortController()
  const dispatcher = new Agent()
  const service = openService(settings, (event, shipment_id, data) => {
    const payload = { shipment_id, event, event_date: serviceDate(settings.clock()), ...(data && { data }) }
    if (settings.webhookUrl !== null)
      void sendEvent(settings.webhookUrl, payload, EVENT_RETRY, { dispatcher, closing: closing.signal })
  })

  const server = createServer(async (request, response) => {
    const { method = 'GET', url: target = '/', headers } = request
    const body = Buffer.concat(await request.toArray().catch(() => [])).toString()
    response.setHeader('sandbox', 'true')
    const call = { method, target, headers, body }
    if (target.startsWith('/__sandbox/')) return send(response, control(call))
    requests.push({ method, path: target, headers, body })
    const fault = takeFault(method, target.split('?', 1)[0] ?? '')
    if (fault?.kind === 'reset-before') return void response.socket?.resetAndDestroy()
    if (fault?.kind === 'status') {
      const { status, body = { error: { code: 'fault', message: `A fault of status ${status}` } } } = fault
      return send(response, { status, body })
    }
    const reply = answer(service, call)
    if (fault?.kind === 'reset-after') return void response.socket?.resetAndDestroy()
    if (fault?.kind === 'timeout') return
    if (fault?.kind === 'delay') await pause(fault.ms, undefined, { signal: closing.signal }).catch(() => undefined)
    send(response, reply)
  })

  function takeFault(method: string, path: string) {
    const found = faults.find(({ on }) => {
      const isPath = on.path?.endsWith('*') ? path.startsWith(on.path.slice(0, -1)) : path === (on.path ?? path)
      return isPath && method === (on.method?.toUpperCase() ?? method)
    })
    if (found) found.times -= 1
    faults = faults.filter(({ times }) => times > 0)
    return found
  }

  /** Answers the stand-in's own endpoints, with which a person makes failures and looks at what was sent. */
  function control({ method, target, body }: Call): Reply {
    try {
      switch (`${method} ${target}`) {
        case 'GET /__sandbox/requests':
          return { status: 200, body: { requests } }
        case 'POST /__sandbox/faults':
          faults.push(check(fault, readJson(body)))
          return { status: 200, body: { faults: faults.length } }
        case 'DELETE /__sandbox/faults':
          faults = []
          return { status: 200, body: { faults: 0 } }
        case 'POST /__sandbox/settings': {
          const changed = check(changeable, readJson(body))
          Object.assign(settings, changed)
          return { status: 200, body: { changed: Object.keys(changed) } }
        }
        default:
          throw new Refusal(
            'not_found',
            'Use GET /__sandbox/requests, POST or DELETE /__sandbox/faults, or POST /__sandbox/settings',
          )
      }
    } catch (error) {
      if (error instanceof Refusal) return error
      throw error
    }
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A TCP listener's address is never a path or null.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async close() {
      closing.abort()
      server.closeAllConnections()
      server.close()
      await Promise.all([once(server, 'close'), dispatcher.destroy()])
    },
  }
}

function send(response: ServerResponse, { status, headers, body }: Reply): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
