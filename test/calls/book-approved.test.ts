import { describe, expect, test } from 'vitest'
import { gatewayError } from '../../src/errors.ts'
import { NoReply } from '../../src/service/exchange.ts'
import { noReplyError } from '../../src/service/failures.ts'
import { booked, ids, SHIPMENT, sentBody } from './booked.ts'
import { openDirect, type Replies, TENANT } from './direct.ts'
import { replyOf } from './requests.ts'
import { freeLocks, SENDING } from './scripted-service.ts'

describe('a booking of an approved quote', () => {
  const QUOTE_SHIPMENT = { ...SHIPMENT, id: 'Q', number: 'TL-Q', quote_id: 'own' }
  const approved = async (...replies: Replies) => {
    const direct = openDirect(...replies)
    await direct.name({ kind: 'quote', name: 'R', id: 'Q' })
    await direct.approve('Q', 'approved')
    return direct
  }

  test('is merged into the shipment of the quote, under the locks of both', async () => {
    const direct = await approved(replyOf(QUOTE_SHIPMENT), replyOf({ id: 'Q', number: 'TL-2' }))
    const answer = await booked(direct)
    expect(answer.headers).toMatchObject({ 'Transload-Shipment-Id': 'Q', 'Transload-Shipment-Number': 'TL-2' })
    expect(direct.lines()).toEqual(['GET /v2/shipments/Q', 'PUT /v2/shipments/Q'])
    expect(direct.locks).toEqual(['quote acme\nQ', 'update acme\nQ'])
    expect(sentBody(direct)).toMatchObject({
      pickup: { id: 'p', zipcode: 10_314 },
      vehicles: [{ id: 'v', vin: 'VIN1' }],
      // The quote's own place stays as the service has it.
      quote_id: 'own',
    })
    expect(direct.asked[1]?.[1]).toMatchObject({ requestId: 'id', deadline: SENDING.deadline })
  })

  test.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
  ])('may be written with its claim (%s) and the lock of its quote (%s): %s', async (isHeld, isLocked, mayWrite) => {
    const direct = await approved(replyOf(QUOTE_SHIPMENT), replyOf('', 204))
    direct.lease.isHeld = isHeld
    expect(ids(await booked(direct, { deps: freeLocks(() => isLocked) }))).toBe('Q')
    expect(direct.asked[1]?.[1].mayWrite?.()).toBe(mayWrite)
  })

  test('is sent as a new one where the quote has no shipment', async () => {
    for (const gone of [replyOf('', 404), replyOf({ ...QUOTE_SHIPMENT, status: 'canceled' })]) {
      const direct = await approved(gone, replyOf(SHIPMENT))
      expect(ids(await booked(direct))).toBe('S')
      expect(sentBody(direct)).toMatchObject({ quote_id: 'Q' })
    }
  })

  test('names no quote where its shipment is booked already, or another vehicle is', async () => {
    const taken = await approved(replyOf(SHIPMENT))
    await taken.claim({ key: 'x', reference: 'x' }, 'booked', 'Q')
    const another = await approved(replyOf('', 404), replyOf(SHIPMENT))
    await another.name({ name: 'R', id: 'other', vin: 'VIN2' })
    await another.claim({ key: 'x', reference: 'x' }, 'booked', 'other')
    for (const direct of [taken, another]) {
      expect(ids(await booked(direct))).toBe('S')
      expect(sentBody(direct)).not.toHaveProperty('quote_id')
    }
    expect(taken.lines()).toEqual(['POST /v2/shipments'])
    // The same vehicle, or one that was not booked here, is no other.
    for (const vin of ['VIN1', 'VIN2']) {
      const same = await approved(replyOf('', 404), replyOf(SHIPMENT))
      await same.name({ name: 'R', id: 'other', vin })
      if (vin === 'VIN1') await same.claim({ key: 'x', reference: 'x' }, 'booked', 'other')
      await booked(same)
      expect(sentBody(same)).toHaveProperty('quote_id', 'Q')
    }
  })

  test('is sent as any other where approvals do not book', async () => {
    const direct = await approved(replyOf(SHIPMENT))
    await booked(direct, { deps: { approvalBooks: 'no' } })
    expect(direct.lines()).toEqual(['POST /v2/shipments'])
    expect(direct.locks).toEqual([])
  })

  const UNKNOWN = 'outcome-unknown'
  test.each<[string, Replies, object]>([
    ['a read that fails', [replyOf('', 500)], { code: 'service-unavailable', headers: { 'Retry-After': '5' } }],
    ['a read of another one', [replyOf(SHIPMENT)], { code: 'service-unavailable' }],
    ['a refusal', [replyOf(QUOTE_SHIPMENT), replyOf('', 422)], { code: 'service-refused' }],
    ['a service that is not there', [replyOf(QUOTE_SHIPMENT), replyOf('', 503)], { code: 'service-unavailable' }],
    ...(['unsent', 'busy', 'withdrawn'] as const).map((silence): [string, Replies, object] => {
      const error = noReplyError(new NoReply(silence))
      return [`an update that is ${silence}`, [replyOf(QUOTE_SHIPMENT), error], { code: error.code }]
    }),
    ['an open circuit', [replyOf(QUOTE_SHIPMENT), gatewayError('circuit-open', { serviceSays: '' })], {}],
    [
      'no token',
      [replyOf(QUOTE_SHIPMENT), gatewayError('login-failed', { serviceSays: '' })],
      { code: 'login-failed' },
    ],
    [
      'a refused token',
      [replyOf(QUOTE_SHIPMENT), gatewayError('login-refused', { serviceSays: '' })],
      { code: 'login-refused' },
    ],
    [
      'changes of others',
      Array.from({ length: 3 }, () => [replyOf(QUOTE_SHIPMENT), replyOf('', 412)]).flat(),
      { code: 'shipment-changed' },
    ],
    [
      'a lost update',
      [replyOf(QUOTE_SHIPMENT), noReplyError(new NoReply('late'))],
      { code: UNKNOWN, headers: { 'Retry-After': '5' } },
    ],
    ['a failed update', [replyOf(QUOTE_SHIPMENT), replyOf('', 500)], { code: UNKNOWN }],
    [
      'a reply that shows it as canceled',
      [replyOf(QUOTE_SHIPMENT), replyOf({ id: 'Q', status: 'canceled' })],
      { code: UNKNOWN, cause: { message: expect.stringContaining('it is canceled') } },
    ],
  ])('after %s is refused, and may be sent again', async (_, replies, error) => {
    const direct = await approved(...replies)
    await expect(booked(direct)).rejects.toMatchObject(error)
    expect(await direct.deps.bookings.pending(TENANT)).toEqual([])
  })

  test('needs an update among the actions', async () => {
    const direct = await approved(replyOf(QUOTE_SHIPMENT))
    const catalog = { ...direct.deps.catalog, actions: new Map() }
    await expect(booked(direct, { deps: { catalog } })).rejects.toThrow('The mappings declare no update of a shipment.')
  })
})
