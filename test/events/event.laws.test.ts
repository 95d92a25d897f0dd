import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GatewayError } from '../../src/errors.ts'
import { EVENT_LIMIT_BYTES, type ReceivedEvent, readEvent } from '../../src/events/receive.ts'
import { isText } from '../../src/mapping/fields.ts'
import { expectLaw } from '../laws.ts'
import { runs } from '../size.ts'

/** Returns an event; undefined if it is refused in the way of the gateway. */
function read(bytes: Uint8Array): ReceivedEvent | undefined {
  try {
    return readEvent(Buffer.from(bytes))
  } catch (error) {
    if (error instanceof GatewayError && (error.status === 400 || error.status === 413)) return undefined
    throw error
  }
}

function expectStorable({ payload, ...texts }: ReceivedEvent): void {
  for (const text of [...Object.values(texts), payload]) expect(isText(text)).toBe(true)
  expect(Object.values(texts).join('')).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
  expect(Buffer.byteLength(payload)).toBeLessThanOrEqual(EVENT_LIMIT_BYTES)
  expect(JSON.parse(payload)).toBeTypeOf('object')
}

test('whatever bytes come, an event is refused in the way of the gateway', () => {
  expectLaw(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(read(bytes)).toBeUndefined()
    }),
    runs(200, 5_000),
  )
})

test('whatever members come, an event is storable or refused', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom('shipment.created', 'a', '..', ''))
  const member = fc.oneof(text, fc.jsonValue(), fc.integer(), fc.constant(undefined))
  const event = fc.record(
    { shipment_id: member, event: member, event_date: member, data: member },
    { requiredKeys: [] },
  )
  let stored = 0
  expectLaw(
    fc.property(event, (value) => {
      const found = read(Buffer.from(JSON.stringify(value)))
      if (!found) return
      stored += 1
      expectStorable(found)
    }),
    runs(3_000, 50_000),
  )
  expect(stored).toBeGreaterThan(0)
})

test('whatever its data, an event has one digest, whose value depends on nothing else', () => {
  const head = { shipment_id: 'x', event: 'shipment.modified', event_date: 'y' }
  expectLaw(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (data) => {
      const one = read(Buffer.from(JSON.stringify({ ...head, data })))
      const other = read(Buffer.from(JSON.stringify({ data, more: 1, ...head, event_date: 'z' }, null, 1)))
      expect(one).toBeDefined()
      expect(other?.digest).toBe(one?.digest)
      if (one) expectStorable(one)
    }),
    runs(200, 5_000),
  )
})
