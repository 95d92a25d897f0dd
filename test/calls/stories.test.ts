/** Promise: successive calls are answered, and reach the service, as their story says (contract, sections 2 to 9). */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { actions } from '../../mappings/index.ts'
import { fieldsOf } from '../../src/language/mapping/row-parts.ts'
import { parseJson } from '../../src/language/text/json.ts'
import { as, clocks, folder, openEdge, tenant } from '../callers/tenants-gateway.ts'
import { readStory, type StoryCall, storyFiles } from '../cases/read.ts'
import { answerTo, metricsOf, OWN, startGateway, type TestGateway, type WholeAnswer } from '../gateway.ts'

test.each(storyFiles().map(({ name, text }) => [name, text]))('%s', async (_name, text) => {
  const { mode, tenants, settings, files, service_is: sandbox, calls } = readStory(text)
  const place = folder()
  for (const [name, content] of Object.entries(files)) writeFileSync(join(place, name), textOf(content))
  const own = { ...(mode !== 'client' && !tenants && OWN), ...settings }
  const env = JSON.parse(JSON.stringify(own).replaceAll('FOLDER', place))
  const { pass, clock } = clocks()
  const begin = calls.find(({ at }) => at !== undefined)?.at
  let now = begin === undefined ? 0 : Date.parse(begin)
  const options = { env, sandbox: { ...sandbox, clock }, ...(begin && { now: () => now }) }
  const gateway = await (tenants ? openEdge(declared(tenants), options) : startGateway(options))
  let shown: object = {}
  for (const [i, call] of calls.entries()) {
    const time = call.at === undefined ? now : Date.parse(call.at)
    pass(time - now)
    now = time
    const named = filled(gateway, call)
    if (call.sends_back) named.request = { ...shown, ...Object(call.request) }
    gateway.sandbox.clearFaults()
    change(gateway, named)
    gateway.sandbox.requests.length = 0
    const answer = await make(gateway, named)
    shown = Object(answer.json)
    await check(gateway, filled(gateway, named), answer, `call ${i + 1}: ${answer.text.slice(0, 500)}`)
  }
})

const declared = (tenants: Readonly<Record<string, object>>) => (place: string) =>
  Object.entries(tenants).map(([name, more]) => tenant(place, name, more))

/** Fills in the service's ids of shipments and quotes. */
function filled(gateway: TestGateway, call: StoryCall): StoryCall {
  const { url, shipments, quotes } = gateway.sandbox
  const all: Readonly<Record<string, readonly string[]>> = {
    shipment: [...shipments.keys()],
    number: [...shipments.values()].map(({ number }) => number),
    quote: [...quotes.keys()],
    QUOTE: [...quotes.keys()].map((id) => id.toUpperCase()),
    service: [url],
  }
  const name = /\{(\w+)(?: (\d+))?\}/g
  return JSON.parse(JSON.stringify(call).replace(name, (whole, of, no = 1) => all[of]?.[no - 1] ?? whole))
}

/** Makes the changes at the service that precede a call. */
function change({ sandbox }: TestGateway, { service_is: traits, faults = [], meanwhile = {} }: StoryCall): void {
  if (traits) sandbox.set(traits)
  sandbox.fail(...faults)
  const ids = [...sandbox.shipments.keys()]
  const { tokens, ...changed } = meanwhile
  if (tokens === null) sandbox.revokeTokens()
  for (const [no, changes] of Object.entries(changed)) {
    const id = ids[Number(no) - 1] ?? ''
    const shipment = sandbox.shipments.get(id) ?? expect.fail(`no shipment ${no}`)
    if (changes) sandbox.shipments.set(id, { ...shipment, ...changes })
    else sandbox.shipments.delete(id)
  }
}

async function make(gateway: TestGateway, call: StoryCall): Promise<WholeAnswer> {
  const action = actions.find(({ name }) => name === call.action)
  const example = call.with && { ...(action?.example.request ?? expect.fail('no action')), ...call.with }
  const fields = example && Object.fromEntries(Object.entries(example).filter(([, value]) => value !== null))
  const form = call.form && new URLSearchParams(call.form).toString()
  const {
    path = action?.legacy.paths[0] ?? '',
    method = action?.legacy.method ?? '',
    request = fields ?? form ?? '',
  } = call
  const isQuery = method === 'GET' && request !== ''
  const body = call.request_hex === undefined ? textOf(request) : Buffer.from(call.request_hex, 'hex')
  // Headers are texts; null is one that is not sent.
  const given = Object.entries({ ...(call.as !== undefined && as(call.as)), ...call.headers })
  const headers = Object.fromEntries(given.map(([name, value]) => [name, value ?? undefined])) as Record<string, string>
  const target = isQuery ? `${path}?${new URLSearchParams(request as Record<string, string>)}` : path
  return answerTo((call.admin ? gateway.adminUrl : gateway.url) + target, {
    method,
    headers,
    ...(method !== 'GET' && { body }),
  })
}

const textOf = (request: unknown) => (typeof request === 'string' ? request : JSON.stringify(request))

async function check(gateway: TestGateway, call: StoryCall, answer: WholeAnswer, where: string): Promise<void> {
  const { status, json, text, headers } = answer
  const { requests, shipments, quotes } = gateway.sandbox
  expect(status, where).toBe(call.status ?? 200)
  checkForm(answer, where)
  if (call.replies) expect(json, where).toMatchObject(pattern(call.replies))
  if (call.text !== undefined) expect(text, where).toEqual(pattern(call.text))
  for (const part of call.shows) expect(text, where).toContain(part)
  for (const place of call.lacks ?? []) expect(json, where).not.toHaveProperty(place)
  const message = json?.Message ?? json?.detail
  for (const word of call.says ?? []) expect(message, where).toContain(word)
  const whole = text + JSON.stringify([...headers])
  for (const word of call.says_not ?? []) expect(whole, where).not.toContain(word)
  for (const [name, value] of Object.entries(call.answer_headers ?? {}))
    expect({ [name]: headers.get(name) }, where).toEqual({ [name]: pattern(value) })
  if (call.sends) {
    const { lacks = [], ...wanted } = call.sends
    const request = requests.findLast(({ method }) => method === wanted.method) ?? expect.fail(where)
    const body = request.body.startsWith('{') ? parseJson(request.body) : request.body
    const sent = { ...request, headers: { ...lackOf(wanted.headers), ...request.headers }, body }
    expect(sent, where).toMatchObject(pattern(wanted))
    for (const place of lacks) expect(sent.body, where).not.toHaveProperty(place)
  }
  if (call.requests)
    expect(
      requests.map(({ method, path }) => `${method} ${path}`),
      where,
    ).toEqual(pattern(call.requests))
  if (call.credential)
    expect(new Set(requests.map(({ headers }) => headers.authorization)), where).toEqual(new Set([call.credential]))
  if (call.shipments) expect([...shipments.values()], where).toMatchObject(pattern(call.shipments))
  if (call.quotes) expect([...quotes.values()], where).toMatchObject(pattern(call.quotes))
  if (call.log) {
    const line = gateway.lines().findLast(({ msg }) => msg === 'call')
    expect({ ...lackOf(call.log), ...line }, where).toMatchObject(pattern(call.log))
  }
  if (call.metrics) {
    const lines = (await metricsOf(gateway)).split('\n')
    expect(lines, where).toEqual(expect.arrayContaining(pattern(call.metrics)))
  }
}

/** Returns null for each member. */
const lackOf = (members: object = {}) => Object.fromEntries(Object.keys(members).map((name) => [name, null]))

const READ = actions.flatMap(({ name, reply }) => (name === 'shipment.get' ? reply.flatMap(fieldsOf) : []))
/** The members of version-1 answers. */
const FORMS = [
  ['Cost', 'ShipmentNumber'],
  ['Cost', 'Message', 'ShipmentNumber'],
  ['Cost', 'Message', 'ShipmentNumber', 'TransportationBooked'],
  ['Message', 'TransportationBooked'],
  [...new Set(READ)].sort(),
]

/** Checks that a version-1 answer has the members of one, and one line for people. */
function checkForm({ json, headers, status }: WholeAnswer, where: string): void {
  if (!('TransportationBooked' in Object(json)) && !('Cost' in Object(json))) return
  expect(FORMS, where).toContainEqual(Object.keys(json).sort())
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  const { Message: message } = json
  if (status !== 200) expect(message, where).toMatch(/./)
  if (message !== undefined) expect(message, where).toMatch(/^[^\p{Cc}\p{Zl}\p{Zp}]{0,500}$/u)
}

/** Returns an expected value as a matcher: a text between slashes is a pattern. */
function pattern<Value>(value: Value): Value {
  const made = (one: unknown): unknown => {
    if (typeof one === 'string')
      return /^\/.+\/$/s.test(one) ? expect.stringMatching(RegExp(one.slice(1, -1), 'u')) : one
    if (Array.isArray(one)) return one.map(made)
    if (typeof one !== 'object' || one === null) return one
    return Object.fromEntries(Object.entries(one).map(([name, part]) => [name, made(part)]))
  }
  return made(value) as Value
}
