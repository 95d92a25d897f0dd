import type { IncomingMessage } from 'node:http'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { escapeControls } from '../text/plain-text.ts'
import { type Call, gatewayMs } from './call.ts'
import { CALL_LINE_END, callLine } from './call-line.ts'
import { createLogOutput } from './log-output.ts'

export type { Logger }

/** Makes a logger of JSON lines. It writes in the background: call `flush` before the process ends. */
export function createLog(level: Config['LOG_LEVEL'], destination?: DestinationStream): Logger {
  const base = { name: NAME }
  const options = { level, base, formatters: { level: (label: string) => ({ level: label }) } }
  if (destination) return pino(options, destination)
  const onDropped = (lines: number) =>
    log.warn({ lines }, 'log lines were dropped, because standard output did not take them')
  const log = pino(options, createLogOutput({ printableTail: CALL_LINE_END, onDropped }))
  return log
}

/** The name of the program in every line. */
const NAME = 'transload'

/** Logs the one line of a call, without anything that may contain a secret: no body, credential or query. */
export type LogCall = (call: Call, incoming: IncomingMessage, status: number) => void

/** The origin of a call, as its line in the log shows it. */
export interface CallLogOptions extends Pick<Config, 'LOG_ADDRESSES' | 'LOG_USER_AGENTS'> {
  /** Returns the source address of a call. */
  readonly sourceOf: (incoming: IncomingMessage) => string
  /** Returns the client id that a call names. */
  readonly clientOf: (incoming: IncomingMessage) => string | undefined
}

const UNAUTHORIZED = 401

/** Makes the function that logs calls. Only the line of a refused credential has the client id. */
export function createLogCall(log: Logger, options: CallLogOptions): LogCall {
  const { LOG_ADDRESSES: addresses, LOG_USER_AGENTS: userAgents, sourceOf, clientOf } = options
  // A logger of pino keeps its destination under a symbol.
  const destination = Reflect.get(log, pino.symbols.streamSym) as DestinationStream
  const isEnabled = log.isLevelEnabled('info')
  return (call, incoming, status) => {
    if (!isEnabled && call.cause === undefined) return
    const ms = performance.now() - call.startedAt
    const { tries, error, cause } = call
    const isRefused = call.unauthorized || status === UNAUTHORIZED
    const line = {
      id: call.id,
      method: incoming.method,
      path: call.route,
      action: call.action,
      status,
      ms: rounded(ms),
      gateway_ms: rounded(gatewayMs(call, ms)),
      store_ms: rounded(call.storeMs) || undefined,
      service_ms: tries > 0 ? rounded(call.serviceMs) : undefined,
      service_status: call.serviceStatus,
      tries: tries || undefined,
      replayed: call.replayed ? (true as const) : undefined,
      tenant: shown(call.tenant),
      unknown_fields: call.unknownFields || undefined,
      notes: notesOf(call),
      error,
      source: addresses === 'all' || (isRefused && addresses === 'refused') ? sourceOf(incoming) : undefined,
      client: isRefused ? shown(clientOf(incoming)) : undefined,
      user_agent: userAgents ? shown(incoming.headers['user-agent']) : undefined,
    }
    if (isRefused || cause === undefined) {
      if (isEnabled) destination.write(callLine(line, Date.now(), NAME))
    } else log.error({ ...line, err: cause }, 'call failed')
  }
}

const TENTHS = 10

/** Rounds milliseconds to a tenth. */
const rounded = (ms: number) => Math.round(ms * TENTHS) / TENTHS

/** Returns each note once, as the name and the code: `PickupZip lossy`. */
function notesOf({ notes }: Call): readonly string[] | undefined {
  return notes.length === 0 ? undefined : [...new Set(notes.map(({ name, code }) => `${name} ${code}`))]
}

const LIMIT_CHARACTERS = 128
const PLAIN = /^[\x20-\x7e]*$/

/** Returns text that a caller chose, truncated and without control characters. */
function shown(text: string | undefined): string | undefined {
  if (text === undefined || (text.length <= LIMIT_CHARACTERS && PLAIN.test(text))) return text
  return escapeControls(text.slice(0, LIMIT_CHARACTERS))
}
