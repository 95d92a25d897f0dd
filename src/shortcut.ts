import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Config } from './config.ts'
import { type Answer, answerOfError, JSON_TYPE, legacyHeaders, notNow } from './http/answers.ts'
import { beginCall, type Call, type Unwelcome } from './http/call.ts'
import type { CallLog } from './http/log.ts'
import type { Metrics } from './http/metrics.ts'
import { type LegacyDeps, legacy } from './legacy.ts'
import type { Endpoint } from './mapping/catalog.ts'

/** What the shortcut needs besides what every translated call does. */
export interface ShortcutDeps extends LegacyDeps {
  readonly config: Pick<Config, 'ERROR_STATUS' | 'SUNSET' | 'MIGRATION_GUIDE_URL'>
  readonly log: CallLog
  readonly metrics: Pick<Metrics, 'noteCall'>
}

/** Answers a call of version 1 on the socket itself. */
export type Shortcut = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  endpoint: Endpoint,
  unwelcome: Unwelcome | undefined,
) => void

/**
 * Makes the way of a translated call past the map: it comes so often that a `Request`, a `Response` and a walk through
 * middleware would cost a tenth of all there is to do (docs/decisions/0009).
 */
export function createShortcut(deps: ShortcutDeps, admit: (incoming: IncomingMessage) => void): Shortcut {
  const { config, log, metrics } = deps
  const retired = legacyHeaders(config)

  async function answered(
    incoming: IncomingMessage,
    endpoint: Endpoint,
    call: Call,
    unwelcome: Unwelcome | undefined,
  ): Promise<Answer> {
    try {
      if (unwelcome) throw notNow(unwelcome)
      admit(incoming)
      return await legacy(incoming, endpoint, call, deps)
    } catch (error) {
      return answerOfError(error, endpoint.family, call, config.ERROR_STATUS)
    }
  }

  return async (incoming, outgoing, endpoint, unwelcome) => {
    const call = beginCall(incoming, `/legacy${endpoint.path}`)
    const { status, headers, body } = await answered(incoming, endpoint, call, unwelcome)
    outgoing
      .writeHead(status, {
        'Content-Type': JSON_TYPE,
        'Content-Length': Buffer.byteLength(body),
        'X-Request-Id': call.id,
        ...retired,
        ...headers,
      })
      .end(body)
    log(call, incoming, status)
    metrics.noteCall(call, status)
  }
}
