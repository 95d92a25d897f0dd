import { expect, test } from 'vitest'
import {
  described,
  formOf,
  isDone,
  isRefused,
  isUnknown,
  member,
  namesIn,
  type Seen,
  seenReply,
  textOf,
  typeName,
} from '../../src/certify/seen.ts'
import { shape, updateBody } from '../../src/certify/trial.ts'
import { parseJson } from '../../src/text/json.ts'

const replied = (status: number, text = ''): Seen => seenReply({ status, headers: {}, body: Buffer.from(text) })

const STATUSES = [199, 200, 204, 299, 300, 399, 400, 401, 403, 404, 405, 409, 410, 422, 429, 499, 500]

test('a status is done, refused, unknown, or nothing of these', () => {
  const which = (is: (reply: Seen) => boolean) => STATUSES.filter((status) => is(replied(status)))
  expect(which(isDone)).toEqual([200, 204, 299])
  expect(which(isRefused)).toEqual([400, 409, 410, 422, 499])
  expect(which(isUnknown)).toEqual([404, 410])
})

test('a reply is described by its status and the type of its body', () => {
  const bodies = ['', '{', '{}', '[]', 'null', '1', '"x"', 'true', '\u00e9']
  expect(bodies.map((body) => described(replied(200, body)))).toEqual([
    '200 with no body',
    '200 with no JSON',
    '200 with an object',
    '200 with a list',
    '200 with null',
    '200 with a number',
    '200 with a string',
    '200 with a boolean',
    '200 with no JSON',
  ])
  expect(typeName(undefined)).toBe('nothing')
  expect(typeName(1)).toBe('a number')
})

test('a member is found at any depth, and never one that is inherited', () => {
  const body = parseJson('{"a":[{"b":1.50}],"c":null}')
  expect(textOf(member(body, 'a', 0, 'b'))).toBe('1.50')
  expect([member(body, 'a', 1), member(body, 'c', 'd'), member(body, 'constructor'), member('x', 'length')]).toEqual(
    Array(4).fill(undefined),
  )
  expect([textOf('x'), textOf(true), textOf(null), textOf({})]).toEqual(['x', 'true', '', ''])
})

test('the names of a body are listed, twelve of forty characters at most', () => {
  const named = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, 1]))
  expect(namesIn({ body: {} })).toBe('an empty object')
  expect(namesIn({ body: [1] })).toBe('a list')
  expect(namesIn({ body: 'x' })).toBe('a string')
  expect(namesIn({ body: named(2) })).toBe('an object with n0, n1')
  expect(namesIn({ body: named(12) })).toMatch(/, n11$/)
  expect(namesIn({ body: named(13) })).toMatch(/, n11 and 1 more$/)
  expect(namesIn({ body: { ['x'.repeat(40)]: 1 } })).toBe(`an object with ${'x'.repeat(40)}`)
  expect(namesIn({ body: { ['x'.repeat(41)]: 1 } }).length).toBeLessThanOrEqual(
    `an object with ${'x'.repeat(40)}`.length,
  )
})

test.each([
  ['2024-08-10T08:00:00.123+0530', '0000-00-00T00:00:00.000+0000'],
  ['2024-08-10T08:00:00Z', '0000-00-00T00:00:00Z'],
  ['10 août 2024', '00 aaaa 0000'],
  ['9'.repeat(50), '0'.repeat(40)],
  [null, 'null'],
  [5, 'a number'],
])('the form of %j is %s', (value, form) => {
  expect(formOf(value)).toBe(form)
})

test.each([
  ['/v2/quote?a=b/c', '/v2/quote'],
  ['/v2/quote/1-2', '/v2/quote/{quote_id}'],
  ['/v2/quote/1-2/approve', '/v2/quote/{quote_id}/approve'],
  ['/v2/shipment/x', '/v2/shipment/{shipment_id}'],
  ['/v2/shipments/x?y', '/v2/shipments/{shipment_id}'],
  ['/v2/shipments', '/v2/shipments'],
  ['/getShippingQuote.php', '/getShippingQuote.php'],
])('the shape of %s is %s', (path, expected) => {
  expect(shape(path)).toBe(expected)
})

test('an update sends a shipment back without what only the service sets, and without what is empty', () => {
  const own = { id: 1, number: 1, status: 1, price: 1, distance: 1, distance_meters: 1, documents: [] }
  const measures = { weight: 1, height: 1, width: 1, length: 1, photos: [] }
  const vehicle = { id: 'v', vin: 'X', year: null }
  const kept = { customer: { id: 'c' }, notes: '', vehicles: [{ ...vehicle, ...measures }], delivery: null }
  expect(updateBody({ ...own, ...kept })).toEqual({
    customer: { id: 'c' },
    notes: '',
    vehicles: [{ id: 'v', vin: 'X' }],
  })
  expect(updateBody({ vehicles: 'none' })).toEqual({ vehicles: 'none' })
  expect([updateBody(null), updateBody('x'), updateBody(undefined)]).toEqual([{}, {}, {}])
})
