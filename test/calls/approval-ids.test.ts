import { describe, expect, test } from 'vitest'
import { keepIds, requireOfQuote } from '../../src/calls/approve.ts'
import { changeOf } from '../../src/calls/verify.ts'
import { openDirect, TENANT } from './direct.ts'
import { replyOf } from './requests.ts'

function thrownBy(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

describe('the ids in the reply to an approval', () => {
  const kept = async (reply: unknown) => {
    const { xref } = openDirect().deps
    await keepIds(reply, 'Q', TENANT, xref)
    return xref.idsInApproval(TENANT, 'Q')
  }

  test.each<[unknown, readonly string[]]>([
    [{ id: 'S' }, ['S']],
    [{ id: 'S', shipment_id: 'T', data: { id: 5 }, shipment: { shipment_id: 'U' } }, ['S', 'T', '5', 'U']],
    [{ id: 'S', shipment_id: 'T', data: { id: 'U', shipment_id: 'V' }, shipment: { id: 'W' } }, ['S', 'T', 'U', 'V']],
    [{ id: 'S', shipment_id: 'S' }, ['S']],
    [{ id: 'Q', shipment_id: 'q', quote_id: 'R' }, []],
    [{ id: '..', shipment_id: ' ', data: 'S', shipment: [{ id: 'S' }] }, []],
    [undefined, []],
    [new Error('lost'), []],
  ])('%j are those that are not the quote: %j', async (reply, ids) => {
    expect(await kept(reply)).toEqual(ids)
  })

  test('are kept from a reply that is doubted, whatever its fault', async () => {
    for (const fault of [{}, { success: false }, { error: 'no truck' }]) {
      const doubted = thrownBy(() => changeOf(replyOf({ ...fault, id: 'S' }), 'quote', 'Q'))
      expect(await kept(doubted)).toEqual(['S'])
    }
  })

  test('stay where a later reply names none', async () => {
    const { xref } = openDirect().deps
    await keepIds({ id: 'S' }, 'Q', TENANT, xref)
    await keepIds({ id: 'Q' }, 'Q', TENANT, xref)
    expect(await xref.idsInApproval(TENANT, 'Q')).toEqual(['S'])
  })
})

describe('a shipment of such an id', () => {
  const required = async (body: object, vin?: string, id = 'S') => {
    const direct = openDirect()
    await direct.name({ kind: 'quote', name: 'ORDER', id: 'Q' })
    await direct.name({ kind: 'quote', name: 'OTHER', id: 'R' })
    await direct.name({ kind: 'shipment', name: 'BOOKED', id: 'Q' })
    const asked = { quote: 'Q', names: ['N', 'M'], vin }
    await requireOfQuote({ id, body: { ...body } }, asked, TENANT, direct.deps.xref)
  }
  const another = (what: string) => expect.objectContaining({ message: expect.stringContaining(`of another ${what}.`) })

  test.each<[object, string | undefined]>([
    [{}, 'VIN1'],
    ...['N', 'M', 'Q', 'ORDER'].map((external_id): [object, undefined] => [{ external_id }, undefined]),
    [{ vehicles: [{}, { vin: ' ' }] }, 'VIN1'],
    [{ vehicles: [{ vin: 'VIN2' }, { vin: 'vin1' }] }, 'VIN1'],
    [{ vehicles: [{ vin: 'VIN2' }] }, undefined],
    [{ vehicles: 'VIN2' }, 'VIN1'],
  ])('may be that of the quote: %j, asked with %s', async (body, vin) => {
    await expect(required(body, vin)).resolves.toBeUndefined()
  })

  test.each(['X', 'OTHER', 'BOOKED'])('is not, with the reference %s', async (external_id) => {
    await expect(required({ external_id })).rejects.toEqual(another('reference'))
  })

  test('is not, with another VIN', async () => {
    await expect(required({ vehicles: [{}, { vin: 'VIN2' }] }, 'VIN1')).rejects.toEqual(another('VIN'))
  })

  test('is the quote itself where it has its id, whatever it shows', async () => {
    await expect(required({ external_id: 'X', vehicles: [{ vin: 'VIN2' }] }, 'VIN1', 'q')).resolves.toBeUndefined()
  })
})
