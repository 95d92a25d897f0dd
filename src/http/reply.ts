import type { Context } from 'hono'
import type { Env } from '../observe/call.ts'
import { type Answer, JSON_TYPE } from './answers.ts'

/** Writes an answer with all its headers at once: adding one later would make Hono build a Headers object. */
export function reply(c: Context<Env>, { status, headers, body }: Answer): Response {
  return new Response(body, {
    status,
    headers: { 'Content-Type': JSON_TYPE, 'X-Request-Id': c.var.call.id, ...headers },
  })
}

/** Writes an answer for people to read. It may be long, and its reader slow. */
export function pretty(c: Context<Env>, value: object): Response {
  const body = `${JSON.stringify(value, null, 2)}\n`
  c.var.call.share.holdAnswer(Buffer.byteLength(body))
  return reply(c, { status: 200, headers: {}, body })
}
