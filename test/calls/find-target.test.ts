import { describe, expect, test } from 'vitest'
import { findTarget, NOTHING_FOUND } from '../../src/calls/find.ts'
import { openDirect, type Replies, TENANT } from './direct.ts'
import { replyOf, requestOf } from './requests.ts'
import { SENDING } from './scripted-service.ts'

const SHIPMENT = { id: 'S', number: 'TL-1', status: 'new', vehicles: [{ vin: ' vin1' }, { vin: 5 }, {}, null] }
const CANCELED = { ...SHIPMENT, status: 'canceled' }

const find = async (direct: ReturnType<typeof openDirect>, action: string, fields: Readonly<Record<string, string>>) =>
  findTarget(requestOf(action, fields), TENANT, SENDING, direct.deps)

test('a call that names nothing finds nothing, and asks nobody', async () => {
  expect(await find(openDirect(), 'quote.get', { ShipmentNumber: 'N' })).toBe(NOTHING_FOUND)
  expect(await find(openDirect(), 'shipment.create', {})).toBe(NOTHING_FOUND)
})

describe('a name that is not known', () => {
  test('is asked for at the service, and recorded', async () => {
    const direct = openDirect(replyOf('', 404), replyOf(SHIPMENT))
    const fields = { ReferenceNumber: 'NONE', number: 'tl-1' }
    expect(await find(direct, 'shipment.get', fields)).toEqual({
      id: 'S',
      namedBy: 'number',
      own: undefined,
      quote: { id: 'S', facts: undefined },
      isNamedByService: true,
      isShipment: true,
      shipment: { id: 'S', body: SHIPMENT },
    })
    expect(direct.lines().toSorted()).toEqual(['GET /v2/shipments/NONE', 'GET /v2/shipments/tl-1'])
    expect(direct.asked[0]?.[1]).toBe(SENDING)
    expect(await direct.deps.xref.matches(TENANT, 'tl-1')).toMatchObject([
      { kind: 'shipment', id: 'S', vin: '', givenBy: 'service' },
    ])
  })

  test.each(['a/b', '..', '.', 'a b', 'ü', 'x'.repeat(65)])(
    'is not asked for if it is no plain text: %s',
    async (name) => {
      const direct = openDirect()
      await expect(find(direct, 'shipment.get', { ReferenceNumber: name })).rejects.toMatchObject({
        code: 'number-unknown',
        message: `No shipment is known by ReferenceNumber ${name}. Check the number.`,
      })
      expect(direct.lines()).toEqual([])
    },
  )

  test.each(['a..b', '.a', 'A-9_z', 'x'.repeat(64)])('is asked for if it is plain text: %s', async (name) => {
    const direct = openDirect(replyOf('', 404))
    await expect(find(direct, 'shipment.get', { ReferenceNumber: name })).rejects.toMatchObject({ status: 404 })
    expect(direct.lines()).toEqual([`GET /v2/shipments/${name}`])
  })

  test('of a quote is never asked for', async () => {
    await expect(
      find(openDirect(), 'quote.update', { ShipmentNumber: 'N', OrderRefNumber: 'O' }),
    ).rejects.toMatchObject({
      code: 'number-unknown',
      message: 'No quote is known by ShipmentNumber N or OrderRefNumber O. Check the number.',
    })
  })

  test.each([
    [replyOf('', 401), { status: 401 }],
    [replyOf('', 500), { code: 'service-failed' }],
    [replyOf({ ...SHIPMENT, number: 'other' }), { code: 'reply-doubtful' }],
  ])('ends the search where the service does not say that it is unknown: %#', async (reply, error) => {
    await expect(find(openDirect(reply), 'shipment.get', { number: 'TL-1' })).rejects.toMatchObject(error)
  })
})

describe('a shipment that is known without a VIN', () => {
  const known = async (...replies: Parameters<typeof replyOf>[0][]) => {
    const direct = openDirect(...replies.map((body) => replyOf(body)))
    await direct.name({ name: 'TL-1', id: 'S', givenBy: 'service' })
    return direct
  }

  test.each([
    ['one of its VINs', SHIPMENT, 'VIN 1'],
    ['a VIN, where none is shown', { ...SHIPMENT, vehicles: [] }, 'V'],
    ['a VIN, where no vehicles are shown', { ...SHIPMENT, vehicles: 'x' }, 'V'],
    ['a VIN, where another one is shown', { ...SHIPMENT, id: 'x' }, 'V'],
  ])('may be canceled with %s', async (_, shown, VinNo) => {
    const direct = await known(shown)
    expect(await find(direct, 'shipment.cancel', { number: 'TL-1', VinNo })).toMatchObject({ id: 'S' })
    expect(direct.lines()).toEqual(['GET /v2/shipments/S'])
  })

  test('is not canceled with another VIN', async () => {
    const cancel = find(await known(SHIPMENT), 'shipment.cancel', { number: 'TL-1', VinNo: 'V' })
    await expect(cancel).rejects.toMatchObject({
      code: 'several-matches',
      message: 'The number names a shipment with another VinNo. Send its VinNo: VIN1, 5.',
    })
  })

  test.each([
    ['shipment.get', { VinNo: 'V' }],
    ['shipment.update', { VinNo: 'V' }],
    ['shipment.cancel', {}],
  ])('is not read before a %s with %o', async (action, fields) => {
    const direct = await known()
    expect(await find(direct, action, { number: 'TL-1', ...fields })).toMatchObject({ id: 'S' })
  })
})

describe('of several shipments of one name', () => {
  const several = async (ids: readonly string[], ...replies: Replies) => {
    const direct = openDirect(...replies)
    for (const [at, id] of ids.entries()) await direct.name({ name: 'R', id, vin: `VIN-${id}`, at })
    return direct
  }
  const cancel = (direct: ReturnType<typeof openDirect>) => find(direct, 'shipment.cancel', { ReferenceNumber: 'R' })

  test('the one that is not canceled is meant', async () => {
    const direct = await several(['A', 'S'], replyOf(CANCELED), replyOf({ ...SHIPMENT, id: 'A' }))
    expect(await cancel(direct)).toMatchObject({ id: 'A', namedBy: 'ReferenceNumber', isShipment: true })
    expect(direct.lines()).toEqual(['GET /v2/shipments/S', 'GET /v2/shipments/A'])
  })

  test('the newest is meant where all are gone', async () => {
    const direct = await several(['A', 'S'], replyOf(CANCELED), replyOf('', 410))
    expect(await cancel(direct)).toMatchObject({ id: 'S' })
  })

  test('none is meant where several are left', async () => {
    const direct = await several(
      ['A', 'B', 'S'],
      replyOf({ ...CANCELED, id: 'S' }),
      replyOf({ ...SHIPMENT, id: 'B' }),
      replyOf('', 500),
    )
    await expect(cancel(direct)).rejects.toMatchObject({
      code: 'several-matches',
      message: expect.stringContaining('VIN-B, VIN-A.'),
    })
    const live = await several(['A', 'S'], replyOf(SHIPMENT), replyOf({ ...SHIPMENT, id: 'A' }))
    await expect(cancel(live)).rejects.toMatchObject({ message: expect.stringContaining('VIN-S, VIN-A.') })
  })

  test.each([401, 403])('none is listed to a credential that is answered with %i', async (status) => {
    const direct = await several(['A', 'S'], replyOf('', status))
    await expect(cancel(direct)).rejects.toMatchObject({ code: 'service-refused', status })
  })
})
