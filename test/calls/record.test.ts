import { describe, expect, test } from 'vitest'
import { recordOf } from '../../src/calls/legacy-answer.ts'
import { compileAction } from '../../src/mapping/compile.ts'
import { compileLookup } from '../../src/mapping/lookup.ts'
import { actionNamed, planOf } from './requests.ts'

const nothing = { own: undefined, facts: undefined }
const shipment = (more: object = {}) => ({
  id: 'S',
  number: 'TL-1',
  external_id: 'EXT',
  vehicles: [{ vin: 'vin 1' }],
  ...more,
})

test('a read records nothing', () => {
  expect(recordOf(planOf('shipment.get', { ReferenceNumber: 'R' }), shipment())).toBeUndefined()
})

describe('a quote', () => {
  const sent = {
    ShipmentNumber: 'N',
    OrderRefNumber: 'O',
    TempShipFromPostalCode: '10314',
    TempShipToPostalCode: '33166',
    BillToCompany: 'Example Motors',
  }

  test('is recorded with its names and its facts', () => {
    const record = recordOf(planOf('quote.get', sent), { shipment_id: ' Q ', price: 5 })
    expect(record).toMatchObject({ kind: 'quote', id: 'Q', names: ['N', 'O'], serviceNames: [], vin: '', own: 'N' })
    expect(record?.facts).toMatchObject({ pickup: '10314', delivery: '33166', customer_name: 'Example Motors' })
  })

  test('keeps the facts that an update does not change', () => {
    const found = { id: 'Q', own: 'N', quote: { id: 'Q', facts: { pickup: '1', delivery: '2', city: 'X' } } }
    const record = recordOf(planOf('quote.update', { TempShipFromPostalCode: '10314' }, { found }), {})
    expect(record).toMatchObject({
      id: 'Q',
      names: [],
      own: 'N',
      facts: { pickup: '10314', delivery: '2', city: 'X' },
    })
  })

  test('without an id is not recorded', () => {
    expect(recordOf(planOf('quote.get', sent), { price: 5 })).toBeUndefined()
    expect(recordOf(planOf('quote.get', sent), undefined)).toBeUndefined()
  })
})

describe('an approval', () => {
  const approval = (reply: unknown, found = {}) =>
    recordOf(planOf('quote.approve', { ShipmentNumber: 'N' }, { found: { own: 'OWN', ...found } }), reply)

  test('records the shipment of which the reply speaks, as the quote that was found', () => {
    const record = { kind: 'shipment', names: ['N', 'N'], serviceNames: [], vin: '', ...nothing }
    expect(approval({ shipment_id: 'S' }, { id: 'Q' })).toEqual({ ...record, id: 'Q' })
    expect(approval({ shipment_id: 'S' })).toEqual({ ...record, id: 'S' })
  })

  test('records nothing where the reply speaks of no shipment', () => {
    expect(approval({ price: 5 }, { id: 'Q' })).toBeUndefined()
  })
})

describe('a booking', () => {
  const sent = { ReferenceNumber: 'R', VinNo: ' vin1 ' }

  test('is recorded by its reference, the quote it was made from, and the number of the service', () => {
    expect(recordOf(planOf('shipment.create', sent, { found: { own: 'N' } }), shipment())).toEqual({
      kind: 'shipment',
      id: 'S',
      names: ['R', 'N'],
      serviceNames: ['TL-1'],
      vin: 'VIN1',
      own: 'N',
      facts: undefined,
    })
  })

  test('without a VIN, a number or a quote has none', () => {
    expect(recordOf(planOf('shipment.create', { ReferenceNumber: 'R' }), { id: 'S', number: ' ' })).toEqual({
      ...{ kind: 'shipment', id: 'S', names: ['R'], serviceNames: [], vin: '' },
      ...nothing,
    })
  })

  test('of an approved quote keeps the facts of the quote', () => {
    const facts = { price: '5' }
    const record = (id: string) =>
      recordOf(planOf('shipment.create', sent, { found: { own: 'N', quote: { id, facts } } }), shipment())
    expect(record('S')?.facts).toBe(facts)
    expect(record('Q')?.facts).toBeUndefined()
  })
})

describe('an update', () => {
  const update = (sent: Readonly<Record<string, string>>, found: object, reply: unknown = shipment()) =>
    recordOf(planOf('shipment.update', sent, { found: { id: 's', namedBy: 'ReferenceNumber', ...found } }), reply)
  const onRecord = { kind: 'shipment', id: 'S', ...nothing, isOnRecord: true }

  test('adds names to the shipment that is on record', () => {
    expect(update({ ReferenceNumber: 'R', VinNo: 'v2' }, {})).toEqual({
      ...onRecord,
      names: ['R', 'EXT', 'R'],
      serviceNames: ['TL-1'],
      vin: 'V2',
    })
  })

  test.each([
    ['the only vehicle', [{ vin: ' vin 1 ' }], 'VIN1'],
    ['one of several vehicles', [{ vin: 'VIN1' }, { vin: 'VIN2' }], ''],
    ['no vehicle', [], ''],
    ['a vehicle without a VIN', [{}], ''],
    ['a vehicle with a VIN that is none', [{ vin: ['VIN1'] }], ''],
    ['what is no list', { 0: { vin: 'VIN1' }, length: 1 }, ''],
  ])('takes the VIN of %s', (_, vehicles, vin) => {
    expect(update({ ReferenceNumber: 'R' }, {}, shipment({ vehicles }))?.vin).toBe(vin)
  })

  test("adds a name of the service as the service's", () => {
    const names = { names: ['R', 'EXT'], vin: 'VIN1' }
    const sent = { ReferenceNumber: 'R', number: 'TL-9' }
    expect(update(sent, { namedBy: 'number', isNamedByService: true })).toEqual({
      ...onRecord,
      ...names,
      serviceNames: ['TL-1', 'TL-9'],
    })
    // Named by nothing that was sent, the shipment has its id as a name.
    expect(update(sent, { namedBy: undefined })).toEqual({ ...onRecord, ...names, serviceNames: ['TL-1', 'S'] })
  })

  test("adds the caller's own number", () => {
    expect(update({ ReferenceNumber: 'R' }, { own: 'N' })?.names).toEqual(['R', 'EXT', 'N', 'R'])
  })

  test('that sends neither a VIN nor a reference records nothing', () => {
    expect(update({ number: 'TL-1' }, { namedBy: 'number' })).toBeUndefined()
    expect(update({ number: 'TL-1', VinNo: 'V' }, { namedBy: 'number' })).toMatchObject({ vin: 'V' })
  })

  test('of a shipment that is not the one that was found is a record of its own', () => {
    expect(update({ ReferenceNumber: 'R' }, { id: 'other' })).toEqual({
      ...{ kind: 'shipment', id: 'S', names: ['R', 'EXT'], serviceNames: ['TL-1'], vin: '' },
      ...nothing,
    })
  })
})

test("a name of the reply is the caller's only if the caller sends its place", () => {
  const { action } = actionNamed('shipment.create')
  const tables = new Map([['vehicle_types', compileLookup({})]])
  const xrefRecord = { kind: 'shipment', id: 'id', names: [], replyNames: ['external_id', 'number'] } as const
  const plan = planOf(compileAction({ ...action, xrefRecord }, tables), {})
  expect(recordOf(plan, shipment())).toMatchObject({ names: ['EXT'], serviceNames: ['TL-1'] })
  const none = { kind: 'shipment', id: 'id', names: ['ReferenceNumber'] } as const
  const other = planOf(compileAction({ ...action, xrefRecord: none }, tables), { VinNo: 'V' })
  expect(recordOf(other, shipment())).toMatchObject({ names: [], serviceNames: [], vin: '' })
})
