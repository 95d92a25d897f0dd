import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { type Store, StoreDown } from '../../src/outside/store/store.ts'
import { repeated } from '../cases/read.ts'
import {
  basic,
  CLIENT,
  get,
  OWN,
  post,
  startGateway,
  type TestGateway,
  type TestGatewayOptions,
  type WholeAnswer,
} from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { ask, HANDLE, OTHER_VIN, shipments } from './desk.ts'

/*
 * Stories over HTTP, in text files: `#` and a title, then a line for each step. A step is a verb with its words and, after `→`, the
 * expected answer.
 *
 *   gateway NAME=v option=v own       the first step: settings of the gateway, options of the stand-in; `own`: it has its own credential
 *   quote|approve|book|read|update|cancel FIELD=v    a version-1 call: the documented example with other fields, or these fields; besides
 *                                     `idempotency-key`, and `secret` for another one of the client
 *   GET|POST|PUT|DELETE /v2/… {…}     a version-2 call
 *   begin CALL, meanwhile CALL, end   starts a call, and waits until the service has its request, or not at all; `end` awaits the first one
 *   dry-run CALL                      the dry run of a call
 *   other CALL                        a version-1 call at a second gateway on the same store
 *   store down|up                     the store fails for the first gateway, or works again
 *   store after VERB CALL             makes a call once the store has done what the first gateway asks next by this name, before its answer
 *   event NAME $S                     an event of the service
 *   fault METHOD|/path* {…}, heal     a fault of the stand-in; `status` and `body` of a `change` override the service's reply
 *   service $S|new place=v vins=…     changes or makes a shipment at the service
 *   service approves $Q               the service approves a quote, without the gateway
 *   shipment $S place=v vins=…        checks it there; `*` is the newest, `all` its whole text
 *   name REF $S, name REF $Q quote    imports a caller's name of a shipment or a quote
 *   quoted $Q                         checks the id of the newest quote there
 *   set option=v                      changes options of the stand-in
 *   pass MS, doubt                    time passes at the store, whose clock stands still otherwise; it is in doubt from now on
 *   log {…}                           checks that a line of the log has these members
 *   live 1, made 2                    checks how many live shipments there are, and how many were ever made
 *   sent GET /v2/…, PUT /v2/…         checks all requests that reached the service since the last call began
 *   reached GET /v2/…                 waits until the service has had this request, and has answered all
 *   body place=v                      checks the body of the last of them
 *   claim $S state why                waits for the state of a shipment's booking, and the reason in the audit trail
 *
 * An answer is a status; Yes, No or Unknown, where Yes requires 200; "words of the message" or !"others"; `unsent`, if the
 * service got only reads; `unchanged`, if the fault's reply was passed on; or name=v: a field, a header (with a dash), the
 * `id` or `number` of the shipment, the `key` of the booking. `$NAME` gets its value at its first use, which differs from every other
 * `$NAME`; `$NAME-in-capitals` and `$NAME-escaped` are spellings of it.
 *
 * A table at the end makes a story for each of its rows: `<name>` stands for the cell in that column. Lines without words are ignored.
 * `⟨x×20⟩` is 20 times x.
 */

/** A story. */
type Story = readonly [title: string, steps: readonly string[]]

/** Returns the stories of a file. */
export function storiesIn(folder: string, file: string): readonly Story[] {
  const [, ...texts] = repeated(readFileSync(join(folder, file), 'utf8')).split(/^# /m)
  return texts.flatMap((text) => {
    const [lines = [], table = []] = [false, true].map((isTable) =>
      text.split('\n').filter((line) => line.startsWith('|') === isTable),
    )
    const [columns = [], ...rows] = table.map((row) => row.split('|').map((cell) => cell.trim()))
    return (table.length === 0 ? [[]] : rows).map((cells): Story => {
      const filled = lines.map((line) => line.replace(/<(\w+)>/g, (word, name) => cells[columns.indexOf(name)] ?? word))
      const [title = '', ...steps] = filled.filter((line) => line !== '')
      return [title, steps]
    })
  })
}

/** A gateway with the headers of its callers. */
interface Place {
  readonly gateway: TestGateway
  readonly headers?: Readonly<Record<string, string>>
}

const HOOK = { WEBHOOK_SECRET: 'hook-secret-for-tests' }
const HEADERS = new Map([
  ['id', 'transload-shipment-id'],
  ['number', 'transload-shipment-number'],
])
const CALLS = new Map<string | undefined, readonly [path: string, fields: object]>([
  ['quote', ['/getShippingQuote.php', { ...quoteExample, OrderRefNumber: '' }]],
  ['approve', ['/getShippingQuote.php', { ActionName: 'Accept Rate', ShipmentNumber: quoteExample.ShipmentNumber }]],
  ['book', ['/createShipment.php', bookingExample]],
  ['update', ['/updateShipment.php', {}]],
  ['cancel', ['/deleteShipment.php', {}]],
])

const wordsOf = (text: string): readonly string[] => text.match(/(?:[^\s"]|"[^"]*")+/g) ?? []
const valueIn = (text: string): unknown => (/^["[{]|^(true|false)$/.test(text) ? JSON.parse(text) : text)
const pairsOf = (words: readonly string[]): readonly (readonly [name: string, value: string])[] =>
  words.map((word) => [word.split('=', 1)[0] ?? '', word.slice(word.indexOf('=') + 1)])
const fieldsOf = (words: readonly string[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(pairsOf(words).map(([name, value]) => [name, valueIn(value)]))
const at = (body: object, place: string): unknown =>
  place.split('.').reduce((value: unknown, key) => Object(value)[key], body)

/** Returns a view of a store whose verbs fail while a condition holds, and answer once `after` is done. */
function failingWhile(isDown: () => boolean, after: (name: string) => unknown, inner: Store): Store {
  const verbOf = (name: string, verb: unknown) =>
    typeof verb !== 'function' || ['ready', 'now', 'close'].includes(name)
      ? verb
      : async (...args: unknown[]) => {
          if (isDown()) throw new StoreDown('The disk is full.')
          const answer = await verb(...args)
          await after(name)
          return answer
        }
  return Object.fromEntries(Object.entries(inner).map(([name, verb]) => [name, verbOf(name, verb)])) as unknown as Store
}

const METHODS = ['GET', 'POST', 'PUT', 'DELETE']

/** Makes the call in a step. */
async function call(
  [verb = '', ...words]: readonly string[],
  { gateway, headers }: Place,
  prefix = '',
): Promise<Partial<WholeAnswer>> {
  // A reply that breaks off is not an answer.
  if (METHODS.includes(verb)) return ask(gateway, verb, words[0] ?? '', {}, words[1]).catch(() => ({}))
  const { secret, 'idempotency-key': key, ...sent } = fieldsOf(words)
  const ownHeaders = {
    ...headers,
    ...(key !== undefined && { 'idempotency-key': String(key) }),
    ...(secret !== undefined && { authorization: basic(CLIENT.id, String(secret)) }),
  }
  if (verb === 'read')
    return get(gateway, `${prefix}/getShipment.php?${new URLSearchParams(sent as Record<string, string>)}`, ownHeaders)
  const [path, fields] = CALLS.get(verb) ?? expect.fail(`no verb ${verb}`)
  return post(gateway, prefix + path, { ...fields, ...sent }, ownHeaders)
}

/** Opens the gateways of a story, and plays its steps. */
export async function play(
  steps: readonly string[],
  open: (options: TestGatewayOptions) => Promise<Place> = async (options) => ({ gateway: await startGateway(options) }),
): Promise<void> {
  const [settings = '', ...others] = steps[0]?.startsWith('gateway') ? steps : ['', ...steps]
  const given = Object.entries(fieldsOf(wordsOf(settings).filter((word) => word.includes('='))))
  const [env, sandboxOptions] = [true, false].map((isEnv) =>
    Object.fromEntries(given.filter(([name]) => (name === name.toUpperCase()) === isEnv)),
  )
  const own = settings.includes(' own') ? { ...OWN, ...HOOK } : {}
  let time = 0
  let isDown = false
  const callsAfter = new Map<string | undefined, readonly string[]>()
  const after = async (name: string) => {
    const words = callsAfter.get(name)
    if (callsAfter.delete(name) && words) await call(words, place)
  }
  const inner = steps.some((step) => step.startsWith('store ')) ? createMemoryStore() : undefined
  const place = await open({
    ...(inner && { store: failingWhile(() => isDown, after, inner) }),
    env: { ...own, ...(env as typeof own) },
    sandbox: { ...sandboxOptions },
    ...(steps.some((step) => step.startsWith('pass ')) && { now: () => time }),
  })
  const { gateway } = place
  const { sandbox, store } = gateway
  const shipmentOf = (id = '') =>
    (id === '*' ? [...sandbox.shipments.values()].at(-1) : sandbox.shipments.get(id)) ?? expect.fail('no shipment')
  const requests = () => sandbox.requests.map(({ method, path }) => `${method} ${path}`)
  let second: Place | undefined
  const underWay: Promise<Partial<WholeAnswer>>[] = []
  /** The body of the last fault. */
  let faultBody: unknown
  const values = new Map<string, string>([
    ['REF', bookingExample.ReferenceNumber],
    ['VIN', bookingExample.VinNo],
    ['VIN2', OTHER_VIN],
    ['HUGE', randomBytes(3_000).toString('base64url').replaceAll(/[-_]/g, 'O')],
    ['VIN3', '5YJSA1E14HF000337'],
  ])

  /** Compares a value, or remembers one that appears for the first time. */
  function meet(expected: string, value: unknown, line: string): void {
    if (Object(value) === value) return void expect(value, line).toEqual(JSON.parse(expected))
    const text = String(value ?? '')
    if (!expected.startsWith('$')) return void expect(text, line).toBe(expected)
    expect(['', ...values.values()], line).not.toContain(text)
    values.set(expected, text).set(`${expected}-in-capitals`, text.toUpperCase())
    values.set(`${expected}-escaped`, text.replaceAll('-', '%2D'))
  }

  function check({ status, headers, json, text }: Partial<WholeAnswer>, words: readonly string[], line: string): void {
    // Problem details have no `Message`.
    const said = json?.Message ?? text
    const what = `${line}\n${status} ${said}`
    for (const word of words) {
      if (/^\d+$/.test(word)) expect(status, what).toBe(Number(word))
      else if (/^(Yes|No|Unknown)$/.test(word))
        expect([json.TransportationBooked, status === 200 || word !== 'Yes'], what).toEqual([word, true])
      else if (word === 'unsent') expect(sandbox.requests.filter(({ method }) => method !== 'GET')).toEqual([])
      else if (word === 'unchanged')
        expect(text, what).toBe(typeof faultBody === 'string' ? faultBody : JSON.stringify(faultBody))
      else if (word.startsWith('"')) expect(said, what).toContain(valueIn(word))
      else if (word.startsWith('!')) expect(said, what).not.toContain(valueIn(word.slice(1)))
      else {
        const [[name, value] = ['', '']] = pairsOf([word])
        const header = name.includes('-') ? name : HEADERS.get(name)
        const key = name === 'key' && HANDLE.exec(json.Message)?.[0]
        meet(value, header ? headers?.get(header) : key || json[name], what)
      }
    }
  }

  const STEPS: Readonly<Record<string, (words: readonly string[], line: string) => unknown>> = {
    store: ([state, name, ...words]) => {
      isDown = state === 'down'
      if (state === 'after') callsAfter.set(name, words)
    },
    begin: (words) => {
      const begun = sandbox.next(({ method }) => method !== 'GET')
      underWay.push(call(words, place))
      return begun
    },
    meanwhile: (words) =>
      void underWay.push(words[0] === 'other' && second ? call(words.slice(1), second) : call(words, place)),
    end: () => underWay.shift(),
    other: async (words) => {
      second ??= await open({ store: inner ?? store, serviceUrl: sandbox.url, env: { ...own } })
      return call(words, second)
    },
    'dry-run': (words) => call(words, place, '/dry-run'),
    event: ([event, id = '']) => {
      const sent = { event, shipment_id: valueIn(id), event_date: '2026-11-25T12:00:00+0000' }
      return post(gateway, `/webhooks/${HOOK.WEBHOOK_SECRET}`, sent)
    },
    fault: ([on = ''], line) => {
      const fault: Fault & { readonly body?: unknown } = JSON.parse(line.slice(line.indexOf('{')))
      faultBody = fault.body
      sandbox.fail({ ...fault, on: on.startsWith('/') ? { path: on } : { method: on } })
    },
    heal: () => sandbox.clearFaults(),
    set: (words) => sandbox.set(fieldsOf(words)),
    pass: ([ms]) => {
      time += Number(ms)
    },
    doubt: () => store.declareDoubt({ since: time, until: 0 }),
    log: (_, line) =>
      expect(gateway.lines()).toContainEqual(expect.objectContaining(JSON.parse(line.slice(line.indexOf('{'))))),
    service: async ([id = '', ...words]) => {
      if (id === 'approves') return post(sandbox, `/v2/quote/${words}/approve`, '')
      if (id === 'new') {
        const made = {
          customer: { customer_name: 'Pat' },
          pickup: { city: 'Miami' },
          vehicles: [{}],
          ...fieldsOf(words),
        }
        return post(sandbox, '/v2/shipments', made, { 'content-type': 'application/json' })
      }
      const { vins, ...changes } = fieldsOf(words)
      const { vehicles, ...shipment } = shipmentOf(id)
      const [first = expect.fail('no vehicle')] = vehicles
      const ofVins = String(vins)
        .split(',')
        .map((vin, nth) => ({ ...first, id: `vehicle-${nth}`, vin }))
      return sandbox.shipments.set(id, { ...shipment, vehicles: vins === undefined ? vehicles : ofVins, ...changes })
    },
    shipment: ([id, ...words], line) => {
      const shipment = shipmentOf(id)
      const vins = shipment.vehicles.map(({ vin }) => vin).join()
      const all = JSON.stringify(shipment)
      for (const [name, value] of pairsOf(words)) meet(value, at({ ...shipment, vins, all }, name), line)
    },
    name: ([name = '', id = '', kind]) =>
      store.load(
        [{ tenant: CLIENT.id, kind: kind === 'quote' ? kind : 'shipment', name, id, givenBy: 'caller', vin: '' }],
        { replace: true },
      ),
    quoted: ([name = ''], line) => meet(name, [...sandbox.quotes.keys()].at(-1), line),
    live: ([count], line) => expect(shipments(gateway), line).toHaveLength(Number(count)),
    made: ([count], line) => expect(sandbox.shipments.size, line).toBe(Number(count)),
    sent: (words, line) => expect(requests().join(', '), line).toBe(words.join(' ')),
    reached: async (words, message) => {
      await expect.poll(requests, { message }).toContain(words.join(' '))
      await sandbox.idle()
    },
    body: (words, line) => {
      const body = JSON.parse(sandbox.requests.at(-1)?.body ?? '')
      for (const [name, value] of pairsOf(words)) meet(value, at(body, name), line)
    },
    claim: async ([id, state, ...why], message) => {
      const stateOf = async () => {
        const claim = (await store.listClaims({})).find((one) => one.shipment === id || one.reference === id)
        const last = (await store.audit(claim?.handle ?? '')).at(-1)
        return [claim?.state, ...(why.length > 0 ? [last?.why] : [])]
      }
      await expect.poll(stateOf, { message }).toEqual([state, why.join(' ')].filter(Boolean))
    },
  }

  for (const step of others) {
    const line = step.replace(/\$[\w-]+|\b(REF|HUGE|VIN\d?)\b/g, (name) => values.get(name) ?? name)
    const [said = '', expected = ''] = line.split(' → ')
    const [verb = '', ...words] = wordsOf(said)
    if (STEPS[verb] === undefined || verb === 'begin' || verb === 'other') sandbox.requests.length = 0
    const answer = await (STEPS[verb] ? STEPS[verb](words, line) : call([verb, ...words], place))
    if (expected !== '') check(answer as Partial<WholeAnswer>, wordsOf(expected), line)
  }
  expect([...callsAfter.keys()], 'verbs that the gateway did not ask its store').toEqual([])
}
