/** Promise: every case file is answered and explained as it says (contract, sections 3 and 8). */

import { expect, test } from 'vitest'
import { actions } from '../../mappings/index.ts'
import { fieldsOf } from '../../src/language/mapping/row-parts.ts'
import { parseJson } from '../../src/language/text/json.ts'
import { type Case, caseFiles, readCase } from '../cases/read.ts'
import { get, OWN, post, startGateway, type TestGateway, type WholeAnswer } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'

const files = caseFiles()

test('a case with an unknown key, or one that checks nothing, is refused', () => {
  expect(() => readCase('{"about":"a","request":{},"send":{}}')).toThrow(/send/)
  expect(() => readCase('{"about":"a","request":{}}')).toThrow(/checks nothing/)
  expect(() => readCase('{"about":"a","replies":{}}')).toThrow(/neither a request nor a reply/)
  expect(readCase('{"about":"a","request":{},"unknown":[]}').unknown).toEqual([])
})

test('there are cases for every action', () => {
  expect(new Set(files.map(({ action }) => action))).toEqual(new Set(actions.map(({ name }) => name)))
})

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const shown = (body: object): Fault => ({ kind: 'status', status: 200, body, on: { method: 'GET' } })

/** The service's later replies, where its reply alone proves nothing. */
const shownAfter: Readonly<Record<string, readonly Fault[]>> = {
  'quote.approve': [shown({ id: ID, status: 'new' })],
  'shipment.cancel': [shown({ id: ID, status: 'canceled' })],
}

/** Cases that concern only the translation: with the shipment at hand, an update writes less. */
const WITH_THE_SHIPMENT: Readonly<Record<string, (text: string) => Case>> = {
  // A call with only blank fields is refused, because it asks for nothing.
  'shipment.update/blank-fields-change-nothing': (text) => {
    const { sends: _, ...one } = readCase(text)
    const problems = ['DeliveryCity', 'DeliveryZip', 'PickupName'].map((field) => ({ field, code: 'blank' }))
    return { ...one, problems }
  },
  // The name of a place stays if it is not the person's name.
  'shipment.update/every-documented-field': (text) =>
    readCase(text.replace('"location_name": "Example Motors"', '"location_name": "Lot 7"')),
}

const actionOf = (name: string) => actions.find((action) => action.name === name) ?? expect.fail(`no action ${name}`)

type CaseRequest = NonNullable<Case['request']>

/** A read has every field; a case lists those that are not blank. */
const READ = Object.fromEntries(
  actionOf('shipment.get')
    .reply.flatMap(fieldsOf)
    .map((field) => [field, field === 'Message' ? expect.any(String) : '']),
)
const repliesOf = ({ replies }: Case, action: string) => (action === 'shipment.get' ? { ...READ, ...replies } : replies)

/** Makes the call of a case, or tries it in a dry run. */
function call(gateway: TestGateway, name: string, sent: CaseRequest, path?: string, prefix = ''): Promise<WholeAnswer> {
  const { paths, method } = actionOf(name).legacy
  const to = prefix + (path ?? paths[0])
  if (method === 'POST') return post(gateway, to, sent)
  return get(gateway, `${to}?${typeof sent === 'string' ? sent : new URLSearchParams(sent as Record<string, string>)}`)
}

test.each(files.map(({ name, action, text }) => [name, action, text]))('%s', async (name, action, text) => {
  const one = (WITH_THE_SHIPMENT[name] ?? readCase)(text)
  const gateway = await startGateway({ env: { ...OWN, ...one.settings } })
  if (one.request === undefined || one.missing) await checkReply(gateway, one, action)
  if (one.request === undefined) return
  for (const { action: earlier, request, service } of one.earlier ?? []) {
    gateway.sandbox.fail({ kind: 'status', status: 200, body: service })
    expect((await call(gateway, earlier, request)).status).toBe(200)
  }
  // Cases with a status are refused before or after the translation.
  if (one.status === undefined) {
    checkExplanation(one, action, await call(gateway, action, one.request, one.path, '/dry-run'))
  }
  await checkCall(gateway, one, action, one.request)
})

function checkExplanation(one: Case, action: string, { json, text }: WholeAnswer): void {
  expect(json).toMatchObject({ action, ok: !one.problems, problems: one.problems ?? [] })
  expect(json.problems).toHaveLength(one.problems?.length ?? 0)
  // An update is merged into the shipment, which a dry run does not read.
  if (one.sends && action !== 'shipment.update') {
    const { path, ...sent } = one.sends
    expect(parseJson(text)).toHaveProperty('request', expect.objectContaining(sent))
    // An id that only the service knows is in braces.
    if (one.earlier || !json.request.url.includes('{')) expect(json.request.url.slice(-path.length)).toBe(path)
  }
  const fields: Record<string, string>[] = json.fields
  if (one.notes) {
    const noted = fields.map(({ to, loss, assumed, warning }) => ({ to, loss, assumed, warning }))
    const said = one.notes.map(({ to, ...remarks }) => ({
      to,
      ...Object.fromEntries(
        Object.entries(remarks).map(([kind, text]) => [kind, text === true ? expect.any(String) : text]),
      ),
    }))
    expect(noted.filter(({ loss, assumed, warning }) => loss ?? assumed ?? warning)).toEqual(said)
  }
  if (one.remembered) {
    expect(fields.filter(({ origin }) => origin === 'quote').map(({ to }) => to)).toEqual(one.remembered)
  }
  if (one.unused) {
    expect(json.unused.map(({ field }: { readonly field: string }) => field).sort()).toEqual([...one.unused].sort())
  }
  if (one.unknown) expect(json.unknown).toEqual(one.unknown)
}

async function checkCall(gateway: TestGateway, one: Case, action: string, sent: CaseRequest): Promise<void> {
  const { sandbox } = gateway
  const before = sandbox.requests.length
  const method = one.sends?.method ?? ''
  const reply = (one.service ?? actionOf(action).example.reply) as object
  if (one.service === null) sandbox.fail({ kind: 'status', status: 204, on: { method } })
  else if (one.sends) sandbox.fail({ kind: 'status', status: 200, body: reply, on: { method } })
  // The service is asked for names that the store does not know, and for VINs.
  const fields = new URLSearchParams(sent as Record<string, string>)
  const asked = one.earlier
    ? 0
    : new Set((actionOf(action).target?.namedBy ?? []).flatMap((name) => fields.getAll(name))).size
  const looks = one.earlier && action === 'shipment.cancel' && fields.has('VinNo') ? 1 : 0
  const readsBefore = action.startsWith('quote.') ? 0 : asked + looks + (one.current ? 1 : 0)
  const body = one.current ?? { id: ID, status: 'new' }
  if (method !== 'GET') for (let i = 0; i < readsBefore; i += 1) sandbox.fail({ ...shown(body), on: { method: 'GET' } })
  sandbox.fail(...(shownAfter[action] ?? []))
  const answer = await call(gateway, action, sent, one.path)
  const received = sandbox.requests.slice(before)

  expect(answer.status).toBe(one.status ?? (one.problems ? 422 : one.missing ? 502 : 200))
  const words = [...(one.says ?? []), ...(one.missing ?? []), ...(one.problems ?? []).map(({ field }) => field)]
  // A version-2 body is answered with problem details.
  const said = answer.json.Message ?? answer.json.detail
  for (const word of words) expect(said).toContain(word)
  // An update reads the shipment, which may have such a value.
  if (one.problems || (one.status && !one.service))
    expect(received.filter(({ method }) => method !== 'GET')).toEqual([])
  if (one.sends) {
    // A cancellation is confirmed by a read.
    const { method, path, body } = received.findLast((request) => request.method === one.sends?.method) ?? {}
    expect({ method, path, ...(body && { body: parseJson(body) }) }).toStrictEqual(one.sends)
    const isReadOnly = method === 'GET'
    expect(received).toHaveLength(isReadOnly ? 1 : readsBefore + 1 + (shownAfter[action] ? 1 : 0))
  }
  if (one.replies) expect(answer.json).toStrictEqual(repliesOf(one, action))
}

async function checkReply(gateway: TestGateway, one: Case, action: string): Promise<void> {
  const { status, json } = await post(gateway, `/dry-run/reply/${action}`, JSON.stringify(one.service))
  expect(status).toBe(200)
  expect(json.ok).toBe(one.missing === undefined)
  if (one.replies) expect(json.reply.v1).toStrictEqual(repliesOf(one, action))
  for (const word of one.says ?? []) expect(json.reply.v1.Message).toContain(word)
  if (one.missing) expect(json.problems.map(({ field }: { readonly field: string }) => field)).toEqual(one.missing)
  expect(gateway.sandbox.requests).toEqual([])
}
