import type { IncomingMessage } from 'node:http'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Call } from './call.ts'

export type { Logger }

/** JSON lines, written behind the caller's back; `flush` before the process ends. */
export function createLog(level: Config['LOG_LEVEL'], destination?: DestinationStream): Logger {
  const base = { name: 'transload' }
  const options = { level, base, formatters: { level: (label: string) => ({ level: label }) } }
  // A write for every line would cost a call more than all of its translation.
  const buffered = { sync: false, minLength: BUFFERED_BYTES, periodicFlush: FLUSH_EVERY_MS }
  return pino(options, destination ?? pino.destination(buffered))
}

const BUFFERED_BYTES = 16_000
const FLUSH_EVERY_MS = 100

/** Writes the one line of a call: no body, no header, no query, nothing that a caller could have put a secret into. */
export type CallLog = (call: Call, incoming: IncomingMessage, status: number) => void

/** Makes the writer of call lines. */
export function createCallLog(log: Logger): CallLog {
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
