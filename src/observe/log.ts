import type { IncomingMessage } from 'node:http'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Call } from './call.ts'

export type { Logger }

/** Makes a logger of JSON lines. It writes in the background: call `flush` before the process ends. */
export function createLog(level: Config['LOG_LEVEL'], destination?: DestinationStream): Logger {
  const base = { name: 'transload' }
  const options = { level, base, formatters: { level: (label: string) => ({ level: label }) } }
  return pino(options, destination ?? batched())
}

const LINES_PER_WRITE = 256
const FLUSH_EVERY_MS = 100

/** Writes many lines at a time to standard output: writing each by itself would cost a call as much as making it. */
function batched(): DestinationStream & { readonly flush: (done: () => void) => void } {
  const out = pino.destination({ sync: false })
  let lines: string[] = []
  const writeLines = () => {
    if (lines.length > 0) out.write(lines.join(''))
    lines = []
  }
  process.once('exit', () => {
    writeLines()
    out.flushSync()
  })
  return {
    write: (line) => {
      if (lines.length === 0) setTimeout(writeLines, FLUSH_EVERY_MS).unref()
      if (lines.push(line) === LINES_PER_WRITE) writeLines()
    },
    flush: (done) => {
      writeLines()
      out.flush(done)
    },
  }
}

/** Logs the one line of a call, without anything that may hold a secret of the caller: no body, header or query. */
export type LogCall = (call: Call, incoming: IncomingMessage, status: number) => void

/** Makes the function that logs calls. */
export function createLogCall(log: Logger): LogCall {
  return (call, incoming, status) => {
    const line = {
      id: call.id,
      method: incoming.method,
      path: call.route,
      action: call.action,
      status,
      ms: Math.round((performance.now() - call.startedAt) * 10) / 10,
      tenant: call.tenant,
      unknown_fields: call.unknownFields || undefined,
      error: call.error,
    }
    if (call.cause === undefined) log.info(line, 'call')
    else log.error({ ...line, err: call.cause }, 'call failed')
  }
}
