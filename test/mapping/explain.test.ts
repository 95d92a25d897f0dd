import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { text } from '../../mappings/codecs.ts'
import { codec, LeftOut } from '../../src/mapping/codec.ts'
import { compileAction } from '../../src/mapping/compile.ts'
import {
  type Action,
  callerNumber,
  fixed,
  ifPresent,
  ifSeveral,
  message,
  move,
  split,
  v1Only,
  v2Only,
} from '../../src/mapping/declare.ts'
import { explainReplyTranslation, explainRequestTranslation } from '../../src/mapping/explain.ts'
import { sortFields } from '../../src/mapping/fields.ts'
import { actionOf } from '../cases/read.ts'

const SETTINGS = {
  transport_type: 'open',
  vehicle_type: 'car',
  send_quote_id: false,
  shipment_number: 'caller',
} as const

test('the id of a quote is not shown to a caller that has a number of its own, and the account says why', () => {
  const { unused } = explainReplyTranslation(actionOf('quote.get'), { shipment_id: 'x', price: 5 }, SETTINGS, 'N-1')
  expect(unused).toEqual([{ field: 'shipment_id', why: 'the caller has a number of its own for it' }])
})

const declared: Action = {
  name: 'trip.get',
  summary: 'Read a trip.',
  family: 'quote',
  legacy: { method: 'POST', paths: ['/trip.php'], actionNames: 'any' },
  service: { method: 'POST', path: '/v2/trips' },
  request: [],
  reply: [
    move('Cost', 'price', text),
    callerNumber('Number', 'number'),
    fixed('Booked', 'Yes'),
    message('Message', [
      ifPresent('status', 'It is {state|status}, by {driver.name}.'),
      ifSeveral('stops', 'It has {stops.length} stops.'),
    ]),
    message('Note', [{ text: 'See {url}.' }]),
    ...v2Only(['parts'], 'version 1 has no parts'),
  ],
  example: { request: {}, reply: {} },
}
const explained = (body: unknown, own?: string) =>
  explainReplyTranslation(compileAction(declared, new Map()), body, SETTINGS, own)

describe('the account of a reply', () => {
  const body = {
    price: '5',
    number: 'TL-1',
    status: 'new',
    driver: { name: 'Pat', phone: '555' },
    stops: [{ zip: 1 }, { zip: 2 }],
    url: 'u',
    parts: { a: [1], b: {} },
    color: 'red',
  }

  test('has every leaf once: used, unused with the reason, or unknown', () => {
    const { reply, fields, unused, unknown, missing } = explained(body)
    expect(reply).toEqual({
      Cost: '5',
      Number: 'TL-1',
      Booked: 'Yes',
      Message: 'It is new, by Pat. It has 2 stops.',
      Note: 'See u.',
    })
    expect(fields.map(({ to, from }) => [to, from])).toEqual([
      ['Cost', ['price']],
      ['Number', ['number']],
      ['Booked', []],
      ['Message', ['status', 'driver.name', 'stops[0].zip', 'stops[1].zip']],
      ['Note', ['url']],
    ])
    expect(fields.at(-1)).toMatchObject({ to: 'Note', after: 'See u.', rule: 'message', origin: 'fixed' })
    expect(unused).toEqual([
      { field: 'parts.a[0]', why: 'version 1 has no parts' },
      { field: 'parts.b', why: 'version 1 has no parts' },
    ])
    expect(unknown).toEqual(['driver.phone', 'color'])
    expect(missing).toEqual([])
  })

  test('says why a number of the service is not shown', () => {
    expect(explained({ number: 'TL-1' }, 'N-1').unused).toEqual([
      { field: 'number', why: 'the caller has a number of its own for it' },
    ])
  })

  test('names what is missing', () => {
    const reply = [move('Cost', 'price', text, { required: true })]
    const compiled = compileAction({ ...declared, reply }, new Map())
    expect(explainReplyTranslation(compiled, {}, SETTINGS, undefined).missing).toEqual(['price'])
  })
})

describe('a field that counts as absent', () => {
  const nothing = codec(z.record(z.string(), z.string()), {
    name: 'nothing',
    summary: '',
    decode: (_text, _fail, leaveOut): Record<string, string> => leaveOut('it means nothing'),
    encode: () => '',
  })
  const lost = 'lost: it means nothing'

  test.each([
    ['moves', [move('A', 'a', nothing)], [], lost],
    ['is split', [split('A', { b: 'b' }, nothing)], [], lost],
    ['is to be remembered', [], [move('A', 'a', nothing)], lost],
    ['has a reason of its own', [...v1Only(['A'], 'nobody asks')], [], 'nobody asks'],
  ])('and %s is said to be lost', (_, request, remember, why) => {
    expect(nothing.decode?.('x')).toBeInstanceOf(LeftOut)
    const compiled = compileAction({ ...declared, request, remember }, new Map())
    const fields = sortFields(compiled.fields, [['A', 'x']])
    expect(explainRequestTranslation(compiled, fields, SETTINGS, undefined).unused).toEqual([{ field: 'A', why }])
  })
})
