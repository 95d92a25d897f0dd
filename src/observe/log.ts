import type { IncomingMessage } from 'node:http'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { Config } from '../config/config.ts'
import type { Call } from './call.ts'

export type { Logger }

/** JSON lines, written behind the caller's back; `flush` before the process ends. */
export function createLog(level: Config['LOG_LEVEL'], destination?: DestinationStream): Logger {
  const base = { name: 'transload' }
  const options = { level, base, formatters: { level: (label: string) => ({ level: label }) } }
  return pino(options, destination ?? batched())
}

const LINES_AT_ONCE = 256
const FLUSH_EVERY_MS = 100

/** Standard output, many lines at a time: to hand over each would cost a call as much as to make it. */
function batched(): DestinationStream & { readonly flush: (done: () => void) => void } {
  const out = pino.destination({ sync: false })
  let lines: string[] = []
  const handOver = () => {
    if (lines.length > 0) out.write(lines.join(''))
    lines = []
  }
  process.once('exit', () => {
    handOver()
    out.flushSync()
  })
  return {
    write: (line) => {
      if (lines.length === 0) setTimeout(handOver, FLUSH_EVERY_MS).unref()
      if (lines.push(line) === LINES_AT_ONCE) handOver()
    },
    flush: (done) => {
      handOver()
      out.flush(done)
    },
  }
}

/** Writes the one line of a call: no body, no header, no query, nothing that a caller could have put a secret into. */
export type CallLog = (call: Call, incoming: IncomingMessage, status: number) => void

/** Where a call comes from, and the client id that it names. */
export type Origin = (incoming: IncomingMessage) => { readonly source: string; readonly client: string | undefined }

const UNAUTHORIZED = 401

/** Makes the writer of call lines; only the line of a refused credential tells where the call came from. */
export function createCallLog(log: Logger, originOf: Origin): CallLog {
  return (call, incoming, status) => {
    const line = {
      id: call.id,
      method: incoming.method,
      path: call.route,
      action: call.action,
      status,
      ms: Math.round((performance.now() - call.startedAt) * 10) / 10,
      tenant: plain(call.tenant),
      unknown_fields: call.unknownFields || undefined,
      error: call.error,
    }
    if (call.unauthorized || status === UNAUTHORIZED) {
      const { source, client } = originOf(incoming)
      log.info({ ...line, source, client: plain(client) }, 'call')
    } else if (call.cause === undefined) log.info(line, 'call')
    else log.error({ ...line, err: call.cause }, 'call failed')
  }
}

const ID_LIMIT_CHARACTERS = 64
const PLAIN = /^[\x20-\x7e]*$/

/** An id that callers choose, bounded and without anything that a terminal obeys. */
function plain(id: string | undefined): string | undefined {
  if (id === undefined || (id.length <= ID_LIMIT_CHARACTERS && PLAIN.test(id))) return id
  return id.slice(0, ID_LIMIT_CHARACTERS).replace(/[^\x20-\x7e]/g, '?')
}
