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

/** What people read is written for reading. */
export function pretty(c: Context<Env>, body: object): Response {
  return reply(c, { status: 200, headers: {}, body: `${JSON.stringify(body, null, 2)}\n` })
}
