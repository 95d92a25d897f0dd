import type { IncomingMessage } from 'node:http'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { escapeControls, printableLines } from '../text/plain-text.ts'
import { type Call, gatewayMs } from './call.ts'

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
interface CallLogOptions extends Pick<Config, 'LOG_ADDRESSES'> {
  /** Returns the source address of a call. */
  readonly sourceOf: (incoming: IncomingMessage) => string
  /** Returns the client id that a call names. */
  readonly clientOf: (incoming: IncomingMessage) => string | undefined
}

const UNAUTHORIZED = 401

/** Makes the function that logs calls. Only the line of a refused credential has the client id. */
export function createLogCall(log: Logger, options: CallLogOptions): LogCall {
  const { LOG_ADDRESSES: addresses, sourceOf, clientOf } = options
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
      user_agent: shown(incoming.headers['user-agent']),
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

/** The fields of a call's line, in their order; undefined ones are left out. */
interface CallLine {
  readonly id: string
  readonly method: string | undefined
  /** The route as the gateway names it. */
  readonly path: string
  readonly action: string | undefined
  readonly status: number
  readonly ms: number
  readonly gateway_ms: number
  readonly store_ms: number | undefined
  readonly service_ms: number | undefined
  readonly service_status: number | undefined
  readonly tries: number | undefined
  readonly replayed: true | undefined
  readonly tenant: string | undefined
  readonly unknown_fields: number | undefined
  readonly notes: readonly string[] | undefined
  readonly error: string | undefined
  readonly source: string | undefined
  readonly client: string | undefined
  readonly user_agent: string | undefined
}

/** The end of the line of a call, which contains no control characters. */
export const CALL_LINE_END = ',"msg":"call"}\n'

/** Returns the line of a call as JSON: pino's own way through any object costs twice as much, for every call. */
export function callLine(line: CallLine, now: number, name: string): string {
  let text = `{"level":"info","time":${now},"name":"${name}","id":${quoted(line.id)},"method":"${line.method}","path":${quoted(line.path)}`
  if (line.action !== undefined) text += `,"action":"${line.action}"`
  text += `,"status":${line.status},"ms":${line.ms},"gateway_ms":${line.gateway_ms}`
  if (line.store_ms !== undefined) text += `,"store_ms":${line.store_ms}`
  if (line.service_ms !== undefined) text += `,"service_ms":${line.service_ms}`
  if (line.service_status !== undefined) text += `,"service_status":${line.service_status}`
  if (line.tries !== undefined) text += `,"tries":${line.tries}`
  if (line.replayed) text += ',"replayed":true'
  if (line.tenant !== undefined) text += `,"tenant":${quoted(line.tenant)}`
  if (line.unknown_fields !== undefined) text += `,"unknown_fields":${line.unknown_fields}`
  if (line.notes) text += `,"notes":${JSON.stringify(line.notes)}`
  if (line.error !== undefined) text += `,"error":"${line.error}"`
  if (line.source !== undefined) text += `,"source":${quoted(line.source)}`
  if (line.client !== undefined) text += `,"client":${quoted(line.client)}`
  if (line.user_agent !== undefined) text += `,"user_agent":${quoted(line.user_agent)}`
  return text + CALL_LINE_END
}

/** Text that JSON writes as it is. */
const AS_IT_IS = /^[\w .,:;/()*@+=-]*$/

const quoted = (text: string) => (AS_IT_IS.test(text) ? `"${text}"` : JSON.stringify(text))

/** Standard output as the destination of log lines. */
interface LogOutput extends DestinationStream {
  /** Writes what is left, and calls back; with an error if standard output takes nothing for a second. */
  readonly flush: (done: (error?: Error) => void) => void
}

interface LogOutputOptions {
  /** The tail of lines that are known to be printable. */
  readonly printableTail: string
  /** Called when standard output takes lines again, with the number of those that were dropped. */
  readonly onDropped: (lines: number) => void
}

const LINES_PER_WRITE = 256
const FLUSH_EVERY_MS = 100
/** The most bytes that wait for the reader of standard output: about 30,000 lines. */
const BACKLOG_BYTES = 8 * 1024 * 1024
const STALLED_AFTER_MS = 1_000

/**
 * Writes lines to standard output in batches: one write per line would cost as much as making the line. If the reader does
 * not keep up, lines are dropped and counted: neither calls nor memory may depend on it.
 */
export function createLogOutput({ printableTail, onDropped }: LogOutputOptions): LogOutput {
  const out = pino.destination({ sync: false })
  let lines: string[] = []
  let backlogBytes = 0
  let dropped = 0
  let wroteAt = performance.now()
  let onEmpty: (() => void) | undefined

  const writeLines = () => {
    if (lines.length === 0) return
    const text = lines.join('')
    const bytes = Buffer.byteLength(text)
    if (backlogBytes + bytes > BACKLOG_BYTES) {
      dropped += lines.length
    } else {
      if (backlogBytes === 0) wroteAt = performance.now()
      backlogBytes += bytes
      out.write(text)
    }
    lines = []
  }
  out.on('write', (bytes: number) => {
    wroteAt = performance.now()
    backlogBytes -= bytes
    if (dropped > 0 && backlogBytes < BACKLOG_BYTES / 2) {
      const count = dropped
      dropped = 0
      onDropped(count)
    }
    if (backlogBytes <= 0) onEmpty?.()
  })
  process.once('exit', () => {
    out.flushSync()
    if (lines.length === 0) return
    // A write of `out` that began now would be in the background, and never end.
    const last = pino.destination({ sync: true })
    last.write(lines.join(''))
    last.flushSync()
  })

  return {
    write: (line) => {
      if (lines.length === 0) setTimeout(writeLines, FLUSH_EVERY_MS).unref()
      // pino escapes only C0, and logs are read in terminals.
      const printable = line.endsWith(printableTail) ? line : printableLines(line)
      if (lines.push(printable) === LINES_PER_WRITE) writeLines()
    },
    flush: (done) => {
      writeLines()
      if (backlogBytes <= 0) return done()
      const end = (error?: Error) => {
        clearInterval(watch)
        onEmpty = undefined
        done(error)
      }
      const watch = setInterval(() => {
        if (performance.now() - wroteAt > STALLED_AFTER_MS) end(new Error('Standard output takes nothing.'))
      }, FLUSH_EVERY_MS)
      onEmpty = end
    },
  }
}

/**
 * Resolves when the log is written. If standard output takes nothing, it ends the process by a signal instead: the write that
 * waits would keep it alive for ever.
 */
export function endOfLog(log: Logger): Promise<void> {
  return new Promise((resolve) => {
    log.flush((error) => {
      if (error) process.kill(process.pid, 'SIGKILL')
      else resolve()
    })
  })
}
