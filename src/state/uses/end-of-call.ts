import type { IncomingMessage } from 'node:http'
import pino, { type DestinationStream } from 'pino'
import type { Config } from '../../language/config/config.ts'
import { escapeControls } from '../../language/text/service-text.ts'
import type { EndCall } from '../../runtime/call.ts'
import { CALL_LINE_END, type Logger, NAME } from '../../runtime/log.ts'
import type { Meters } from '../../runtime/metrics.ts'
import type { CallRecorder } from '../../runtime/record.ts'
import type { Tracing } from '../../runtime/tracing.ts'
import { DONE, REPLAYED, type Recorder, type RecorderDeps, startRecorder, VERSION_2_BODY } from './counts.ts'

interface EndOfCallDeps extends Pick<Config, 'LOG_ADDRESSES' | 'TENANTS_FILE'> {
  readonly log: Logger
  readonly meters: Pick<Meters, 'calls' | 'callSeconds' | 'gatewaySeconds' | 'unknownFields' | 'otherPrices'>
  /** Counts the use of version 1 and 2. */
  readonly countUse: Recorder['count']
  /** Returns the client id that a call names. */
  readonly clientOf: (incoming: IncomingMessage) => string | undefined
  /** Undefined without an SDK of OpenTelemetry. */
  readonly tracing: Tracing | undefined
  /** Undefined without RECORD_FILE. */
  readonly recorder: CallRecorder | undefined
}

/**
 * Makes the end of all calls, which reads the record of a call: for its one line in the log, the metrics, the counts of use and
 * its span. The line has nothing that may contain a secret: no body, credential or query; only that of a refused credential has
 * the client id.
 */
export function createEndOfCall(deps: EndOfCallDeps): EndCall {
  const { log, meters, countUse, clientOf, tracing, recorder, LOG_ADDRESSES: addresses } = deps
  // Tenants have series of their own only where the gateway verifies them.
  const knowsTenants = deps.TENANTS_FILE !== undefined
  // A logger of pino keeps its destination under a symbol.
  const destination = Reflect.get(log, pino.symbols.streamSym) as DestinationStream
  const isEnabled = log.isLevelEnabled('info')
  return (call, incoming, status) => {
    const { tries, error, cause, notes, use, acceptance, action = '' } = call
    const { source } = call.share
    const agent = incoming.headers['user-agent']
    const ms = performance.now() - call.startedAt
    // The service and the store may have worked for it at the same time.
    const ownMs = Math.max(0, ms - call.serviceMs - call.storeMs)
    const tenant = (knowsTenants && call.tenant) || ''
    meters.calls.add(1, call.route, action, String(status), error ?? '', tenant)
    const isOtherPrice = call.price !== undefined && !call.replayed
    if (isOtherPrice) meters.otherPrices.add(1, tenant)
    meters.callSeconds.observe(ms / MS_PER_SECOND, action)
    meters.gatewaySeconds.observe(ownMs / MS_PER_SECOND, action)
    if (call.unknownFields > 0) meters.unknownFields.add(call.unknownFields, action)
    if (isEnabled || cause !== undefined) {
      const isRefused = call.unauthorized || status === UNAUTHORIZED
      // Undefined fields are left out.
      const line = {
        id: call.id,
        method: incoming.method,
        path: call.route,
        action: call.action,
        status,
        ms: rounded(ms),
        gateway_ms: rounded(ownMs),
        store_ms: call.storeMs > 0 ? rounded(call.storeMs) || undefined : undefined,
        service_ms: tries > 0 ? rounded(call.serviceMs) : undefined,
        service_status: call.serviceStatus,
        tries: tries || undefined,
        replayed: call.replayed || undefined,
        price: call.price,
        tenant: shown(call.tenant),
        unknown_fields: call.unknownFields || undefined,
        // Each note once, as the name and the code: `PickupZip lossy`.
        notes: notes.length > 0 ? [...new Set(notes.map(({ name, code }) => `${name} ${code}`))] : undefined,
        error,
        source: addresses === 'all' || (isRefused && addresses === 'refused') ? source.address : undefined,
        client: isRefused ? shown(clientOf(incoming)) : undefined,
        user_agent: shown(agent),
      }
      if (cause !== undefined && !isRefused) log.error({ ...line, err: cause }, 'call failed')
      else if (isEnabled) {
        // pino's own way through any object costs twice as much, for every call.
        const members = JSON.stringify(line).slice(1, -1)
        destination.write(`{"level":"info","time":${Date.now()},"name":"${NAME}",${members}${CALL_LINE_END}`)
      }
    }
    // Nothing is stored for strangers, and what the gateway itself asks the service is no call.
    if (use !== undefined && acceptance?.isProven()) {
      countUse(call.tenant ?? '', {
        use,
        action: call.action ?? (use === 'version-1' && error === undefined ? VERSION_2_BODY : ''),
        // A passed-through error has the service's status.
        outcome: error ?? (status >= FIRST_ERROR_STATUS ? `service-${status}` : call.replayed ? REPLAYED : DONE),
        requestId: call.id,
        agent: agent ?? '',
        source: source.name,
        request: call.request,
        notes,
        isOtherPrice,
      })
    }
    if (call.recording) recorder?.end(call.recording, call, incoming, status)
    tracing?.end(call, status)
  }
}

/** Starts to store the counts of use. */
export function openUseCounts({ log, ...deps }: Omit<RecorderDeps, 'onError'> & Pick<EndOfCallDeps, 'log'>): Recorder {
  return startRecorder({ ...deps, onError: (err) => log.warn({ err }, 'the counts of calls could not be stored') })
}

const MS_PER_SECOND = 1000
const FIRST_ERROR_STATUS = 400
const UNAUTHORIZED = 401

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
