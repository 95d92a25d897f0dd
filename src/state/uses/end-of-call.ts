import pino, { type DestinationStream } from 'pino'
import type { Config } from '../../language/config/config.ts'
import { escapeControls } from '../../language/text/service-text.ts'
import { clientIdOf } from '../../outside/service/credential.ts'
import type { EndCall } from '../../runtime/call.ts'
import { CALL_LINE_END, type Logger, NAME } from '../../runtime/log.ts'
import type { Meters } from '../../runtime/metrics.ts'
import type { CallRecorder } from '../../runtime/recorder.ts'
import type { Tracing } from '../../runtime/tracing.ts'
import { DONE, REPLAYED, type UseCounts, VERSION_2_BODY } from './counts.ts'

/** The readers of a call's record at its end. */
interface EndOfCallRooms {
  readonly config: Config
  readonly log: Logger
  readonly meters: Meters
  /** Counts the use of version 1 and 2. */
  readonly uses: UseCounts
  /** Undefined without an OpenTelemetry SDK. */
  readonly tracing: Tracing | undefined
  /** Undefined without RECORD_FILE. */
  readonly recorder: CallRecorder | undefined
}

/**
 * Makes the end of all calls. It reads a call's record for its one log line, the metrics, the counts of use and its span. The line contains
 * nothing that may be secret: no body, credential or query. Only a call with a refused credential shows the client id.
 */
export function createEndOfCall({ config, log, meters, uses, tracing, recorder }: EndOfCallRooms): EndCall {
  const { LOG_ADDRESSES: addresses } = config
  // Tenants have their own series only if the gateway verifies them.
  const knowsTenants = config.TENANTS_FILE !== undefined
  // A pino logger keeps its destination under a symbol.
  const destination = Reflect.get(log, pino.symbols.streamSym) as DestinationStream
  const isEnabled = log.isLevelEnabled('info')
  return (call, incoming, status) => {
    const { request, waits, outcome } = call
    const { tenant, acceptance } = call.caller
    const { error, cause, notes, sorted, replayed, action = '' } = outcome
    const { use, route } = request
    const { source } = request.share
    const { tries, serviceMs, storeMs } = waits
    const unknownFields = sorted?.fields.unknown.length ?? 0
    const agent = incoming.headers['user-agent']
    const ms = performance.now() - request.startedAt
    // The service and the store may have worked for the call at the same time.
    const ownMs = Math.max(0, ms - serviceMs - storeMs)
    const knownTenant = (knowsTenants && tenant) || ''
    meters.calls.add(1, route, action, String(status), error ?? '', knownTenant)
    const isOtherPrice = outcome.price !== undefined && !replayed
    if (isOtherPrice) meters.otherPrices.add(1, knownTenant)
    meters.callSeconds.observeMs(ms, action)
    meters.gatewaySeconds.observeMs(ownMs, action)
    if (unknownFields > 0) meters.unknownFields.add(unknownFields, action)
    if (isEnabled || cause !== undefined) {
      const isRefused = outcome.unauthorized || status === UNAUTHORIZED
      // Undefined fields are left out.
      const line = {
        id: request.id,
        method: incoming.method,
        path: route,
        action: outcome.action,
        status,
        ms: rounded(ms),
        gateway_ms: rounded(ownMs),
        store_ms: storeMs > 0 ? rounded(storeMs) || undefined : undefined,
        service_ms: tries > 0 ? rounded(serviceMs) : undefined,
        service_status: waits.serviceStatus,
        tries: tries || undefined,
        replayed: replayed || undefined,
        price: outcome.price,
        tenant: shown(tenant),
        unknown_fields: unknownFields || undefined,
        // Each note once, as its name and code: `PickupZip lossy`.
        notes: notes.length > 0 ? [...new Set(notes.map(({ name, code }) => `${name} ${code}`))] : undefined,
        error,
        source: addresses === 'all' || (isRefused && addresses === 'refused') ? source.address : undefined,
        client: isRefused ? shown(clientIdOf(incoming)) : undefined,
        user_agent: shown(agent),
      }
      if (cause !== undefined && !isRefused) log.error({ ...line, err: cause }, 'call failed')
      else if (isEnabled) {
        // pino's own generic serialization costs twice as much, for every call.
        const members = JSON.stringify(line).slice(1, -1)
        destination.write(`{"level":"info","time":${Date.now()},"name":"${NAME}",${members}${CALL_LINE_END}`)
      }
    }
    // Nothing is stored for strangers, and the gateway's own requests are not calls.
    if (use !== undefined && acceptance?.isProven()) {
      uses.count(tenant ?? '', {
        use,
        action: outcome.action ?? (use === 'version-1' && error === undefined ? VERSION_2_BODY : ''),
        // A passed-through error has the service's status.
        outcome: error ?? (status >= FIRST_ERROR_STATUS ? `service-${status}` : replayed ? REPLAYED : DONE),
        requestId: request.id,
        agent: agent ?? '',
        source: source.name,
        request: sorted,
        notes,
        isOtherPrice,
      })
    }
    if (request.recording) recorder?.end(request.recording, call, incoming, status)
    tracing?.end(call, status)
  }
}

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
