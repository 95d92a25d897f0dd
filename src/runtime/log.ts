import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../language/config/config.ts'
import { GatewayError } from '../language/errors.ts'
import { printableLines } from '../language/text/service-text.ts'

export type { Logger }

/** How log lines look: JSON for programs, or lines for people. */
type LogFormat = 'json' | 'text'

/** Returns the log format. The default is lines for people on a terminal, where people look, and JSON elsewhere. */
export const logFormat = ({ LOG_FORMAT: format }: Config): LogFormat =>
  format === 'auto' ? (process.stdout.isTTY ? 'text' : 'json') : format

/** Makes a logger. It writes in the background, so call `flush` before the process ends. */
export function createLog(
  level: Config['LOG_LEVEL'],
  destination?: DestinationStream,
  format: LogFormat = 'json',
): Logger {
  const base = { name: NAME }
  const options = { level, base, formatters: { level: (label: string) => ({ level: label }) }, serializers: { err } }
  if (destination) return pino(options, destination)
  const onDropped = (lines: number) =>
    log.warn({ lines }, 'log lines were dropped, because standard output was blocked')
  const log = pino(options, createLogOutput(format, onDropped))
  return log
}

/** Shows an error. The message of a gateway's error may quote the service, which may name a person, so its name stands for it. */
const err = (error: unknown) =>
  error instanceof GatewayError
    ? { type: error.name, message: error.about, status: error.serviceStatus }
    : pino.stdSerializers.err(error as Error)

/** Formats a log line for people: the time, what happened, and the rest as `name=value`. */
export function lineForPeople(line: string): string {
  const { time, level, name: _, pid: __, msg, err, ...rest }: Readonly<Record<string, unknown>> = JSON.parse(line)
  const at = new Date(Number(time)).toISOString().slice('yyyy-mm-ddT'.length, -1)
  const said = Object(err).message
  const { method, path, status, action, ms, error, id, tenant, ...more } = rest
  const isCall = msg === 'call' || msg === 'call failed'
  const words = isCall
    ? [status, method, path, action, `${ms} ms`, error, tenant, id]
    : [level === 'info' ? '' : String(level).toUpperCase(), msg, said, ...Object.entries({ ...rest }).map(pair)]
  const shown = isCall && level !== 'info' ? [...words, said, ...Object.entries(more).map(pair)] : words
  return `${[at, ...shown].filter((word) => word !== undefined && word !== '').join('  ')}\n`
}

const pair = ([name, value]: readonly [string, unknown]) =>
  `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`

/** The program's name in every line. */
export const NAME = 'transload'

/** The end of a call's line, which contains no control characters. */
export const CALL_LINE_END = ',"msg":"call"}\n'

/** Standard output as the destination of log lines. */
interface LogOutput extends DestinationStream {
  /** Writes what is left, then calls back, with an error if standard output accepts nothing for a second. */
  readonly flush: (done: (error?: Error) => void) => void
}

const LINES_PER_WRITE = 256
const FLUSH_EVERY_MS = 100
/** The most bytes that may wait for the reader of standard output: about 30,000 lines. */
const BACKLOG_BYTES = 8 * 1024 * 1024
const STALLED_AFTER_MS = 1_000

/**
 * Writes lines to standard output in batches, because one write per line would cost as much as making the line. If the reader does not keep
 * up, lines are dropped and counted: neither calls nor memory may depend on it.
 */
function createLogOutput(
  format: LogFormat,
  /** Called when standard output accepts lines again, with the number of dropped ones. */
  onDropped: (lines: number) => void,
): LogOutput {
  const out = pino.destination({ sync: false })
  let lines: string[] = []
  let backlogBytes = 0
  let dropped = 0
  let wroteAt = performance.now()
  let onEmpty: (() => void) | undefined
  let isFailing = false
  const { flushSync } = out
  // It would retry forever: nothing else could happen meanwhile, and the process would never end.
  out.flushSync = () => isFailing || flushSync.call(out)

  const writeLines = () => {
    if (lines.length === 0) return
    const text = lines.join('')
    const bytes = Buffer.byteLength(text)
    if (backlogBytes + bytes > BACKLOG_BYTES) {
      dropped += lines.length
      // This retries what a full disk refused.
      out.write('')
    } else {
      if (backlogBytes === 0) wroteAt = performance.now()
      backlogBytes += bytes
      out.write(text)
    }
    lines = []
  }
  // The disk is full, or the reader has closed its pipe. The next write tries again.
  out.on('error', () => {
    isFailing = true
    onEmpty?.()
  })
  out.on('write', (bytes: number) => {
    isFailing = false
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
    // A write that `out` began now would run in the background and never end.
    const last = pino.destination({ sync: true })
    last.write(lines.join(''))
    last.flushSync()
  })

  return {
    write: (line) => {
      if (lines.length === 0) setTimeout(writeLines, FLUSH_EVERY_MS).unref()
      // pino escapes only C0, and logs are read in terminals.
      const printable = line.endsWith(CALL_LINE_END) ? line : printableLines(line)
      if (lines.push(format === 'text' ? printableLines(lineForPeople(line)) : printable) === LINES_PER_WRITE)
        writeLines()
    },
    flush: (done) => {
      writeLines()
      if (backlogBytes <= 0 || isFailing) return done()
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
 * Resolves when the log is written. If standard output accepts nothing, it ends the process by a signal instead, because the waiting write
 * would keep it alive forever.
 */
export function endOfLog(log: Logger): Promise<void> {
  return new Promise((resolve) => {
    log.flush((error) => {
      if (error) process.kill(process.pid, 'SIGKILL')
      else resolve()
    })
  })
}
