import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { shipmentExample } from '../../mappings/booking-rows.ts'
import { replyShapes } from '../../mappings/service-shapes.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { knownShapes } from '../../src/drift/known-shapes.ts'
import { createSentinel } from '../../src/drift/sentinel.ts'
import { any, object, UNPLAIN_NAME } from '../../src/mapping/shape.ts'
import { MOST_DRIFT, OTHER_DRIFT } from '../../src/store/drift.ts'
import { parseJson } from '../../src/text/json.ts'
import { runs } from '../size.ts'

const { actions } = await loadMappings()
const QUOTE = { shipment_id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11', price: 1234.5 }
const VEHICLE = { id: 'a', vin: '1FDXE4FN9PDD32477', year: 2023, type: 'van' }
const SHIPMENT = { id: 'a', number: 'TL-1', status: 'new', price: 1, vehicles: [VEHICLE] }

/** Returns the differences that replies to an action show. */
function seenIn(action: string, ...replies: readonly unknown[]): readonly string[] {
  const sentinel = createSentinel(replyShapes, () => 1)
  for (const reply of replies) sentinel.inspect(action, reply)
  return sentinel.take().map(({ kind, path, count }) => `${kind} ${path} ${count}`)
}

describe('documented replies show nothing', () => {
  test.each([...actions.values()].map(({ action }) => [action.name, action.example.reply] as const))(
    '%s',
    (name, reply) => {
      expect(seenIn(name, reply)).toEqual([])
    },
  )

  test('a whole shipment, with both forms of dates, in any digits', () => {
    const photo = {
      id: 'p',
      type: 'pickup',
      url: 'u',
      latitude: 1,
      longitude: -1,
      created_dttm: '2024-08-10T08:00:00.000-0500',
    }
    const whole = {
      ...SHIPMENT,
      pickup: { zipcode: 75234, pickup_dttm: '2024-08-10T08:00:00+0000', available_pickup_dttm: null },
      vehicles: [{ ...VEHICLE, photos: [photo] }],
      documents: [{ id: 'd', type: 'bol', url: 'u' }],
    }
    expect(
      seenIn('shipment.get', whole, parseJson(JSON.stringify(whole).replace('"price":1', '"price":1.50'))),
    ).toEqual([])
    expect(seenIn('shipment.get', shipmentExample, undefined)).toEqual([])
  })
})

describe('each kind of difference is seen, without its value', () => {
  const pickup = (change: object) => ({ ...SHIPMENT, pickup: change })
  const vehicle = (change: object) => ({ ...SHIPMENT, vehicles: [{ ...VEHICLE, ...change }] })
  test.each([
    ['quote.get', { ...QUOTE, currency: 'USD' }, 'new-field quote.currency'],
    ['quote.get', { shipment_id: 'x' }, 'missing-field quote.price'],
    ['quote.get', { ...QUOTE, price: null }, 'missing-field quote.price'],
    ['quote.get', { ...QUOTE, price: '1234.50' }, 'other-type quote.price'],
    ['quote.update', { ...QUOTE, price: {} }, 'other-type quote.price'],
    ['shipment.get', { ...SHIPMENT, status: 'in_transit' }, 'new-value shipment.status'],
    ['shipment.get', { ...SHIPMENT, transport_type: 'OPEN' }, 'new-value shipment.transport_type'],
    ['shipment.get', { ...SHIPMENT, vehicles: {} }, 'other-type shipment.vehicles'],
    ['shipment.get', vehicle({ color: 'red' }), 'new-field shipment.vehicles[].color'],
    ['shipment.get', vehicle({ is_modified: 'no' }), 'other-type shipment.vehicles[].is_modified'],
    ['shipment.get', vehicle({ id: undefined }), 'missing-field shipment.vehicles[].id'],
    ['shipment.get', pickup({ zipcode: '02134' }), 'other-type shipment.pickup.zipcode'],
    ['shipment.get', pickup({ pickup_dttm: '2024-08-10T08:00:00Z' }), 'other-date-form shipment.pickup.pickup_dttm'],
    ['shipment.get', pickup({ pickup_dttm: 1723276800 }), 'other-type shipment.pickup.pickup_dttm'],
    ['shipment.get', pickup({ gate: { code: 1 } }), 'new-field shipment.pickup.gate'],
    ['shipment.cancel', { ...SHIPMENT, refund: 1 }, 'new-field shipment.refund'],
    ['shipment.cancel', { ...SHIPMENT, status: 'cancelled' }, 'new-value shipment.status'],
  ])('%s %j', (action, reply, expected) => {
    expect(seenIn(action, reply)).toEqual([`${expected} 1`])
  })

  test.each(['id', 'number', 'status', 'price', 'vehicles'])('a shipment without its %s', (name) => {
    for (const action of ['shipment.create', 'shipment.get']) {
      expect(seenIn(action, { ...SHIPMENT, [name]: undefined })).toEqual([`missing-field shipment.${name} 1`])
    }
  })

  test('once for a thing, however many actions and vehicles show it', () => {
    const reply = { ...SHIPMENT, vehicles: [VEHICLE, { ...VEHICLE, color: 'red' }, { ...VEHICLE, color: 'blue' }] }
    const sentinel = createSentinel(replyShapes, () => 1)
    for (const action of ['shipment.get', 'shipment.create', 'shipment.update']) sentinel.inspect(action, reply)
    expect(sentinel.take()).toEqual([
      { kind: 'new-field', path: 'shipment.vehicles[].color', count: 6, firstAt: 1, lastAt: 1 },
    ])
    expect(sentinel.take()).toEqual([])
  })

  test('a name that may be a value is not shown', () => {
    const names = [
      'pat@example.com',
      '2145550100',
      'TL-100001',
      'x'.repeat(65),
      'a b',
      '\u001b[31m',
      '__proto__',
      'toString',
      '',
    ]
    const reply = parseJson(`{"shipment_id":"x","price":1,${names.map((name) => `${JSON.stringify(name)}:1`).join()}}`)
    expect(seenIn('quote.get', reply)).toEqual([
      `new-field quote.${UNPLAIN_NAME} 7`,
      'new-field quote.__proto__ 1',
      'new-field quote.toString 1',
    ])
  })
})

test('a place that a mapping of the operator reads is known', () => {
  const row = { kind: 'fixed', v1: 'x', value: '' } as const
  const quote = actions.get('quote.get')
  if (!quote) throw new Error('there is no action')
  const reply = [row, { kind: 'callerNumber', v1: 'ShipmentNumber', v2: 'tracking.number' } as const]
  const own = new Map([['quote.get', { ...quote, action: { ...quote.action, reply } }]])
  const sentinel = createSentinel(knownShapes(replyShapes, { actions: own }), () => 1)
  sentinel.inspect('quote.get', { ...QUOTE, tracking: { number: 1, url: 'u' } })
  expect(sentinel.take().map(({ path }) => path)).toEqual([])
  // Those of the program read nothing else than the document shows.
  expect(knownShapes({ x: object({ a: any }) }, { actions })).toEqual({ x: object({ a: any }) })
})

describe('bounds', () => {
  test('hold for a service that invents fields', () => {
    let at = 0
    const sentinel = createSentinel(replyShapes, () => at)
    let stored = 0
    for (let i = 0; i < 100; i += 1) {
      at += 1
      const fields = Object.fromEntries(Array.from({ length: 200 }, (_, j) => [`f${letters(i)}_${letters(j)}`, j]))
      sentinel.inspect('quote.get', { ...QUOTE, ...fields })
      if (i % 10 === 9) stored += sentinel.take().length
    }
    // 50 names of each reply are counted: those beyond the limit as one.
    expect(stored).toBeLessThanOrEqual(MOST_DRIFT + 100)
    expect(sentinel.counts()['new-field']).toBe(5_000)
    sentinel.inspect('quote.get', { ...QUOTE, another: 1 })
    expect(sentinel.take()).toEqual([{ kind: 'new-field', path: OTHER_DRIFT, count: 1, firstAt: 100, lastAt: 100 }])
  })

  test('hold for any reply, which never makes an inspection throw', () => {
    const sentinel = createSentinel(replyShapes, () => 1)
    const names = Object.keys(replyShapes)
    fc.assert(
      fc.property(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 6 }), fc.string(), (name, value, secret) => {
        sentinel.inspect(name, value)
        sentinel.inspect(name, { ...SHIPMENT, status: `${secret}!`, price: secret, pickup: value })
        for (const { path } of sentinel.take()) expect(path.length).toBeLessThan(200)
      }),
      { numRuns: runs(300, 10_000) },
    )
  })
})

/** A number in letters, because names with digits may be values. */
const letters = (value: number): string => [...String(value)].map((digit) => 'abcdefghij'[Number(digit)]).join('')
