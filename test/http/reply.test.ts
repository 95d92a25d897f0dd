/** Promise: an answer has its headers and the length of its bytes (contract, section 9). */

import type { Context } from 'hono'
import { expect, test } from 'vitest'
import { JSON_TYPE, reply, replyReadably } from '../../src/http/answers.ts'
import type { Env } from '../../src/http/middleware.ts'

/** A context that keeps what is written to the caller; nothing else of it is used. */
function context() {
  const events: unknown[] = []
  const outgoing = {
    writeHead: (status: number, headers: object) => {
      events.push(status, headers)
      return outgoing
    },
    end: (body: unknown) => events.push(body),
  }
  const share = { holdAnswer: (bytes: number) => events.push(`hold ${bytes}`) }
  return { c: { env: { outgoing, call: { id: 'id-1', share } } } as unknown as Context<Env>, events }
}
const HEADERS = { 'Content-Type': JSON_TYPE, 'X-Request-Id': 'id-1' }

test('an answer has its own headers before others, and the length of its bytes', () => {
  const { c, events } = context()
  reply(c, { status: 201, headers: { A: 'own', 'Content-Type': 'text/x' }, body: 'é' }, { A: 'other', B: 'other' })
  expect(events).toEqual([
    201,
    { ...HEADERS, 'Content-Length': 2, 'Content-Type': 'text/x', A: 'own', B: 'other' },
    'é',
  ])
})

test('readable JSON is indented, and holds the memory of its bytes', () => {
  const { c, events } = context()
  replyReadably(c, { a: 'é' })
  const body = '{\n  "a": "é"\n}\n'
  const length = Buffer.byteLength(body)
  expect(events).toEqual([`hold ${length}`, 200, { ...HEADERS, 'Content-Length': length }, body])
})
