import { describe, expect, test } from 'vitest'
import { book } from '../../src/calls/book.ts'
import { findTarget } from '../../src/calls/find.ts'
import { planCall } from '../../src/calls/plan.ts'
import { gatewayError } from '../../src/errors.ts'
import { booked, caller, ids, SENT, SHIPMENT } from './booked.ts'
import { openDirect, type Replies, TENANT } from './direct.ts'
import { replyOf, requestOf, SETTINGS } from './requests.ts'
import { SENDING } from './scripted-service.ts'

describe('a booking', () => {
  test('is sent once, and answered again from its record', async () => {
    const direct = openDirect(replyOf(SHIPMENT))
    const first = await booked(direct)
    expect(ids(first)).toBe('S')
    const again = await booked(direct)
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'Idempotent-Replayed': 'true' } })
    expect(direct.lines()).toEqual(['POST /v2/shipments'])
    expect(direct.locks).toEqual([])
    expect(direct.asked[0]?.[1]).toMatchObject({ requestId: 'id', deadline: SENDING.deadline })
    expect(direct.asked[0]?.[1].mayWrite?.()).toBe(true)
    expect(await direct.deps.xref.matches(TENANT, 'R')).toMatchObject([{ id: 'S', vin: 'VIN1' }])
  })

  test('is told to another credential of the tenant only if the service shows it the shipment', async () => {
    const direct = openDirect(replyOf(SHIPMENT), replyOf(SHIPMENT), replyOf('', 403), replyOf({ ...SHIPMENT, id: 'x' }))
    await booked(direct)
    const other = { caller: caller('two') }
    expect(ids(await booked(direct, other))).toBe('S')
    expect(direct.lines().at(-1)).toBe('GET /v2/shipments/S')
    await expect(booked(direct, other)).rejects.toMatchObject({ status: 403 })
    await expect(booked(direct, other)).rejects.toMatchObject({ code: 'reply-doubtful' })
  })

  test('has a key of its own in its header', async () => {
    const direct = openDirect(replyOf(SHIPMENT), replyOf({ ...SHIPMENT, id: 'T' }))
    for (const [key, id] of [
      ['a', 'S'],
      ['b', 'T'],
      ['a', 'S'],
    ] as const) {
      expect(ids(await booked(direct, { headers: { 'idempotency-key': key } }))).toBe(id)
    }
    expect(direct.lines()).toHaveLength(2)
  })

  test('is not begun in a brownout, but is answered from its record', async () => {
    const direct = openDirect(replyOf(SHIPMENT))
    const request = requestOf('shipment.create', SENT)
    const plan = planCall(request, await findTarget(request, TENANT, SENDING, direct.deps), SETTINGS)
    const brownout = gatewayError('draining/booking', {})
    await expect(book(plan, {}, caller(), SENDING, direct.deps, brownout)).rejects.toBe(brownout)
    await booked(direct)
    expect(ids(await book(plan, {}, caller(), SENDING, direct.deps, brownout))).toBe('S')
  })
})

describe('the number of the quote of a booking', () => {
  const withQuote = async (...replies: Replies) => {
    const direct = openDirect(...replies)
    await direct.name({ kind: 'quote', name: 'R', id: 'Q' })
    await direct.store.put({ links: [], thing: { tenant: TENANT, id: 'Q', own: 'N', facts: null } })
    return direct
  }
  const names = async ({ deps }: ReturnType<typeof openDirect>) =>
    (await deps.xref.matches(TENANT, 'N')).map(({ id }) => id)

  test('becomes a name of its shipment', async () => {
    const direct = await withQuote(replyOf(SHIPMENT))
    await booked(direct)
    expect(await names(direct)).toEqual(['S'])
  })

  test.each([
    ['another booking of the same VIN has it', { vin: 'VIN1' }, ['other']],
    ['another booking of another VIN has it', { vin: 'VIN2' }, ['S', 'other']],
    ['the service gave it to a shipment', { vin: 'VIN1', givenBy: 'service' }, ['S']],
    ['a quote has it', { vin: 'VIN1', kind: 'quote' }, ['S', 'other']],
  ] as const)('where %s', async (_, link, expected) => {
    const direct = await withQuote(replyOf(SHIPMENT))
    await direct.name({ name: 'N', id: 'other', at: 1, ...link })
    await direct.claim({ key: 'x', reference: 'N' }, 'booked', 'other')
    await booked(direct)
    expect((await names(direct)).toSorted()).toEqual([...expected].toSorted())
  })

  test('stays the number of a second booking under the same name', async () => {
    const direct = await withQuote(replyOf(SHIPMENT), replyOf({ ...SHIPMENT, id: 'T' }))
    await direct.store.put({ links: [], thing: { tenant: TENANT, id: 'Q', own: 'R', facts: null } })
    for (const key of ['a', 'b']) await booked(direct, { headers: { 'idempotency-key': key } })
    expect(await direct.deps.xref.remembered(TENANT, 'T')).toMatchObject({ own: 'R' })
  })

  test('becomes a name where the shipment that has it was not booked here', async () => {
    const direct = await withQuote(replyOf(SHIPMENT))
    await direct.name({ name: 'N', id: 'other', vin: 'VIN1' })
    await booked(direct)
    expect(await names(direct)).toContain('S')
  })
})

describe('a quote that is approved meanwhile', () => {
  test('is not booked a second time', async () => {
    const direct = openDirect(replyOf(SHIPMENT))
    await direct.name({ kind: 'quote', name: 'R', id: 'Q' })
    const request = requestOf('shipment.create', SENT)
    const plan = planCall(request, await findTarget(request, TENANT, SENDING, direct.deps), SETTINGS)
    await direct.approve('Q', 'sent')
    await expect(book(plan, {}, caller(), SENDING, direct.deps)).rejects.toMatchObject({
      code: 'booking-under-way',
      message: expect.stringContaining('approv'),
      headers: { 'Retry-After': '5' },
    })
    expect(direct.lines()).toEqual([])
    // Where approvals do not book, it is.
    const approving = { ...direct.deps, approvalBooks: 'no' } as const
    expect(ids(await book(plan, {}, caller(), SENDING, approving))).toBe('S')
  })
})
