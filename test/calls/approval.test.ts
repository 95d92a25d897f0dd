import { describe, expect, test } from 'vitest'
import { approve, isApproval } from '../../src/calls/approve.ts'
import { gatewayError } from '../../src/errors.ts'
import { NoReply, type UpstreamReply } from '../../src/service/exchange.ts'
import { noReplyError } from '../../src/service/failures.ts'
import { openDirect, TENANT } from './direct.ts'
import { actionNamed, catalog, planOf, replyOf } from './requests.ts'
import { SENDING } from './scripted-service.ts'

const APPROVED = { shipment_id: 'Q', number: 'TL-1', price: 5 }
const SHIPMENT = { id: 'S', number: 'TL-9', status: 'new', price: 7 }
const plan = planOf('quote.approve', { OrderRefNumber: 'N' }, { found: { id: 'Q', own: 'OWN' } })
const approving = (direct: ReturnType<typeof openDirect>) => approve(plan, TENANT, SENDING, direct.deps)

test('one action approves quotes', () => {
  const names = [...catalog.actions.values()]
    .filter(({ action }) => isApproval(action))
    .map(({ action }) => action.name)
  expect(names).toEqual(['quote.approve'])
  const { action } = actionNamed('quote.approve')
  expect(isApproval({ ...action, target: { kind: 'shipment', namedBy: [] } })).toBe(false)
})

describe('an approval', () => {
  test('is sent under the lock of its quote, and recorded', async () => {
    const direct = openDirect(replyOf(APPROVED))
    const { status, body } = await approving(direct)
    expect(status).toBe(200)
    expect(JSON.parse(String(body))).toEqual({
      Cost: '5.00',
      ShipmentNumber: 'OWN',
      Message: 'The quote is approved and the transportation is booked as shipment TL-1.',
      TransportationBooked: 'Yes',
    })
    expect(direct.lines()).toEqual(['POST /v2/quote/Q/approve'])
    expect(direct.locks).toEqual(['quote acme\nQ'])
    expect(direct.asked[0]?.[1]).toMatchObject({ requestId: 'id', deadline: SENDING.deadline })
    expect(direct.asked[0]?.[1].mayWrite?.()).toBe(true)
    expect(await direct.approval('Q')).toBe('approved')
    expect(await direct.deps.xref.matches(TENANT, 'OWN')).toMatchObject([{ kind: 'shipment', id: 'Q' }])
  })

  test('is on record before it is sent', async () => {
    const direct = openDirect(replyOf(APPROVED))
    const { send } = direct.deps
    const seen: unknown[] = []
    const watching = async (...call: Parameters<typeof send>) => {
      seen.push(await direct.approval('Q'))
      return send(...call)
    }
    await approve(plan, TENANT, SENDING, { ...direct.deps, send: watching })
    expect(seen).toEqual(['sent'])
  })

  test('that leaves no shipment records none', async () => {
    const direct = openDirect(replyOf({ price: 5 }))
    await approving(direct)
    expect(await direct.approval('Q')).toBe('approved')
    expect(await direct.deps.xref.matches(TENANT, 'N')).toEqual([])
  })

  test.each([{ approved: false }, { approved: 'no' }, { status: 'Rejected' }])(
    'that is answered %j is not approved, and is on record',
    async (said) => {
      const direct = openDirect(replyOf({ ...APPROVED, ...said }))
      await expect(approving(direct)).rejects.toMatchObject({ code: 'reply-doubtful', status: 502 })
      expect(await direct.approval('Q')).toBe('sent')
    },
  )

  test('that shows its shipment as canceled is refused', async () => {
    const direct = openDirect(replyOf({ ...APPROVED, status: 'canceled' }))
    await expect(approving(direct)).rejects.toMatchObject({ code: 'service-refused', status: 409 })
    expect(await direct.approval('Q')).toBe('approved')
  })

  test.each<[string, UpstreamReply | Error, 'sent' | undefined]>([
    ['a refusal', replyOf('', 400), undefined],
    ['a refusal', replyOf('', 422), undefined],
    ['a redirection', replyOf('', 399), 'sent'],
    ['a refusal that may be of a second approval', replyOf('', 408), 'sent'],
    ['a refusal that may be of a second approval', replyOf('', 409), 'sent'],
    ['a failure', replyOf('', 500), 'sent'],
    ['a doubtful reply', replyOf({ quote_id: 'other' }), 'sent'],
    ['a lost reply', noReplyError(new NoReply('late')), 'sent'],
    ['no connection', noReplyError(new NoReply('unsent')), undefined],
    ['no free connection', noReplyError(new NoReply('busy')), undefined],
    ['a lost lock', noReplyError(new NoReply('withdrawn')), undefined],
    ['an open circuit', gatewayError('circuit-open', {}), undefined],
    ['no token', gatewayError('login-failed', { serviceSays: '' }), undefined],
    ['a refused token', gatewayError('login-refused', { serviceSays: '' }), undefined],
  ])('that ends with %s leaves its quote as %s', async (_, reply, left) => {
    const direct = openDirect(reply)
    await expect(approving(direct)).rejects.toThrow()
    expect(await direct.approval('Q')).toBe(left)
    // What was known before stays.
    const known = openDirect(reply)
    await known.approve('Q', 'approved')
    await expect(approving(known)).rejects.toThrow()
    expect(await known.approval('Q')).toBe('approved')
  })
})

describe('an approval is not sent', () => {
  test.each([
    ['N', undefined, 'booking-under-way'],
    ['OWN', 'unknown', 'outcome-unknown'],
    ['other', 'unknown', 'outcome-unknown'],
  ] as const)('while a booking under %s is pending: %s', async (reference, state, code) => {
    const direct = openDirect()
    await direct.claim({ reference, key: reference }, state)
    await direct.name({ kind: 'quote', name: 'other', id: 'Q' })
    await expect(approving(direct)).rejects.toMatchObject({ code })
    expect(await direct.approval('Q')).toBeUndefined()
    expect(direct.lines()).toEqual([])
  })

  test('but is, if the pending booking is that of another quote', async () => {
    const direct = openDirect(replyOf(APPROVED))
    await direct.claim({ reference: 'other', key: 'other' }, 'unknown')
    await direct.name({ kind: 'quote', name: 'other', id: 'another' })
    await direct.name({ kind: 'shipment', name: 'other', id: 'Q' })
    await direct.claim({ reference: 'N', key: 'N', tenant: 'another' }, 'unknown')
    expect((await approving(direct)).status).toBe(200)
  })

  test('where a shipment is booked under its names', async () => {
    const direct = openDirect(replyOf(SHIPMENT))
    await direct.name({ name: 'OWN', id: 'S' })
    const { body } = await approving(direct)
    expect(JSON.parse(String(body))).toEqual({
      Cost: '7.00',
      ShipmentNumber: 'OWN',
      Message: 'The transportation is booked already, as shipment TL-9; the quote was not approved again.',
      TransportationBooked: 'Yes',
    })
    expect(direct.lines()).toEqual(['GET /v2/shipments/S'])
    expect(await direct.approval('Q')).toBeUndefined()
    // One that was approved before stays so.
    const again = openDirect(replyOf({ ...SHIPMENT, number: undefined }))
    await again.name({ name: 'N', id: 'S' })
    await again.approve('Q', 'sent')
    expect(JSON.parse(String((await approving(again)).body)).Message).toContain('as shipment S;')
    expect(await again.approval('Q')).toBe('sent')
  })

  test('where that shipment cannot be read', async () => {
    const direct = openDirect(replyOf('', 403))
    await direct.name({ name: 'N', id: 'S' })
    await expect(approving(direct)).rejects.toMatchObject({ status: 403 })
    expect(await direct.approval('Q')).toBeUndefined()
    const doubtful = openDirect(replyOf({ ...SHIPMENT, id: 'other' }))
    await doubtful.name({ name: 'N', id: 'S' })
    await expect(approving(doubtful)).rejects.toMatchObject({ code: 'reply-doubtful' })
  })

  test('but is, if the shipments of its names are gone, or not so named by the caller', async () => {
    const direct = openDirect(replyOf({ ...SHIPMENT, status: 'canceled' }), replyOf('', 404), replyOf(APPROVED))
    await direct.name({ name: 'N', id: 'S', vin: 'A' })
    await direct.name({ name: 'OWN', id: 'gone', vin: 'B' })
    await direct.name({ name: 'N', id: 'quote', kind: 'quote' })
    const service = openDirect(replyOf(APPROVED))
    await service.name({ name: 'N', id: 'S', givenBy: 'service' })
    for (const { deps, lines } of [direct, service]) {
      await approve(plan, TENANT, SENDING, deps)
      expect(lines().at(-1)).toBe('POST /v2/quote/Q/approve')
    }
    expect(direct.lines()).toHaveLength(3)
    expect(service.lines()).toHaveLength(1)
  })
})
