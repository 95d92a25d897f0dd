import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import type { DemoReply } from '../../src/labs/demo/service.ts'

/** The faults that the stand-in can make. */
type Kinds =
  /** Any answer. The request is carried out only with `process`. */
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: string | object; process?: boolean }
  /** The connection is reset when the request's headers have arrived; nothing is carried out. */
  | { kind: 'reset-before' }
  /** The request is carried out; then the connection is reset without an answer. */
  | { kind: 'reset-after' }
  /** Carried out; half of the answer is sent, then the connection is closed. */
  | { kind: 'reset-mid-body' }
  /** Carried out and never answered. */
  | { kind: 'timeout' }
  /** Neither carried out nor answered. */
  | { kind: 'timeout-unprocessed' }
  /** Carried out at once, answered later. */
  | { kind: 'delay'; ms: number }
  /** The body is sent one byte every `ms`. */
  | { kind: 'drip'; ms: number }
  /** `Content-Length` is off by this many bytes. @default 10 too many */
  | { kind: 'wrong-length'; by?: number }
  /** Carried out; the answer is a page instead of JSON. */
  | { kind: 'not-json' }
  /** Carried out; the answer's body is this text, of any form. */
  | { kind: 'body'; body: string }
  /**
   * The request is carried out, or with `process` false, only a read of its target. `change` then alters the answer's status and body;
   * without it, a status and members of the body are replaced.
   */
  | { kind: 'change'; change?: (answer: Answer) => Answer; status?: number; body?: object; process?: boolean }
  /** Carried out; every text of the answer, except ids, statuses and types, ends in control characters and half a character. */
  | { kind: 'strange-strings' }
  /** Carried out; the answer has one more member, nested this many levels deep. */
  | { kind: 'deep'; levels: number }
  /** The answer is compressed even if not requested, and grows by this many megabytes when inflated. @default 0 */
  | { kind: 'gzip'; megabytes?: number }
  /** The answer is in Latin-1, and one member needs it. */
  | { kind: 'latin1' }
  /** The answer is larger by this many megabytes. */
  | { kind: 'huge'; megabytes: number }

/** An answer with any bytes as its body. */
export interface Answer {
  readonly status: number
  readonly body: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** A fault, the requests that it applies to, and how often. */
export type Fault = Kinds & {
  /** All requests by default. A path is exact, or a prefix if it ends in `*`; the query is ignored. */
  on?: { method?: string; path?: string | RegExp }
  /** The number of these requests. @default 1 */
  times?: number | 'always'
  /** The service starts to handle the request this much later. @default 0 */
  lateMs?: number
  /** The service starts to handle the request after this. */
  after?: Promise<unknown>
}

/** Makes an empty queue of pending faults, in the order in which they are added. */
export function faultQueue() {
  const queue: { fault: Fault; left: number }[] = []
  return {
    add(...faults: readonly Fault[]): void {
      for (const fault of faults) {
        const left = fault.times === 'always' ? Number.POSITIVE_INFINITY : (fault.times ?? 1)
        queue.push({ fault, left })
      }
    },
    clear(): void {
      queue.length = 0
    },
    /** Takes the first fault that applies to this request. */
    take(method: string, path: string): Fault | undefined {
      const at = queue.findIndex(({ fault }) => meets(fault, method, path))
      const entry = queue[at]
      if (!entry) return undefined
      entry.left -= 1
      if (entry.left === 0) queue.splice(at, 1)
      return entry.fault
    },
  }
}

function meets({ on }: Fault, method: string, path: string): boolean {
  if (on?.method !== undefined && on.method.toUpperCase() !== method) return false
  if (on?.path === undefined) return true
  // search() begins at the start even with a sticky or global expression.
  if (on.path instanceof RegExp) return path.search(on.path) >= 0
  return on.path.endsWith('*') ? path.startsWith(on.path.slice(0, -1)) : path === on.path
}

const MEGABYTE = 1024 * 1024
const DEFAULT_WRONG_BY_BYTES = 10
const PAGE = '<!doctype html><title>Service</title><h1>It works!</h1>'

/** Sends an answer without a fault. */
export function send(response: ServerResponse, { status, headers, body }: DemoReply): void {
  sendText(response, status, JSON.stringify(body), headers)
}

/** Sends an answer with a fault. The reply is undefined if and only if the fault keeps the request from being carried out. */
export async function sendFaulty(
  response: ServerResponse,
  fault: Fault,
  reply: DemoReply | undefined,
  closing: AbortSignal,
): Promise<void> {
  if (fault.kind === 'status') return sendText(response, fault.status, ...contentOf(fault))
  if (fault.kind === 'reset-before') return reset(response)
  // Neither carried out nor answered: the connection stays open until the client gives up.
  if (!reply) return
  // Taken now, so that a delayed answer shows the state when the request was carried out.
  const text = JSON.stringify(reply.body)
  const { status } = reply
  const headers = { 'content-type': 'application/json', ...reply.headers }
  const whole = (content: string | Buffer, more: Readonly<Record<string, string>> = {}) =>
    sendText(response, status, content, { ...headers, ...more })
  switch (fault.kind) {
    case 'timeout':
    case 'timeout-unprocessed':
      return
    case 'reset-after':
      return reset(response)
    case 'reset-mid-body':
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) })
      return void response.write(half(text), () => response.socket?.destroy())
    case 'delay':
      await pause(fault.ms, undefined, { signal: closing })
      return whole(text)
    case 'drip':
      response.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(text) })
      return drip(response, Buffer.from(text), fault.ms, closing)
    case 'wrong-length': {
      const by = fault.by ?? DEFAULT_WRONG_BY_BYTES
      response.writeHead(status, { ...headers, 'content-length': Math.max(0, Buffer.byteLength(text) + by) })
      return void response.end(text, () => by > 0 && response.socket?.destroy())
    }
    case 'not-json':
      return whole(PAGE, { 'content-type': 'text/html; charset=utf-8' })
    case 'gzip':
      return whole(gzipSync(padded(reply, fault.megabytes)), { 'content-encoding': 'gzip' })
    case 'body':
      return whole(fault.body)
    case 'change': {
      const { change = (own) => ({ ...own, body: JSON.stringify({ ...reply.body, ...fault.body }) }) } = fault
      const changed = change({ status: fault.status ?? status, body: text })
      return sendText(response, changed.status, changed.body, { ...headers, ...changed.headers })
    }
    case 'strange-strings':
      return whole(JSON.stringify(reply.body, strange))
    case 'deep':
      return whole(`${text.slice(0, -1)},"deep":${nested(fault.levels)}}`)
    case 'latin1':
      return whole(Buffer.from(JSON.stringify({ ...reply.body, note: 'Déjà reçu à Orléans' }), 'latin1'))
    case 'huge':
      return whole(padded(reply, fault.megabytes))
    default:
      fault satisfies never
  }
}

function sendText(
  response: ServerResponse,
  status: number,
  text: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  const length = Buffer.byteLength(text)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers })
  response.end(text)
}

function contentOf(fault: Extract<Fault, { kind: 'status' }>): [string, Readonly<Record<string, string>>] {
  const { body = fault.status === 204 ? '' : { error: { message: `A fault of status ${fault.status}` } }, headers } =
    fault
  if (typeof body !== 'string') return [JSON.stringify(body), { ...headers }]
  const type = body.trimStart().startsWith('<') ? 'text/html' : 'text/plain'
  return [body, { 'content-type': `${type}; charset=utf-8`, ...headers }]
}

function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy()
}

function half(text: string): string {
  return text.slice(0, Math.floor(text.length / 2))
}

/** A line end, an escape sequence, a direction override, a NUL and half a character. */
const STRANGE = '\r\n\x1b[31m\u2028\u202e\0\ud83d'

/** Members whose values are compared, not shown. */
const COMPARED: ReadonlySet<string> = new Set(['id', 'shipment_id', 'quote_id', 'status', 'type', 'transport_type'])

function strange(name: string, value: unknown): unknown {
  return typeof value === 'string' && !COMPARED.has(name) ? value + STRANGE : value
}

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels)
}

async function drip(response: ServerResponse, bytes: Buffer, ms: number, closing: AbortSignal): Promise<void> {
  for (let at = 0; at < bytes.length && !response.destroyed; at += 1) {
    response.write(bytes.subarray(at, at + 1))
    await pause(ms, undefined, { signal: closing })
  }
  response.end()
}

const padded = ({ body }: DemoReply, megabytes = 0) =>
  JSON.stringify({ ...body, padding: 'x'.repeat(megabytes * MEGABYTE) })
