import type { IncomingMessage } from 'node:http'
import pino, { type DestinationStream } from 'pino'
import type { Config } from '../config/config.ts'
import { DONE, REPLAYED, type Recorder, type RecorderDeps, startRecorder, VERSION_2_BODY } from '../migration/counts.ts'
import { escapeControls } from '../text/service-text.ts'
import { type Call, gatewayMs } from './call.ts'
import { CALL_LINE_END, type Logger, NAME } from './log.ts'
import type { Meters } from './meters.ts'
import type { Tracing } from './tracing.ts'

/** Tells what is known of a call that was answered, once: its line, its metrics, the use that it was, and its span. */
export type EndCall = (call: Call, incoming: IncomingMessage, status: number) => void

export interface EndOfCallDeps extends CallLogOptions {
  readonly log: Logger
  readonly countCall: Meters['countCall']
  /** Counts the use of version 1 and 2. */
  readonly countUse: Recorder['count']
  /** Returns the address or the network that a call comes from. */
  readonly networkOf: (incoming: IncomingMessage) => string
  readonly tracing: Tracing | undefined
}

/** Makes the end of all calls. */
export function createEndOfCall({ log, countCall, countUse, networkOf, tracing, ...options }: EndOfCallDeps): EndCall {
  const logCall = createLogCall(log, options)
  return (call, incoming, status) => {
    logCall(call, incoming, status)
    countCall(call, status)
    const { use, acceptance } = call
    // Nothing is stored for strangers, and what the gateway itself asks the service is no call.
    if (use !== undefined && acceptance?.isProven()) {
      countUse(call.tenant ?? '', {
        use,
        action: call.action ?? (use === 'version-1' && call.error === undefined ? VERSION_2_BODY : ''),
        outcome: outcomeOf(call, status),
        requestId: call.id,
        agent: incoming.headers['user-agent'] ?? '',
        source: networkOf(incoming),
        request: call.request,
        notes: call.notes,
      })
    }
    tracing?.end(call, status)
  }
}

/** Starts to store the counts of use. */
export function openUseCounts({ log, ...deps }: Omit<RecorderDeps, 'onError'> & Pick<EndOfCallDeps, 'log'>): Recorder {
  return startRecorder({ ...deps, onError: (err) => log.warn({ err }, 'the counts of calls could not be stored') })
}

const FIRST_ERROR_STATUS = 400

/** Returns the code of the error that a call ended with; a passed-through error has the service's status. */
function outcomeOf({ error, replayed }: Call, status: number): string {
  if (error !== undefined) return error
  if (status >= FIRST_ERROR_STATUS) return `service-${status}`
  return replayed ? REPLAYED : DONE
}

/** The origin of a call, as its line in the log shows it. */
export interface CallLogOptions extends Pick<Config, 'LOG_ADDRESSES'> {
  /** Returns the source address of a call. */
  readonly addressOf: (incoming: IncomingMessage) => string
  /** Returns the client id that a call names. */
  readonly clientOf: (incoming: IncomingMessage) => string | undefined
}

const UNAUTHORIZED = 401

/**
 * Makes the function that logs the one line of a call, without anything that may contain a secret: no body, credential or query.
 * Only the line of a refused credential has the client id. Undefined fields are left out.
 */
export function createLogCall(log: Logger, { LOG_ADDRESSES: addresses, addressOf, clientOf }: CallLogOptions): EndCall {
  // A logger of pino keeps its destination under a symbol.
  const destination = Reflect.get(log, pino.symbols.streamSym) as DestinationStream
  const isEnabled = log.isLevelEnabled('info')
  return (call, incoming, status) => {
    const { tries, error, cause, notes } = call
    if (!isEnabled && cause === undefined) return
    const ms = performance.now() - call.startedAt
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
      replayed: call.replayed || undefined,
      tenant: shown(call.tenant),
      unknown_fields: call.unknownFields || undefined,
      // Each note once, as the name and the code: `PickupZip lossy`.
      notes: notes.length > 0 ? [...new Set(notes.map(({ name, code }) => `${name} ${code}`))] : undefined,
      error,
      source: addresses === 'all' || (isRefused && addresses === 'refused') ? addressOf(incoming) : undefined,
      client: isRefused ? shown(clientOf(incoming)) : undefined,
      user_agent: shown(incoming.headers['user-agent']),
    }
    if (cause !== undefined && !isRefused) log.error({ ...line, err: cause }, 'call failed')
    else if (isEnabled) destination.write(callLine(line, Date.now()))
  }
}

/** Returns the line of a call: pino's own way through any object costs twice as much, for every call. */
export const callLine = (line: object, now: number): string =>
  `{"level":"info","time":${now},"name":"${NAME}",${JSON.stringify(line).slice(1, -1)}${CALL_LINE_END}`

const TENTHS = 10

/** Rounds milliseconds to a tenth. */
const rounded = (ms: number) => Math.round(ms * TENTHS) / TENTHS

const LIMIT_CHARACTERS = 128
const PLAIN = /^[\x20-\x7e]*$/

/** Returns text that a caller chose, truncated and without control characters. */
function shown(text: string | undefined): string | undefined {
  if (text === undefined || (text.length <= LIMIT_CHARACTERS && PLAIN.test(text))) return text
  return escapeControls(text.slice(0, LIMIT_CHARACTERS))
}
