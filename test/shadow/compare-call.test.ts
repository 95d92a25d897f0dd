import { describe, expect, test } from 'vitest'
import type { Comparison } from '../../src/compare/answers.ts'
import { NATIVE_ERROR_NAMES } from '../../src/sandbox/sandbox.ts'
import { compareCall } from '../../src/shadow/compare-call.ts'
import { isOfRead, startPair } from './service-pair.ts'

const differing = (comparison: Comparison) => {
  if (!comparison.compared) throw new Error(comparison.why)
  return comparison.fields.flatMap(({ field, verdict }) => (verdict === 'differs' ? [field] : []))
}
const noisy = (comparison: Comparison) =>
  comparison.compared ? comparison.fields.flatMap(({ field, verdict }) => (verdict === 'noise' ? [field] : [])) : []

/** The field that shows each wrong way first. */
const SHOWN_BY: Readonly<Record<(typeof NATIVE_ERROR_NAMES)[number], readonly string[]>> = {
  'cent-more': ['Cost'],
  'whole-dollars': ['Cost'],
  'currency-in-cost': ['Cost'],
  'no-cost': ['Cost'],
  'no-number': ['ShipmentNumber'],
  'other-number': ['ShipmentNumber'],
  'extra-field': ['Currency'],
  'ignores-equipment': ['Cost'],
  'ignores-vehicle': ['Cost'],
  'ignores-destination': ['Cost'],
  'refuses-quotes': ['(answer)'],
  'swaps-ends': ['PickupAddress', 'DeliveryAddress', 'PickupZip', 'DeliveryZip'],
  'other-zip': ['PickupZip'],
  'no-phone': ['PickupPhNo.'],
  'next-year': ['Year'],
  'cut-vin': ['VinNo'],
  'upper-case-names': ['DeliveryName'],
  'other-status': ['Status'],
  'not-booked': ['TransportationBooked'],
  'loses-instruction': ['PickupTransportationInstruction'],
}

test('there are twenty wrong ways', () => {
  expect(NATIVE_ERROR_NAMES).toHaveLength(20)
})

describe.each([
  { nativeNoise: false, movingPrices: 0 },
  { nativeNoise: true, movingPrices: 0 },
])('with %o', (noise) => {
  test.each(NATIVE_ERROR_NAMES)('a service that is wrong by %s is found', async (nativeError) => {
    const { sandbox, deps, sending, quote, read, ship } = await startPair({ ...noise, nativeError })
    const shipment = await ship()
    const [asked, other] = isOfRead(nativeError) ? [read(shipment), quote()] : [quote(), read(shipment)]
    const found = differing(await compareCall(asked, 'demo', sending, deps))
    expect(found).toEqual(expect.arrayContaining([...SHOWN_BY[nativeError]]))
    if (nativeError !== 'swaps-ends') expect(found).toHaveLength(1)
    expect(differing(await compareCall(other, 'demo', sending, deps))).toEqual([])
    expect(sandbox.shipments.size).toBe(1)
  })
})

describe('nothing is invented', () => {
  test.each([0, 1, 2, 3, 4, 5, 7])('while the price moves after %i quotes', async (movingPrices) => {
    const { deps, sending, quote, read, ship } = await startPair({ nativeNoise: true, movingPrices })
    const shipment = await ship()
    let noise = 0
    for (let i = 0; i < 8; i += 1) {
      const ofQuote = await compareCall(quote({ ShipmentNumber: i % 2 ? `WTS${i}` : '' }), 'demo', sending, deps)
      expect(differing(ofQuote)).toEqual([])
      expect(noisy(ofQuote)).toEqual(expect.arrayContaining(['RequestId', 'AnsweredAt']))
      if (noisy(ofQuote).includes('Cost')) noise += 1
      expect(differing(await compareCall(read(shipment), 'demo', sending, deps))).toEqual([])
    }
    // Three quotes a comparison: a price that moves with each of them is the same within one.
    expect(noise > 0).toBe(movingPrices % 3 !== 0)
  })

  test('for bodies that both sides refuse', async () => {
    const { deps, sending, quote, read } = await startPair()
    for (const asked of [quote({ TempShipToPostalCode: '' }), read('nothing')]) {
      const comparison = await compareCall(asked, 'demo', sending, deps)
      expect(comparison).toMatchObject({ compared: true, fields: [{ field: '(answer)', verdict: 'equal' }] })
    }
  })
})

test('a version-1 body at the version-2 path is compared alike; a read has none', async () => {
  const { sandbox, deps, sending, quote, read, ship } = await startPair({}, { V2_NATIVE_PATH: '/v2' })
  const shipment = await ship()
  sandbox.requests.length = 0
  expect(differing(await compareCall(quote(), 'demo', sending, deps))).toEqual([])
  expect(sandbox.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(Array(3).fill('POST /v2/quote'))
  expect(await compareCall(read(shipment), 'demo', sending, deps)).toMatchObject({ compared: false })
})

test('a service without version-1 paths is no difference', async () => {
  const { deps, sending, quote } = await startPair({}, { V2_NATIVE_PATH: '/old' })
  const comparison = await compareCall(quote(), 'demo', sending, deps)
  expect(comparison).toEqual({ compared: false, why: 'the service answered 404' })
})
