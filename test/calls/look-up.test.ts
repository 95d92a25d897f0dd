import { describe, expect, test } from 'vitest'
import { NOTHING_FOUND } from '../../src/calls/find.ts'
import { isUuid } from '../../src/text/service-text.ts'
import { ID, type Known, xrefWith } from './known-names.ts'

test.each([
  [ID, true],
  [ID.toUpperCase(), true],
  [`x${ID}`, false],
  [`${ID}0`, false],
  [ID.replaceAll('-', ''), false],
  ['TL-1', false],
])('%s looks like an id: %s', (value, looksSo) => {
  expect(isUuid(value)).toBe(looksSo)
})

describe('the shipment that a call names', () => {
  test('is the one of its name, with what is remembered of it', async () => {
    const { find, remember } = await xrefWith([{ name: 'REF', id: 'S', vin: 'VIN1' }])
    const found = {
      id: 'S',
      namedBy: 'ReferenceNumber',
      isShipment: true,
      isVinUnknown: false,
      isNamedByService: false,
    }
    expect(await find('shipment.get', { ReferenceNumber: 'REF' })).toEqual({
      ...found,
      own: undefined,
      quote: { id: 'S', facts: undefined },
    })
    await remember('S', 'N-1', { price: '5' })
    expect(await find('shipment.get', { ReferenceNumber: 'REF' })).toEqual({
      ...found,
      own: 'N-1',
      quote: { id: 'S', facts: { price: '5' } },
    })
  })

  test('is known without a VIN, and by a name of the service', async () => {
    const { find } = await xrefWith([{ name: 'TL-1', id: 'S', givenBy: 'service' }])
    expect(await find('shipment.cancel', { number: 'TL-1', ReferenceNumber: 'none' })).toMatchObject({
      id: 'S',
      namedBy: 'number',
      isNamedByService: true,
      isVinUnknown: true,
      isShipment: true,
    })
  })

  test('has the name as its own number only where the field is the number', async () => {
    const { find } = await xrefWith([{ name: 'Q-1', id: 'Q', kind: 'quote' }])
    expect(await find('quote.update', { ShipmentNumber: 'Q-1' })).toMatchObject({
      id: 'Q',
      own: 'Q-1',
      isShipment: false,
    })
    const { find: other } = await xrefWith([{ name: 'REF', id: 'S' }])
    expect(await other('shipment.get', { ReferenceNumber: 'REF' })).toMatchObject({ own: undefined })
  })

  test('is first the one of a name that the caller gave, whichever field has it', async () => {
    const { find } = await xrefWith([
      { name: 'A', id: 'of-service', givenBy: 'service' },
      { name: 'B', id: 'of-caller' },
    ])
    for (const fields of [
      { ReferenceNumber: 'A', number: 'B' },
      { ReferenceNumber: 'B', number: 'A' },
    ]) {
      expect(await find('shipment.get', fields)).toMatchObject({ id: 'of-caller' })
    }
    // Of two names of the service, the first.
    const { find: second } = await xrefWith([
      { name: 'A', id: 'one', givenBy: 'service' },
      { name: 'B', id: 'two', givenBy: 'service' },
    ])
    expect(await second('shipment.get', { ReferenceNumber: 'B', number: 'A' })).toMatchObject({ id: 'two' })
  })

  test('is an id as it is, if no name is known', async () => {
    const { find } = await xrefWith([{ name: 'Q', id: 'quote', kind: 'quote' }])
    expect(await find('shipment.get', { ReferenceNumber: 'none', id: ID })).toEqual({
      id: ID,
      namedBy: 'id',
      isNamedByService: true,
      own: undefined,
      quote: { id: ID, facts: undefined },
      isShipment: false,
    })
    // An id comes before a quote of the name.
    expect(await find('shipment.get', { ReferenceNumber: 'Q', id: ID })).toMatchObject({ id: ID })
  })

  test('may be an approved quote, but is never the shipment that the service gave its number', async () => {
    const { find } = await xrefWith([
      { name: 'Q', id: 'of-service', givenBy: 'service' },
      { name: 'Q', id: 'quote', kind: 'quote' },
      { name: 'P', id: 'other', kind: 'quote' },
    ])
    expect(await find('shipment.get', { ReferenceNumber: 'Q', number: 'P' })).toMatchObject({
      id: 'quote',
      namedBy: 'ReferenceNumber',
      isShipment: false,
    })
  })

  test('is not known, or not named', async () => {
    const { find } = await xrefWith([])
    expect(await find('shipment.get', { ReferenceNumber: 'none' })).toBeUndefined()
    expect(await find('shipment.get', {})).toBe(NOTHING_FOUND)
    expect(NOTHING_FOUND).toEqual({
      id: undefined,
      namedBy: undefined,
      own: undefined,
      quote: undefined,
      isShipment: false,
    })
  })
})

describe('of several shipments of one name', () => {
  const ONE: Known = { name: 'REF', id: 'one', vin: 'VIN1' }
  const TWO: Known = { name: 'REF', id: 'two', vin: 'VIN2' }
  const BARE: Known = { name: 'REF', id: 'bare' }
  const chosen = async (action: string, known: readonly Known[], VinNo?: string) => {
    const { find } = await xrefWith(known)
    const found = await find(action, { ReferenceNumber: 'REF', ...(VinNo !== undefined && { VinNo }) })
    if (!found || !('shipments' in found)) return found?.id
    expect(found.name).toEqual(['ReferenceNumber', 'REF'])
    return `${found.message}: ${found.vins}`
  }

  test.each<[string, readonly Known[], string | undefined, string]>([
    ['shipment.get', [ONE, TWO], undefined, 'two'],
    ['shipment.get', [ONE, TWO], ' vin1 ', 'one'],
    ['shipment.get', [ONE, TWO], 'VIN3', 'several-matches: VIN2, VIN1'],
    ['shipment.get', [ONE], 'VIN3', 'one'],
    ['shipment.update', [ONE, TWO], undefined, 'several-matches: VIN2, VIN1'],
    ['shipment.update', [ONE], 'VIN3', 'one'],
    ['shipment.update', [ONE, TWO], 'VIN3', 'several-matches: VIN2, VIN1'],
    ['shipment.cancel', [ONE, TWO], undefined, 'several-matches: VIN2, VIN1'],
    ['shipment.cancel', [ONE, TWO], 'VIN2', 'two'],
    ['shipment.cancel', [ONE], undefined, 'one'],
    ['shipment.cancel', [ONE], 'VIN3', 'several-matches/vin: VIN1'],
    ['shipment.cancel', [BARE], 'VIN3', 'bare'],
    ['shipment.cancel', [ONE, BARE], undefined, 'several-matches: (none), VIN1'],
    // One that is known with a VIN and without one is listed once.
    ['shipment.cancel', [ONE, { ...ONE, vin: '' }, TWO], undefined, 'several-matches: VIN2, VIN1'],
    ['shipment.cancel', [ONE, { ...ONE, vin: '' }], undefined, 'one'],
    ['shipment.cancel', [ONE, { ...ONE, vin: '' }], 'VIN3', 'several-matches/vin: VIN1'],
  ])('%s of %o with the VIN %s: %s', async (action, known, vin, expected) => {
    expect(await chosen(action, known, vin)).toBe(expected)
  })
})
