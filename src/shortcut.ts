import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Config } from './config.ts'
import {
  type Answer,
  answerOfError,
  asGatewayError,
  JSON_TYPE,
  legacyError,
  legacyHeaders,
  noteError,
  notNow,
} from './http/answers.ts'
import { beginCall, type Call, type Unwelcome } from './http/call.ts'
import type { CallLog } from './http/log.ts'
import type { Metrics } from './http/metrics.ts'
import { type LegacyDeps, legacy } from './legacy.ts'
import type { Endpoint } from './mapping/catalog.ts'
import { type PassThroughDeps, passThrough } from './pass-through.ts'

/** What the shortcut needs besides what the calls themselves do. */
export interface ShortcutDeps extends LegacyDeps, PassThroughDeps {
  readonly config: PassThroughDeps['config'] & Pick<Config, 'ERROR_STATUS' | 'SUNSET' | 'MIGRATION_GUIDE_URL'>
  readonly log: CallLog
  readonly metrics: Pick<Metrics, 'noteCall'>
}

/** Answers a call on the socket itself. */
export interface Shortcut {
  readonly legacy: (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    unwelcome: Unwelcome | undefined,
    endpoint: Endpoint,
  ) => Promise<void>
  readonly service: (
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    unwelcome: Unwelcome | undefined,
  ) => Promise<void>
}

/**
 * Makes the way of the calls that come most often past the map: a `Request`, a `Response` and a walk through middleware
 * would cost them a tenth of all there is to do (docs/decisions/0009).
 */
export function createShortcut(deps: ShortcutDeps, limitSource: (incoming: IncomingMessage) => void): Shortcut {
  const { config, log, metrics } = deps
  const retired = legacyHeaders(config)

  const admit = (incoming: IncomingMessage, unwelcome: Unwelcome | undefined) => {
    if (unwelcome) throw notNow(unwelcome)
    limitSource(incoming)
  }
  const note = (call: Call, incoming: IncomingMessage, status: number) => {
    log(call, incoming, status)
    metrics.noteCall(call, status)
  }

  return {
    legacy: async (incoming, outgoing, unwelcome, endpoint) => {
      const call = beginCall(incoming, `/legacy${endpoint.path}`)
      let answer: Answer
      try {
        admit(incoming, unwelcome)
        answer = await legacy(incoming, endpoint, call, deps)
      } catch (error) {
        answer = answerOfError(error, endpoint.family, call, config.ERROR_STATUS)
      }
      write(outgoing, answer, call, retired)
      note(call, incoming, answer.status)
    },
    service: async (incoming, outgoing, unwelcome) => {
      const call = beginCall(incoming, '/service')
      try {
        admit(incoming, unwelcome)
        await passThrough(incoming, outgoing, call.id, deps)
      } catch (thrown) {
        const error = asGatewayError(thrown)
        noteError(call, error)
        write(outgoing, legacyError(error, 'shipment', ''), call, {})
      }
      note(call, incoming, outgoing.statusCode)
    },
  }
}

function write(
  outgoing: ServerResponse,
  { status, headers, body }: Answer,
  { id }: Call,
  more: Readonly<Record<string, string>>,
): void {
  const length = Buffer.byteLength(body)
  const own = { 'Content-Type': JSON_TYPE, 'Content-Length': length, 'X-Request-Id': id }
  outgoing.writeHead(status, { ...own, ...more, ...headers }).end(body)
}
