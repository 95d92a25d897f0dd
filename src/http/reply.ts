import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import type { Answer } from '../answer.ts'
import type { Env } from './env.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'
export const TEXT_TYPE = 'text/plain; charset=utf-8'

/** Writes an answer; its own headers win over `more`. */
export function reply(c: Context<Env>, { status, headers, body }: Answer, more?: Answer['headers']): Response {
  c.env.outgoing
    .writeHead(status, {
      'Content-Type': JSON_TYPE,
      'Content-Length': Buffer.byteLength(body),
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
