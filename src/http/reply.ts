import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import type { Answer } from '../answer.ts'
import type { Env } from './env.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const TEXT_TYPE = 'text/plain; charset=utf-8'

/** These have no body by their status, and no length of one (RFC 9110, 8.6). */
const BODILESS = new Set([204, 304])

/** Returns the headers of a body. An empty one is no JSON, and has only the type that it came with. */
function bodyHeaders(status: number, body: Answer['body']) {
  const bytes = Buffer.byteLength(body)
  if (bytes > 0) return { 'Content-Type': JSON_TYPE, 'Content-Length': bytes }
  return BODILESS.has(status) ? undefined : { 'Content-Length': 0 }
}

/** Writes an answer; its own headers win over `more`. */
export function reply(c: Context<Env>, { status, headers, body }: Answer, more?: Answer['headers']): Response {
  c.env.outgoing
    .writeHead(status, {
      ...bodyHeaders(status, body),
      'X-Request-Id': c.env.call.id,
      ...more,
      ...headers,
    })
    .end(body)
  return RESPONSE_ALREADY_SENT
}

/** Writes indented JSON. It may be long, and its reader slow. */
export function replyReadably(c: Context<Env>, value: object): Response {
  const body = `${JSON.stringify(value, null, 2)}\n`
  c.env.call.share.holdAnswer(Buffer.byteLength(body))
  return reply(c, { status: 200, headers: {}, body })
}
