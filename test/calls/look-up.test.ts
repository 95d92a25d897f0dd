import { describe, expect, test } from 'vitest'
import { isId, lookUp, NOTHING_FOUND } from '../../src/calls/look-up.ts'
import { createMemoryStore } from '../../src/store/memory.ts'
import { type Approval, createXref } from '../../src/xref/xref.ts'
import { link } from '../store/samples.ts'
import { requestOf } from './requests.ts'

const TENANT = 'acme'
const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const OTHER_ID = '00000000-0000-4000-8000-00000000000a'

interface Known {
  readonly name: string
  readonly id: string
  readonly kind?: 'quote' | 'shipment'
  readonly vin?: string
  readonly givenBy?: 'caller' | 'service'
}

/** A cross-reference that knows these names, the last one newest. */
async function xrefWith(known: readonly Known[], approvals: Readonly<Record<string, Approval>> = {}) {
  const store = createMemoryStore({ now: () => 1_000 })
  const xref = createXref(store, 60_000)
  for (const [at, one] of known.entries()) {
    const shipment = { kind: 'shipment', vin: '', givenBy: 'caller', ...one } as const
    await store.put({ links: [link({ tenant: TENANT, at, ...shipment })] })
  }
  for (const [quote, approval] of Object.entries(approvals)) await xref.setApproval(TENANT, quote, approval)
  const remember = (id: string, own: string, facts: Readonly<Record<string, string>> | null) =>
    store.put({ links: [], thing: { tenant: TENANT, id, own, facts } })
  const find = async (action: string, fields: Readonly<Record<string, string>>) =>
    lookUp(requestOf(action, fields), TENANT, xref)
  return { find, remember }
}

test.each([
  [ID, true],
  [ID.toUpperCase(), true],
  [`x${ID}`, false],
  [`${ID}0`, false],
  [ID.replaceAll('-', ''), false],
  ['TL-1', false],
])('%s looks like an id: %s', (value, looksSo) => {
  expect(isId(value)).toBe(looksSo)
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

describe('the quote that a booking refers to', () => {
  const recall = async (
    known: readonly Known[],
    approvals: Readonly<Record<string, Approval>>,
    name: string,
    remembered?: { readonly id: string; readonly own: string; readonly facts: Readonly<Record<string, string>> | null },
  ) => {
    const { find, remember } = await xrefWith(known, approvals)
    if (remembered) await remember(remembered.id, remembered.own, remembered.facts)
    return find('shipment.create', { ReferenceNumber: name })
  }
  const QUOTE: Known = { name: 'N-1', id: 'Q', kind: 'quote' }
  const nothing = { ...NOTHING_FOUND, approved: undefined }

  test('is the one of its name', async () => {
    expect(await recall([QUOTE], {}, 'N-1')).toEqual({ ...nothing, quote: { id: 'Q', facts: undefined } })
    const facts = { price: '5' }
    expect(await recall([QUOTE], {}, 'N-1', { id: 'Q', own: 'N-1', facts })).toEqual({
      ...nothing,
      own: 'N-1',
      quote: { id: 'Q', facts },
    })
  })

  test('is the one whose id is the name, if it is remembered or approved', async () => {
    const facts = { price: '5' }
    expect(await recall([], {}, 'Q', { id: 'Q', own: '', facts })).toEqual({ ...nothing, quote: { id: 'Q', facts } })
    expect(await recall([], { [ID]: 'approved' }, ID)).toEqual({
      ...nothing,
      quote: { id: ID, facts: undefined },
      approved: { id: ID, sendsQuoteId: true },
    })
    expect(await recall([], {}, ID)).toEqual(NOTHING_FOUND)
    // Only what looks like an id is asked for.
    expect(await recall([], { Q: 'approved' }, 'Q')).toEqual(NOTHING_FOUND)
  })

  test.each<[Approval, boolean]>([
    ['approved', true],
    ['sent', false],
  ])('with an approval that is %s names the quote: %s', async (approval, sendsQuoteId) => {
    expect(await recall([QUOTE], { Q: approval }, 'N-1')).toMatchObject({
      quote: { id: 'Q' },
      approved: { id: 'Q', sendsQuoteId },
    })
  })

  test('may be an older one that was approved under the name', async () => {
    const OLDER: Known = { name: 'N-1', id: OTHER_ID }
    const approvals = { [OTHER_ID]: 'approved' } as const
    const approved = { id: OTHER_ID, sendsQuoteId: false }
    expect(await recall([OLDER, QUOTE], approvals, 'N-1')).toMatchObject({ quote: { id: 'Q' }, approved })
    expect(await recall([OLDER], approvals, 'N-1')).toEqual({ ...NOTHING_FOUND, approved })
    for (const other of [
      { ...OLDER, vin: 'VIN1' },
      { ...OLDER, givenBy: 'service' },
      { ...OLDER, kind: 'quote' },
    ] as const) {
      expect(await recall([other, QUOTE], approvals, 'N-1')).toMatchObject({ approved: undefined })
    }
    expect(await recall([OLDER], {}, 'N-1')).toEqual(NOTHING_FOUND)
  })

  test("may be an older one under the caller's own number, if the booking names the quote by its id", async () => {
    const OLDER: Known = { name: 'N-1', id: OTHER_ID }
    const facts = { price: '5' }
    expect(await recall([OLDER], { [OTHER_ID]: 'sent' }, 'Q', { id: 'Q', own: 'N-1', facts })).toMatchObject({
      own: 'N-1',
      quote: { id: 'Q', facts },
      approved: { id: OTHER_ID, sendsQuoteId: false },
    })
  })
})
