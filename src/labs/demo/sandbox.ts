import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { serviceDate } from './bodies.ts'
import { sendEvent } from './events.ts'
import { answer, type DemoReply, type DemoRequest, openService } from './service.ts'

/** The attempts for each event. The delay is short so that an event arrives soon after its receiver has restarted. */
const EVENT_RETRY = { attempts: 60, delayMs: 500, timeoutMs: 2_000 }

/** The failure of a request. Without a status, the request is carried out, unless its connection is reset before. */
export type Fault =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'reset-before' | 'reset-after' | 'timeout' }
  | { readonly kind: 'delay'; readonly ms: number }

/** A running stand-in for the service. */
export type Sandbox = Awaited<ReturnType<typeof startSandbox>>

/** Starts an in-memory stand-in for the service on a free port, to try the gateway with; `faultOf` selects the requests that fail. */
export async function startSandbox(
  credentials: Readonly<Record<string, string>>,
  faultOf: (call: DemoRequest) => Fault | undefined = () => undefined,
) {
  if (process.env['NODE_ENV'] === 'production') throw new Error('The sandbox does not run in production')
  const requests: { method: string; path: string; headers: IncomingHttpHeaders; body: string }[] = []
  const closing = new AbortController()
  const service = openService({ credentials, approvalBooks: true }, (event, shipment_id) => {
    const payload = { shipment_id, event, event_date: serviceDate(new Date()) }
    const { webhookUrl } = sandbox
    if (webhookUrl !== undefined) void sendEvent(webhookUrl, payload, EVENT_RETRY, closing.signal)
  })

  const server = createServer(async (request, response) => {
    const { method = 'GET', url: target = '/', headers } = request
    const body = Buffer.concat(await request.toArray().catch(() => [])).toString()
    response.setHeader('sandbox', 'true')
    requests.push({ method, path: target, headers, body })
    const call = { method, target, headers, body }
    const fault = faultOf(call)
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

  const stop = async () => {
    server.closeAllConnections()
    // It may have failed to listen again; then there is nothing to close.
    await new Promise((closed) => server.close(closed))
  }
  const url = await listen(server)
  const sandbox = {
    /** Without a closing slash. */
    url,
    /** Every received request. */
    requests,
    /** By id. */
    shipments: service.shipments,
    /** The receiver of events; none are sent without it. */
    webhookUrl: undefined as string | undefined,
    /** Drops all connections and listens again after a while, with the same data. */
    async restart(downMs: number) {
      await stop()
      await pause(downMs)
      await listen(server, Number(new URL(url).port))
    },
    async close() {
      closing.abort()
      await stop()
    },
  }
  return sandbox
}

/** Lets a server listen on this machine alone; returns its address, without a closing slash. @default a free port */
export async function listen(server: Server, at = 0): Promise<string> {
  await once(server.listen(at, '127.0.0.1'), 'listening')
  // The address of a TCP listener is never a path or null.
  const { port } = server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

function send(response: ServerResponse, { status, headers, body }: DemoReply): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
