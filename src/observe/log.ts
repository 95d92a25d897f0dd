import type { IncomingMessage } from 'node:http'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { escapeControls } from '../text/plain-text.ts'
import type { Call } from './call.ts'
import { createLogOutput } from './log-output.ts'

export type { Logger }

/** Makes a logger of JSON lines. It writes in the background: call `flush` before the process ends. */
export function createLog(level: Config['LOG_LEVEL'], destination?: DestinationStream): Logger {
  const base = { name: 'transload' }
  const options = { level, base, formatters: { level: (label: string) => ({ level: label }) } }
  if (destination) return pino(options, destination)
  const onDropped = (lines: number) =>
    log.warn({ lines }, 'log lines were dropped, because standard output did not take them')
  const log = pino(options, createLogOutput({ printableTail: CALL_LINE_END, onDropped }))
  return log
}

/** The tail of a line of `createLogCall`, which contains no control characters. */
const CALL_LINE_END = '"msg":"call"}\n'

/** Logs the one line of a call, without anything that may contain a secret: no body, header or query. */
export type LogCall = (call: Call, incoming: IncomingMessage, status: number) => void

/** Returns the source address of a call, and the client id that it names. */
export type OriginOf = (incoming: IncomingMessage) => { readonly source: string; readonly client: string | undefined }

const UNAUTHORIZED = 401

/** Makes the function that logs calls. Only the line of a refused credential has the source address. */
export function createLogCall(log: Logger, originOf: OriginOf): LogCall {
  return (call, incoming, status) => {
    const line = {
      id: call.id,
      method: incoming.method,
      path: call.route,
      action: call.action,
      status,
      ms: Math.round((performance.now() - call.startedAt) * 10) / 10,
      tenant: shown(call.tenant),
      unknown_fields: call.unknownFields || undefined,
      error: call.error,
    }
    if (call.unauthorized || status === UNAUTHORIZED) {
      const { source, client } = originOf(incoming)
      log.info({ ...line, source, client: shown(client) }, 'call')
    } else if (call.cause === undefined) log.info(line, 'call')
    else log.error({ ...line, err: call.cause }, 'call failed')
  }
}

const ID_LIMIT_CHARACTERS = 128
const PLAIN = /^[\x20-\x7e]*$/

/** Returns an id that a caller chose, truncated and without control characters. */
function shown(id: string | undefined): string | undefined {
  if (id === undefined || (id.length <= ID_LIMIT_CHARACTERS && PLAIN.test(id))) return id
  return escapeControls(id.slice(0, ID_LIMIT_CHARACTERS))
}
