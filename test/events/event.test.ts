import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { EVENT_LIMIT_BYTES, EVENT_NAMES, readEvent } from '../../src/events/receive.ts'

const EVENT = { shipment_id: 's-1', event: 'shipment.created', event_date: '2024-08-10T08:00:00+0000' }
const read = (value: unknown) => readEvent(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)))
const digestOf = (text: string) => createHash('sha256').update(text).digest('hex')

test('the documented events are nine', () => {
  expect(EVENT_NAMES.map((name) => name.replace('shipment.', ''))).toEqual([
    'created',
    'modified',
    'assigned',
    'picked_up',
    'delivered',
    'canceled_by_carrier',
    'canceled',
    'rate_approved',
    'bol_available',
  ])
})

test('an event has its members, a digest of its data, and itself in one form', () => {
  expect(read({ ...EVENT, data: { b: 1, a: null } })).toEqual({
    shipment: 's-1',
    spelled: 's-1',
    event: 'shipment.created',
    date: EVENT.event_date,
    digest: digestOf('{"a":null,"b":1}'),
    payload: `{"data":{"a":null,"b":1},"event":"shipment.created","event_date":"${EVENT.event_date}","shipment_id":"s-1"}`,
  })
  for (const data of [undefined, null]) expect(read({ ...EVENT, data }).digest).toBe(digestOf(''))
  expect(read({ ...EVENT, data: [] }).digest).toBe(digestOf('[]'))
})

describe('at its limits', () => {
  test.each([
    ['shipment_id', 's'.repeat(64), 's'.repeat(65)],
    ['event', 'e'.repeat(64), 'e'.repeat(65)],
    ['event', 'A.b_c:d-1', 'a b'],
    ['event_date', '2'.repeat(64), '2'.repeat(65)],
    ['event_date', ' 2024 08 10 ', '2024\t08'],
    ['event_date', '5', 'é'],
    ['event_date', 1_723_276_800, null],
    ['data', {}, 5],
  ])('a %s may be %j, and not %j', (name, good, bad) => {
    expect(read({ ...EVENT, [name]: good })).toMatchObject({ shipment: expect.any(String) })
    expect(() => read({ ...EVENT, [name]: bad })).toThrow(`has ${name === 'data' ? 'data' : `no usable ${name}`}`)
  })

  test('an event may be as long as it is stored', () => {
    const empty = { ...EVENT, data: { note: '' } }
    const room = EVENT_LIMIT_BYTES - read(empty).payload.length
    const event = (characters: number) => ({ ...EVENT, data: { note: 'x'.repeat(characters) } })
    expect(read(event(room)).payload).toHaveLength(65_536)
    expect(() => read(event(room + 1))).toThrow(expect.objectContaining({ code: 'body-too-large' }))
  })
})

test.each([
  ['{', /is not JSON: /],
  ['[]', /is not a JSON object/],
  ['5', /is not a JSON object/],
])('%s is no event', (text, said) => expect(() => read(text)).toThrow(said))
