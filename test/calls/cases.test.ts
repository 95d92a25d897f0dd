/** Promise: every case file is answered as it says (contract, section 3). */

import { describe, expect, test } from 'vitest'
import { bodyOf, checkCase, isTranslated } from '../cases/check.ts'
import { actionOf, type Case, caseFiles, legacyCall, readCase, translate } from '../cases/read.ts'
import { type Answered, get, post, startGateway, type TestGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'

const files = caseFiles()

test('a case with an unknown key, or one that checks nothing, is refused', () => {
  expect(() => readCase('{"about":"a","request":{},"send":{}}')).toThrow(/send/)
  expect(() => readCase('{"about":"a","request":{}}')).toThrow(/checks nothing/)
  expect(() => readCase('{"about":"a","replies":{}}')).toThrow(/neither a request nor a reply/)
  expect(readCase('{"about":"a","request":{},"unknown":[]}').unknown).toEqual([])
})

test('there are cases for every action', () => {
  expect([...new Set(files.map(({ action }) => action))].sort()).toEqual([
    'quote.approve',
    'quote.get',
    'quote.update',
    'shipment.cancel',
    'shipment.create',
    'shipment.get',
    'shipment.update',
  ])
})

describe('translated by the catalog alone', () => {
  const cases = files.map(({ name, action, text }) => [name, action, readCase(text)] as const)
  test.each(cases.filter(([_name, _action, one]) => isTranslated(one)))('%s', (_name, action, one) => {
    checkCase(one, action)
  })
})

/** Cases of the translation alone: with the shipment at hand, an update writes less. */
const WRITES_LESS = new Set([
  // Blank fields alone are refused: nothing was asked for.
  'shipment.update/blank-fields-change-nothing',
  // The name of a place that is not that of the person stays.
  'shipment.update/every-documented-field',
])

describe('played over HTTP', () => {
  const played = files.filter(({ name }) => !WRITES_LESS.has(name))
  test.each(played.map(({ name, action, text }) => [name, action, text] as const))(
    '%s',
    async (_name, action, text) => {
      const one = readCase(text)
      const gateway = await startGateway({ env: { ...one.settings } })
      if (one.request === undefined) return checkReplyOverHttp(gateway, one, action)
      for (const { action: name, request, service } of one.earlier ?? []) {
        gateway.sandbox.fail({ kind: 'status', status: 200, body: service })
        expect((await call(gateway, name, request)).status).toBe(200)
      }
      const before = gateway.sandbox.requests.length
      if (one.current) gateway.sandbox.fail({ kind: 'status', status: 200, body: one.current })
      if (one.service === null) gateway.sandbox.fail({ kind: 'status', status: 204 })
      else if (one.sends) gateway.sandbox.fail({ kind: 'status', status: 200, body: bodyToAnswer(one, action) })
      gateway.sandbox.fail(...(shownAfter[action] ?? []))
      const answer = await call(gateway, action, one.request, one.path)
      const received = gateway.sandbox.requests.slice(before)

      expect(answer.status).toBe(one.status ?? (one.problems ? 422 : one.missing ? 502 : 200))
      for (const words of [...(one.says ?? []), ...(one.missing ?? [])]) expect(answer.json.Message).toContain(words)
      if (one.problems) {
        for (const { field } of one.problems) expect(answer.json.Message).toContain(field)
        // The shipment of an update may show such a value: it is read.
        expect(received.filter(({ method }) => method !== 'GET')).toEqual([])
      }
      if (one.sends) {
        // A cancellation is confirmed by a read.
        const last = received.findLast((request) => request.method === one.sends?.method)
        const { method, path, body } = translate(one, actionOf(action), one.request).outgoing
        expect({ method: last?.method, path: last?.path, body: last?.body }).toEqual({ method, path, body: body ?? '' })
        expect({ method, path, ...bodyOf(last?.body || undefined) }).toStrictEqual(one.sends)
        expect(received).toHaveLength(one.current || shownAfter[action] ? 2 : 1)
      }
      if (one.replies) expect(answer.json).toStrictEqual(one.replies)
    },
  )
})

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const shown = (body: object): Fault => ({ kind: 'status', status: 200, body, on: { method: 'GET' } })

/** What the service shows where its reply alone proves nothing. */
const shownAfter: Readonly<Record<string, readonly Fault[]>> = {
  'quote.approve': [shown({ id: ID, status: 'new' })],
  'shipment.cancel': [shown({ id: ID, status: 'canceled' })],
}

function call(
  gateway: TestGateway,
  action: string,
  request: NonNullable<Case['request']>,
  to?: string,
): Promise<Answered> {
  const { path, body } = legacyCall(actionOf(action), request, to)
  return body === undefined ? get(gateway, path) : post(gateway, path, body)
}

/** The service's answer of a case; an action's own example where a case is about the request alone. */
function bodyToAnswer(one: Case, action: string): Record<string, unknown> {
  return (one.service ?? actionOf(action).action.example.reply) as Record<string, unknown>
}

async function checkReplyOverHttp(gateway: TestGateway, one: Case, action: string): Promise<void> {
  const { status, json } = await post(gateway, `/dry-run/reply/${action}`, JSON.stringify(one.service))
  expect(status).toBe(200)
  expect(json.ok).toBe(one.missing === undefined)
  if (one.replies) expect(json.reply.v1).toStrictEqual(one.replies)
  if (one.missing) expect(json.problems.map(({ field }: { readonly field: string }) => field)).toEqual(one.missing)
  expect(gateway.sandbox.requests).toEqual([])
}
