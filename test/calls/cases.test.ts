import { describe, expect, test } from 'vitest'
import { translationSettings } from '../../src/config/translation-settings.ts'
import { explainRequestTranslation } from '../../src/mapping/explain.ts'
import type { Explanation } from '../../src/mapping/request-run.ts'
import { parseJson } from '../../src/text/json.ts'
import { actionOf, type Case, caseFiles, configOf, legacyCall, readCase, translate } from '../cases/read.ts'
import { type Answered, get, post, startGateway, type TestGateway } from '../gateway.ts'

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

/** Cases with a status are refused before or after the translation. */
const isTranslated = ({ request, status, replies, missing }: Case) =>
  (request !== undefined && status === undefined) || replies !== undefined || missing !== undefined

describe('translated by the catalog alone', () => {
  const cases = files.map(({ name, action, text }) => [name, action, readCase(text)] as const)
  test.each(cases.filter(([_name, _action, one]) => isTranslated(one)))('%s', (_name, action, one) => {
    if (one.request !== undefined && one.status === undefined) checkRequest(one, action, one.request)
    checkReply(one, action)
  })
})

function checkRequest(one: Case, action: string, request: NonNullable<Case['request']>): void {
  const compiled = actionOf(action)
  const { endpoint } = legacyCall(compiled, request, one.path)
  const name = typeof request === 'string' ? undefined : request['ActionName']
  expect(endpoint.choose(typeof name === 'string' ? name : undefined)).toMatchObject({ action: { name: action } })

  const { outgoing, explanations, problems, fields, facts } = translate(one, compiled, request)
  const account = explainRequestTranslation(compiled, fields, translationSettings(configOf(one)), facts)
  if (one.problems) {
    expect(problems).toHaveLength(one.problems.length)
    expect(problems).toMatchObject(one.problems)
  } else {
    expect(problems).toEqual([])
  }
  if (one.sends) {
    expect({ method: outgoing.method, path: outgoing.path, ...bodyOf(outgoing.body) }).toStrictEqual(one.sends)
  }
  if (one.notes) expect(explanations.filter(remarked).map(({ to }) => to)).toEqual(one.notes.map(({ to }) => to))
  for (const { to, ...remarks } of one.notes ?? []) {
    const said = Object.entries(remarks).map(([kind, text]) => [kind, text === true ? expect.any(String) : text])
    const { loss, assumed, warning } = explanations.find((row) => row.to === to) ?? {}
    const spoken = { ...(loss && { loss }), ...(assumed && { assumed }), ...(warning && { warning }) }
    expect({ to, ...spoken }).toEqual({ to, ...Object.fromEntries(said) })
  }
  if (one.remembered) {
    expect(explanations.filter(({ origin }) => origin === 'quote').map(({ to }) => to)).toEqual(one.remembered)
  }
  if (one.unused) expect(account.unused.map(({ field }) => field).sort()).toEqual([...one.unused].sort())
  if (one.unknown) expect(account.unknown).toEqual(one.unknown)
}

const remarked = ({ loss, assumed, warning }: Explanation) =>
  [loss, assumed, warning].some((said) => said !== undefined)

/** A body as the service reads it; a request without one has no such key. */
function bodyOf(text: string | undefined): { readonly body?: unknown } {
  return text === undefined ? {} : { body: parseJson(text) }
}

function checkReply(one: Case, action: string): void {
  if (!one.replies && !one.missing) return
  const compiled = actionOf(action)
  const own = one.request === undefined ? undefined : translate(one, compiled, one.request).own
  const { reply, missing } = compiled.reply(one.service ?? undefined, {
    settings: translationSettings(configOf(one)),
    own,
  })
  expect(missing).toEqual(one.missing ?? [])
  if (one.replies) expect(reply).toStrictEqual(one.replies)
}

describe('played over HTTP', () => {
  test.each(files.map(({ name, action, text }) => [name, action, text] as const))('%s', async (_name, action, text) => {
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
    const answer = await call(gateway, action, one.request, one.path)
    const received = gateway.sandbox.requests.slice(before)

    expect(answer.status).toBe(one.status ?? (one.problems ? 422 : one.missing ? 502 : 200))
    for (const words of [...(one.says ?? []), ...(one.missing ?? [])]) expect(answer.json.Message).toContain(words)
    if (one.problems) {
      for (const { field } of one.problems) expect(answer.json.Message).toContain(field)
      expect(received).toEqual([])
    }
    if (one.sends) {
      // A cancellation is confirmed by a read.
      const last = received.findLast((request) => request.method === one.sends?.method)
      const { method, path, body } = translate(one, actionOf(action), one.request).outgoing
      expect({ method: last?.method, path: last?.path, body: last?.body }).toEqual({ method, path, body: body ?? '' })
      expect({ method, path, ...bodyOf(last?.body || undefined) }).toStrictEqual(one.sends)
      expect(received).toHaveLength(one.current || last?.method === 'DELETE' ? 2 : 1)
    }
    if (one.replies) expect(answer.json).toStrictEqual(one.replies)
  })
})

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
