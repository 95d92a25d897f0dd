/** Promise: each field is accounted for once, and what is read back changes nothing (contract, sections 4 and 8). */

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadMappings } from '../../mappings/load.ts'
import { knownStates } from '../../mappings/us-states.ts'
import { version1 } from '../../src/calls/read-request.ts'
import { readConfig } from '../../src/language/config/config.ts'
import { translationSettings } from '../../src/language/config/translation-settings.ts'
import type { CompiledAction } from '../../src/language/mapping/compile.ts'
import { explainReplyTranslation, explainRequestTranslation } from '../../src/language/mapping/explain.ts'
import { type Entry, looseName, NOT_FLAT } from '../../src/language/mapping/fields.ts'
import { type Draft, leaves, parsePlace, putAt, valueAt } from '../../src/language/mapping/paths.ts'
import type { KnownFacts } from '../../src/language/mapping/request.ts'
import { placesOf } from '../../src/language/mapping/row-parts.ts'
import { isNotKnown, shownText } from '../../src/language/text/service-text.ts'
import { CLIENT, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { runs } from '../size.ts'

const RUNS = runs(80, 400)
/** Each run makes several calls over HTTP. */
const HTTP_RUNS = runs(15, 60)

const catalog = await loadMappings()
const actions = [...catalog.actions.values()]
const byName = actions.map((compiled) => [compiled.action.name, compiled] as const)
const settings = translationSettings(readConfig({ V2_BASE_URL: 'https://service.example.com', SEND_QUOTE_ID: 'true' }))

/** Values of a field, valid and invalid, trimmed as in a body. */
const written = fc.oneof(
  fc.constantFrom('10314', '2134', '02134-1234', 'K1A 0B1', 'OPEN AUTO', 'enclosed auto', 'BOX TRUCK', 'SUV'),
  fc.constantFrom('(214) 555-0000 x1', '+1 214 555 0000', 'none', 'TX', 'new york', 'Nowhere', '2023', '1885'),
  fc.constantFrom('1FDXE4FN9PDD32477', 'S1047B', 'Pat~2145550000~~~pat@example.com', "it's", '$&'),
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.trim() || 'x'),
)
const value = fc.oneof({ weight: 8, arbitrary: written }, fc.constant(null), fc.constant<typeof NOT_FLAT>(NOT_FLAT))

const respelled = (name: string) =>
  fc.constantFrom(name, name.toLowerCase(), name.toUpperCase(), name.replace(/\.$/, ''), name.replace(/\.$/, '_'))

/** Fields of an action in every looseName, some of them twice, and names that it does not know. */
const entriesOf = ({ fields }: CompiledAction): fc.Arbitrary<Entry[]> => {
  const known = fc.constantFrom(...fields.names).chain(respelled)
  const unknown = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'toString', 'Foo', 'PickupPhNo..'), fc.string())
  const name = fc.oneof({ weight: 9, arbitrary: known }, { weight: 1, arbitrary: unknown })
  return fc.array(fc.tuple(name, value), { maxLength: 40 })
}

const someFacts: fc.Arbitrary<KnownFacts | undefined> = fc.option(
  fc
    .subarray(['pickup', 'transport_type', 'vehicle_type', 'customer_name', 'contact_name', 'address', 'quote_id'])
    .map((names) => Object.fromEntries([['zipcode', 2134], ...names.map((name) => [name, `the ${name}`])])),
  { nil: undefined },
)

/** Strings that no service should send. */
const strange = fc.oneof(
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('\r\nA: b', '\x1b[31m', '\ud83d', '\u2028', '\u202e', 'x'.repeat(30_000), '🚚'.repeat(5_000)),
)

const sorted = (names: Iterable<string>) => [...names].sort()
const fieldsOf = (compiled: CompiledAction, entries: readonly Entry[]) =>
  version1(compiled, { entries, format: 'json', text: '' }).fields

describe.each(byName)('laws of %s', (_name, compiled) => {
  test('each field that is sent and each leaf of the body is explained once, truly, and an explained run is as a plain one', () => {
    const law = fc.property(entriesOf(compiled), someFacts, (entries, facts) => {
      const fields = fieldsOf(compiled, entries)
      const account = explainRequestTranslation(compiled, fields, settings, facts)
      const documented = new Map(compiled.fields.names.map((name) => [looseName(name), name]))
      const sent = new Set(entries.map(([name]) => documented.get(looseName(name)) ?? name))
      const told = [
        ...new Set(account.fields.flatMap(({ from }) => from)),
        ...account.unused.map(({ field }) => field),
        ...account.unknown,
      ]
      expect(sorted(told)).toEqual(sorted(sent))
      for (const { why } of account.unused) expect(why).not.toBe('')

      const paths = [...leaves(account.body)].map(([path]) => path)
      expect(sorted(account.fields.map(({ to }) => to))).toEqual(sorted(paths))
      for (const { to, after } of account.fields) expect(valueAt(account.body, parsePlace(to) ?? [])).toBe(after)

      const plain = compiled.request(fields, { settings, facts })
      expect(JSON.stringify(account.body)).toBe(JSON.stringify(plain.body))
      expect(account.problems).toEqual(plain.problems)
      for (const { field, message } of plain.problems) {
        expect(compiled.fields.names).toContain(field)
        expect(message.startsWith(field)).toBe(true)
      }
    })
    fc.assert(law, { numRuns: RUNS })
  })

  test('each leaf of a reply is reported once: used, unused or unknown', () => {
    const law = fc.property(fc.oneof(shipment, fc.jsonValue()), (body) => {
      const { reply, fields, unused, unknown } = explainReplyTranslation(compiled, body, settings, undefined)
      const used = new Set(fields.flatMap(({ from }) => from))
      const paths = [...leaves(body)].map(([path]) => path)
      const told = paths.filter((path) => used.has(path))
      expect(sorted([...told, ...unused.map(({ field }) => field), ...unknown])).toEqual(sorted(paths))
      expect(sorted(fields.map(({ to }) => to))).toEqual(sorted(Object.keys(reply)))
      for (const text of Object.values(reply)) expect(text).toBeTypeOf('string')
    })
    fc.assert(law, { numRuns: RUNS })
  })

  test('no string of a reply comes out with a control character, half a character or without an end', () => {
    const places = compiled.action.reply.flatMap((row) => (row.kind === 'fixed' ? [] : placesOf(row)))
    const law = fc.property(fc.dictionary(fc.constantFrom('number', 'status', ...places), strange), (said) => {
      const body: Draft = {}
      for (const [place, value] of Object.entries(said)) putAt(body, parsePlace(place) ?? [], value)
      for (const text of Object.values(compiled.reply(body, { settings, own: undefined }).reply)) {
        expect(text).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u)
        expect(text.isWellFormed()).toBe(true)
        expect(text.length).toBeLessThanOrEqual(4096)
      }
    })
    fc.assert(law, { numRuns: RUNS })
  })
})

const text = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .map((raw) => shownText(raw, 100).trim() || 'x')
/** An address: TBD is none. */
const known = text.filter((one) => !isNotKnown(one))

const digits = fc.stringMatching(/^[2-9][0-9]{9}$/)

/** A record of some of these. */
const someOf = <T>(model: { [Key in keyof T]: fc.Arbitrary<T[Key]> }) => fc.record(model, { requiredKeys: [] })

const location = someOf({
  address: text,
  city: text,
  state: fc.constantFrom(...knownStates),
  zipcode: fc.integer({ min: 1, max: 99_999 }),
  name: text,
  contact_phone: digits,
  contact_email: known,
  notes: text,
}).map(({ name, ...rest }) => ({
  ...rest,
  ...(name !== undefined && { location_name: name, contact_name: name }),
}))

const extras = fc.dictionary(fc.constantFrom('trim', 'location_type', 'broker', 'floor'), fc.oneof(text, fc.boolean()))

/** A part of a shipment with these places, and with unknown ones. */
const part = <T>(places: fc.Arbitrary<T>) => fc.tuple(extras, places).map(([more, own]) => ({ ...more, ...own }))
const id = fc.uuid()

/** A shipment at the service, with ids at any place, and with unknown places. */
const shipment = fc
  .record({
    id,
    number: fc.constant('TL-100001'),
    status: fc.constantFrom('new', 'canceled', 'on_hold'),
    price: fc.double({ min: 0, max: 1e6, noNaN: true }),
    distance: fc.integer(),
    distance_meters: fc.integer(),
    documents: fc.array(fc.record({ id, type: fc.constant('bol') }), { maxLength: 2 }),
    transport_type: fc.constantFrom('open', 'enclosed'),
    external_id: text,
    customer: part(fc.record({ id, customer_name: text })),
    pickup: part(fc.tuple(location, id).map(([own, id]) => ({ ...own, id }))),
    delivery: location,
    vehicles: fc.array(
      part(fc.record({ id, vin: fc.stringMatching(/^[A-HJ-NPR-Z0-9]{17}$/), make: text })).map((vehicle) => ({
        ...vehicle,
        ...{ weight: 8200, height: 98, width: 84, length: 264, photos: [{ id: 'p' }] },
      })),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map((whole): Draft => whole)

const actionNamed = (name: string): CompiledAction => {
  const compiled = catalog.actions.get(name)
  if (!compiled) throw new Error(`there is no action ${name}`)
  return compiled
}

/** A legacy call, as JSON or as a form. */
interface LegacyRequest {
  readonly path: string
  readonly name: string
  readonly body: string
}

describe('the service gets the request that a dry run shows', () => {
  const bookingFields = actionNamed('shipment.create').fields.names.filter(
    (name) => name !== 'ActionName' && name !== 'ReferenceNumber',
  )
  const quoteFields = [
    ...['EquipmentType', 'PickupCommodityCode', 'LoadReference', 'TempShipFromPostalCode', 'TempShipToPostalCode'],
    ...['BillToContact', 'BillToStreet1', 'BillToState', 'CSR', 'Foo'],
  ]
  const some = (names: readonly string[], always = {}) =>
    fc
      .dictionary(fc.constantFrom(...names), fc.oneof(written, fc.constant(' '), fc.nat().map(String)), { maxKeys: 5 })
      .map((more) => ({ ...always, ...more }))

  /** Calls of every kind about one quote, most of them translatable. */
  const calls = fc.record({
    trip: some(quoteFields, { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }),
    change: some(quoteFields),
    booking: some(bookingFields, {
      ...{ PickupZip: '10314', DeliveryCity: 'Miami', BillToName: 'Pat', VinNo: '1FDXE4FN9PDD32477' },
    }),
    update: some(bookingFields.filter((name) => name !== 'VinNo')),
    encode: fc.constantFrom(JSON.stringify, (fields: Readonly<Record<string, string>>) =>
      new URLSearchParams(fields).toString(),
    ),
  })
  let number = 0

  const told = async (gateway: TestGateway, { path, name, body }: LegacyRequest) => {
    const rehearsal = await post(gateway, `/dry-run${path}`, body)
    expect(rehearsal.status).toBe(200)
    expect(rehearsal.json.action).toBe(name)
    const before = gateway.sandbox.requests.length
    const answer = await post(gateway, path, body)
    const received = gateway.sandbox.requests.slice(before)
    return { dry: rehearsal.json, answer, received }
  }

  async function agrees(gateway: TestGateway, sent: LegacyRequest): Promise<boolean> {
    const { dry, answer, received } = await told(gateway, sent)
    if (!dry.ok) {
      expect(answer.status).toBe(422)
      expect(received).toEqual([])
      return false
    }
    // Requests after a refusal, such as a read of the shipment, are no part of the translation.
    const [first] = received
    expect(first?.method).toBe(dry.request.method)
    expect(first?.body).toBe(dry.request.body === undefined ? '' : JSON.stringify(dry.request.body))
    const { authorization: _, ...headers } = dry.request.headers
    expect(first?.headers).toMatchObject(headers)
    if (!dry.request.url.includes('{')) expect(gateway.sandbox.url + first?.path).toBe(dry.request.url)
    return true
  }

  test('in fixed mode, with the quotes and bookings that are remembered', async () => {
    const gateway = await startGateway({
      env: { ...OWN, SEND_QUOTE_ID: 'true' },
    })
    let sent = 0
    const law = fc.asyncProperty(calls, async ({ trip, change, booking, update, encode }) => {
      number += 1
      const own = { ShipmentNumber: `Q-${number}` }
      const reference = { ReferenceNumber: `Q-${number}` }
      const knows = async (wanted: string) =>
        (await gateway.store.named(CLIENT.id, `Q-${number}`)).some(({ kind }) => kind === wanted)
      const tried = async (path: string, name: string, fields: Readonly<Record<string, string>>) => {
        if (await agrees(gateway, { path, name, body: encode(fields) })) sent += 1
      }
      await tried('/getShippingQuote.php', 'quote.get', { ...trip, ...own })
      if (await knows('quote')) {
        const updated = { ...change, ...own, ActionName: 'Update Rate' }
        await tried('/quotes/getShippingQuoteWTS.php', 'quote.update', updated)
      }
      await tried('/createShipment.php', 'shipment.create', { ...booking, ...reference })
      if (!(await knows('shipment'))) return
      const body = encode({ ...update, ...reference })
      await agreesLaidOver(gateway, { path: '/updateShipment.php', name: 'shipment.update', body })
      await tried('/deleteShipment.php', 'shipment.cancel', reference)
    })
    await fc.assert(law, { numRuns: HTTP_RUNS })
    expect(sent).toBeGreaterThan(HTTP_RUNS)
  })

  /** A dry run reads nothing, so an update shows only the fields that it would merge. */
  async function agreesLaidOver(gateway: TestGateway, sent: LegacyRequest): Promise<void> {
    const { dry, received } = await told(gateway, sent)
    const [read, last] = [received[0], received.at(-1)]
    // Nothing is written that cannot be translated, or that stands there already.
    if (!dry.ok || last === read) return expect(received.map(({ method }) => method)).not.toContain('PUT')
    expect(`${read?.method} ${gateway.sandbox.url}${read?.path}`).toBe(dry.request.over)
    expect(`${last?.method} ${gateway.sandbox.url}${last?.path}`).toBe(`PUT ${dry.request.url}`)
    const put = new Map(leaves(JSON.parse(last?.body ?? '{}')))
    for (const [path, said] of leaves(dry.request.body)) expect(put.get(path)).toEqual(said)
  }
})
