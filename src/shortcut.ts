import type { IncomingMessage, ServerResponse } from 'node:http'
import { type LegacyCallDeps, legacyCall } from './calls/legacy-call.ts'
import { type PassThroughDeps, passThrough } from './calls/pass-through.ts'
import type { Config } from './config/config.ts'
import {
  type Answer,
  alive,
  answerOfError,
  asGatewayError,
  JSON_TYPE,
  legacyError,
  legacyHeaders,
  noteError,
  notNow,
  readiness,
} from './http/answers.ts'
import type { Application } from './http/listener.ts'
import type { Router } from './http/routing.ts'
import type { Endpoint } from './mapping/catalog.ts'
import { beginCall, type Call, type Unwelcome } from './observe/call.ts'
import type { CallLog } from './observe/log.ts'
import type { Metrics } from './observe/metrics.ts'

/** What the shortcut needs besides what the calls themselves do. */
export interface ShortcutDeps extends LegacyCallDeps, PassThroughDeps {
  readonly config: PassThroughDeps['config'] & Pick<Config, 'ERROR_STATUS' | 'SUNSET' | 'MIGRATION_GUIDE_URL'>
  readonly route: Router
  /** Throws where a source address asks too often. */
  readonly limitSource: (incoming: IncomingMessage) => void
  readonly log: CallLog
  readonly metrics: Pick<Metrics, 'noteCall'>
  readonly ready: () => boolean
}

/**
 * Makes the way past the map for the calls that come most often: of version 1, as they are meant to be made, of version 2,
 * and whether the gateway lives. They need no `Request`, no `Response` and no walk through middleware
 * (docs/decisions/0009).
 */
export function createShortcut(deps: ShortcutDeps): Required<Application>['shortcut'] {
  const { config, catalog, route, limitSource, log, metrics, ready } = deps
  const retired = legacyHeaders(config)
  const endpoints = new Map([...catalog.endpoints.values()].map((endpoint) => [`/legacy${endpoint.path}`, endpoint]))

  function note(call: Call, incoming: IncomingMessage, status: number): void {
    log(call, incoming, status)
    metrics.noteCall(call, status)
  }

  function admit(incoming: IncomingMessage, unwelcome: Unwelcome | undefined): void {
    if (unwelcome) throw notNow(unwelcome)
    limitSource(incoming)
  }

  async function callOfVersion1(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    unwelcome: Unwelcome | undefined,
    endpoint: Endpoint,
  ): Promise<void> {
    const call = beginCall(incoming, `/legacy${endpoint.path}`)
    try {
      admit(incoming, unwelcome)
      const answer = await legacyCall(incoming, endpoint, call, deps)
      begin(outgoing, answer, call, retired)
      // Together with the other answers of this turn of the event loop: most of what a write costs is waking whoever sleeps
      // at the other end (docs/decisions/0013).
      setImmediate(() => outgoing.end(answer.body))
    } catch (error) {
      write(outgoing, answerOfError(error, endpoint.family, call, config.ERROR_STATUS), call, retired)
    }
    note(call, incoming, outgoing.statusCode)
  }

  async function callOfVersion2(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    unwelcome: Unwelcome | undefined,
  ): Promise<void> {
    const call = beginCall(incoming, '/service')
    try {
      admit(incoming, unwelcome)
      await passThrough(incoming, outgoing, call, deps)
    } catch (thrown) {
      const error = asGatewayError(thrown)
      noteError(call, error)
      write(outgoing, legacyError(error, 'shipment', ''), call)
    }
    note(call, incoming, outgoing.statusCode)
  }

  /** What even its own error could not be told of costs a connection, never the gateway. */
  function go(outgoing: ServerResponse, work: Promise<void>): void {
    work.catch(() => outgoing.destroy())
  }

  function question(incoming: IncomingMessage, outgoing: ServerResponse, wing: string, answer: Answer): void {
    const call = beginCall(incoming, wing)
    write(outgoing, answer, call)
    note(call, incoming, answer.status)
  }

  return (incoming, outgoing, unwelcome) => {
    const wing = route(incoming.url ?? '/')
    const method = incoming.method === 'HEAD' ? 'GET' : incoming.method
    const endpoint = endpoints.get(wing)
    if (endpoint && endpoint.method === method) go(outgoing, callOfVersion1(incoming, outgoing, unwelcome, endpoint))
    else if (wing === '/service') go(outgoing, callOfVersion2(incoming, outgoing, unwelcome))
    else if (wing === '/own/healthz' && method === 'GET') question(incoming, outgoing, wing, alive)
    else if (wing === '/own/readyz' && method === 'GET') question(incoming, outgoing, wing, readiness(ready()))
    else return false
    return true
  }
}

function write(outgoing: ServerResponse, answer: Answer, call: Call, more?: Answer['headers']): void {
  begin(outgoing, answer, call, more)
  outgoing.end(answer.body)
}

/** All of an answer but its body. */
function begin(
  outgoing: ServerResponse,
  { status, headers, body }: Answer,
  { id }: Call,
  more: Answer['headers'] = {},
): void {
  const length = Buffer.byteLength(body)
  const own = { 'Content-Type': JSON_TYPE, 'Content-Length': length, 'X-Request-Id': id }
  outgoing.writeHead(status, { ...own, ...more, ...headers })
}
