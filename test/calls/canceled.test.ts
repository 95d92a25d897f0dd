import { describe, expect, test } from 'vitest'
import { freeCanceled, provenCanceled } from '../../src/calls/canceled.ts'
import type { UpstreamReply } from '../../src/service/exchange.ts'

const reply = (status: number, body: unknown = ''): UpstreamReply => ({
  status,
  headers: {},
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})

describe('a shipment is canceled', () => {
  const LIVES = { id: 'id-1', number: 'T-1', status: 'new' }
  const CANCELED = { ...LIVES, status: 'canceled' }

  test.each([
    ['where the reply shows it', { id: 'ID-1', status: 'canceled' }, ['id-1', 'ID-1']],
    ['where the reply shows it in another spelling', { id: 'id-1', status: 'Cancelled' }, ['id-1', 'id-1']],
    ['by no reply with another status', { id: 'id-1', status: 'posted' }, []],
    ['by no reply with another status and no id', { status: 'Picked_Up' }, []],
    ['by no reply that denies it', { id: 'id-1', status: 'canceled', success: 'No' }, []],
    ['by no reply with an error', { id: 'id-1', status: 'canceled', errors: [{ code: 7 }] }, []],
  ])('%s, and nothing is read', async (_case, said, names) => {
    const reads: string[] = []
    const read = async () => {
      reads.push('id-1')
      return reply(200, CANCELED)
    }
    expect(await provenCanceled('id-1', reply(200, said), read)).toEqual(names)
    expect(reads).toEqual([])
  })

  test.each([
    ['no reply', undefined],
    ['an empty one', reply(200)],
    ['one that is not JSON', reply(200, 'Accepted')],
    ['a list', reply(200, [CANCELED])],
    ['an empty object', reply(200, {})],
    ['one without a status', reply(200, { id: 'id-1' })],
    ['one with an empty status', reply(200, { id: 'id-1', status: ' ' })],
    ['one with the status of the call', reply(200, { id: 'id-1', status: 'success' })],
    ['one that names no shipment', reply(200, { status: 'canceled' })],
    ['one that names another', reply(200, { id: 'id-2', status: 'canceled' })],
  ])('only where a read after %s shows it', async (_case, said) => {
    expect(await provenCanceled('ID-1', said, async () => reply(200, CANCELED))).toEqual(['ID-1', 'id-1'])
    expect(await provenCanceled('id-1', said, async () => reply(200, LIVES))).toEqual([])
  })

  test.each([
    ['finds none', reply(404), ['id-1']],
    ['finds none any more', reply(410), ['id-1']],
    ['is refused, with whatever body', reply(403, CANCELED), []],
    ['fails, with whatever body', reply(500, CANCELED), []],
    ['shows another one', reply(200, { ...CANCELED, id: 'id-2' }), []],
    ['is not JSON', reply(200, 'maintenance'), []],
  ])('or not, where the read after an empty reply %s', async (_case, found, names) => {
    expect(await provenCanceled('id-1', reply(204), async () => found)).toEqual(names)
  })

  test('by no read that gets no reply', async () => {
    expect(await provenCanceled('id-1', reply(204), () => Promise.reject(new Error('silence')))).toEqual([])
  })
})

describe('the keys of a canceled shipment', () => {
  const freed = async (names: readonly string[], numbered: (name: string) => Promise<readonly string[]>) => {
    const ids: string[] = []
    await freeCanceled(names, 'acme', {
      bookings: { freeLater: async (tenant, id) => void ids.push(`${tenant} ${id}`) },
      xref: { numbered: (_, name) => numbered(name) },
    })
    return ids
  }

  const SMALL = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
  const CAPITALS = SMALL.toUpperCase()

  test('are those of each name, of an id in small letters and in capitals, and of the ids of a number, once', async () => {
    const numbered = async (name: string) => (name === 'T-1' ? [SMALL, 'id-2'] : [])
    expect(await freed(['T-1', CAPITALS], numbered)).toEqual(['T-1', CAPITALS, SMALL, 'id-2'].map((id) => `acme ${id}`))
  })

  test('are those of the names alone while the store cannot be read', async () => {
    expect(await freed([SMALL], () => Promise.reject(new Error('down')))).toEqual([`acme ${SMALL}`, `acme ${CAPITALS}`])
  })
})
