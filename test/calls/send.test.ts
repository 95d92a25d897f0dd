import { describe, expect, test } from 'vitest'
import type { Plan } from '../../src/calls/plan.ts'
import { createMerge, createSendPlan, update as updateShipment } from '../../src/calls/send.ts'
import { shipmentWithId } from '../../src/calls/verify.ts'
import type { UpstreamReply } from '../../src/service/exchange.ts'
import type { Sending } from '../../src/service/service.ts'
import { planOf, replyOf } from './requests.ts'
import { freeLocks, SENDING, scriptedService } from './scripted-service.ts'

const SHIPMENT = { id: 's', number: 'TL-1', status: 'new', pickup: { id: 'p' }, vehicles: [{ id: 'v', vin: 'VIN1' }] }
const CANCELED = { ...SHIPMENT, status: 'canceled' }

/** Sends plans to a service with these replies. */
function opened(...replies: readonly (UpstreamReply | Error)[]) {
  const { service, asked, lines } = scriptedService(...replies)
  const { exclusive, keys, waits } = freeLocks()
  const inspected: (readonly [action: string, body: unknown])[] = []
  const inspect = (action: string, body: unknown) => inspected.push([action, body])
  const merge = createMerge(service, exclusive, inspect)
  const sendPlan = createSendPlan({ service, inspect })
  const send = async (plan: Plan, tenant: string, sending: Sending) =>
    plan.request.compiled.action.service.mergeInto
      ? (await updateShipment(plan, tenant, sending, merge)).body
      : sendPlan(plan, sending)
  return { send, asked, lines, keys, waits, inspected }
}

const shipmentPlan = (action: string, sent: Readonly<Record<string, string>> = {}, found = {}) =>
  planOf(action, { ReferenceNumber: 'R', ...sent }, { found: { id: 'S', namedBy: 'ReferenceNumber', ...found } })

describe('a call', () => {
  test('is sent as it is planned, and its reply is looked at', async () => {
    const quote = { shipment_id: 'Q', price: 5 }
    const { send, asked, inspected } = opened(replyOf(quote))
    const plan = planOf('quote.get', { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' })
    expect(await send(plan, 'acme', SENDING)).toEqual(quote)
    expect(asked).toEqual([[plan.toService, SENDING]])
    expect(inspected).toEqual([['quote.get', quote]])
  })

  test('needs no look at its reply', async () => {
    const { service } = scriptedService(replyOf({ price: 5 }))
    const send = createSendPlan({ service })
    expect(await send(planOf('quote.get', {}), SENDING)).toEqual({ price: 5 })
  })

  test.each([
    ['quote.get', {}, 'TempShipFromPostalCode'],
    ['shipment.create', {}, 'pickup'],
    ['shipment.cancel', { id: 'S' }, 'pickup'],
  ])('%s that is refused has the fields of the caller in its error', async (action, found, named) => {
    const { send, inspected } = opened(replyOf({ message: 'pickup must be a postal code' }, 418))
    await expect(send(planOf(action, {}, { found }), 'acme', SENDING)).rejects.toMatchObject({
      code: 'service-refused',
      status: 418,
      message: expect.stringContaining(`${named} must be a postal code`),
    })
    expect(inspected).toEqual([])
  })

  test.each([
    ['quote.update', { id: 'Q' }, { quote_id: 'other' }],
    ['shipment.get', { id: 'S' }, { ...SHIPMENT, id: 'other' }],
    ['shipment.create', {}, CANCELED],
    ['quote.get', {}, [1]],
  ])('%s has no reply of something else', async (action, found, reply) => {
    const { send } = opened(replyOf(reply))
    await expect(send(planOf(action, {}, { found }), 'acme', SENDING)).rejects.toMatchObject({ code: 'reply-doubtful' })
  })
})

describe('a read', () => {
  test('is not sent again where the search has read the shipment', async () => {
    const found = { shipment: { id: 's', body: SHIPMENT } }
    const { send, inspected } = opened()
    expect(await send(shipmentPlan('shipment.get', {}, found), 'acme', SENDING)).toBe(SHIPMENT)
    expect(inspected).toHaveLength(1)
  })
})

describe('a cancellation', () => {
  const cancel = async (isShipment: boolean, ...replies: readonly UpstreamReply[]) => {
    const { send, lines, inspected } = opened(...replies)
    try {
      const body = await send(shipmentPlan('shipment.cancel', {}, { isShipment }), 'acme', SENDING)
      expect(inspected).toEqual([['shipment.cancel', body]])
      return body
    } finally {
      expect(lines()[0]).toBe('DELETE /v2/shipments/S')
      for (const line of lines().slice(1)) expect(line).toBe('GET /v2/shipments/S')
    }
  }

  test.each<[string, readonly UpstreamReply[], unknown]>([
    [
      'its reply and a read show it',
      [replyOf({ id: 's', status: 'canceled', x: 1 }), replyOf(CANCELED)],
      { id: 's', status: 'canceled', x: 1 },
    ],
    ['a read shows it', [replyOf(undefined), replyOf(CANCELED)], CANCELED],
    [
      'the reply shows it, and nothing is found any more',
      [replyOf({ number: 'TL-1', status: 'canceled' }), replyOf('', 404)],
      { number: 'TL-1', status: 'canceled' },
    ],
    ...[400, 404, 409, 410, 422].map((status): [string, UpstreamReply[], unknown] => [
      `it was made before, and ${status} is the answer`,
      [replyOf('', status), replyOf(CANCELED)],
      CANCELED,
    ]),
  ])('is made where %s', async (_, replies, body) => {
    expect(await cancel(false, ...replies)).toEqual(body)
  })

  test.each([
    [replyOf({ status: 'canceled' }), replyOf('', 404)],
    [replyOf({ success: true }), replyOf('', 410)],
    [replyOf('', 204), replyOf('', 410)],
  ])('of what was never shown as a shipment is none', async (...replies) => {
    await expect(cancel(false, ...replies)).rejects.toMatchObject({ code: 'number-unknown', status: 404 })
    expect(await cancel(true, ...replies)).not.toBeNull()
  })

  test.each([404, 410])('is made where the shipment existed, and %i is the answer to both', async (status) => {
    expect(await cancel(true, replyOf('', status), replyOf('', 404))).toBeUndefined()
    await expect(cancel(false, replyOf('', status), replyOf('', 404))).rejects.toMatchObject({ status })
  })

  test.each<[string, readonly UpstreamReply[], object]>([
    ['another refusal', [replyOf('', 403)], { code: 'service-refused', status: 403 }],
    ['a failure', [replyOf('', 500)], { code: 'service-failed' }],
    ['a denial', [replyOf({ success: false })], { code: 'reply-doubtful' }],
    ['a read that shows it alive', [replyOf('', 204), replyOf(SHIPMENT)], { code: 'reply-doubtful' }],
    ['a read that fails', [replyOf('', 204), replyOf('', 500)], { code: 'service-failed' }],
    ['a read of another one', [replyOf('', 204), replyOf({ ...CANCELED, id: 'x' })], { code: 'reply-doubtful' }],
    ['a refusal, and a read that shows it alive', [replyOf('', 409), replyOf(SHIPMENT)], { status: 409 }],
    ['a refusal, and a read of another one', [replyOf('', 409), replyOf({ ...CANCELED, id: 'x' })], { status: 409 }],
    ['a refusal, and a read that fails', [replyOf('', 422), replyOf(CANCELED, 500)], { status: 422 }],
    ['a refusal of something that cannot be found', [replyOf('', 409), replyOf('', 404)], { status: 409 }],
  ])('is not made by %s', async (_, replies, error) => {
    await expect(cancel(true, ...replies)).rejects.toMatchObject(error)
  })
})

describe('an update', () => {
  const update = shipmentPlan('shipment.update', { PickupZip: '10314', VinNo: 'vin2', Make: 'Ford' })
  const vehicles = [SHIPMENT.vehicles[0], { id: 'w', vin: 'VIN2' }]

  test('is merged into the shipment, under its lock', async () => {
    const { send, asked, lines, keys, waits, inspected } = opened(
      replyOf({ ...SHIPMENT, vehicles }, 200, { etag: '"1"' }),
      replyOf({ id: 's', changed: true }),
    )
    expect(await send(update, 'acme', SENDING)).toMatchObject({ id: 's', number: 'TL-1', changed: true })
    expect(lines()).toEqual(['GET /v2/shipments/S', 'PUT /v2/shipments/S'])
    expect(keys).toEqual(['update acme\nS'])
    expect(waits).toEqual([expect.closeTo(SENDING.deadline - performance.now(), -5)])
    expect(asked[1]?.[1]).toMatchObject({ requestId: 'id', deadline: SENDING.deadline })
    expect(asked[1]?.[0]).toMatchObject({
      ifMatch: '"1"',
      namesAnId: true,
      body: { pickup: { id: 'p', zipcode: 10_314 }, vehicles: [{ vin: 'VIN1' }, { id: 'w', make: 'Ford' }] },
    })
    expect(inspected).toEqual([['shipment.update', { id: 's', changed: true }]])
  })

  test('with an empty reply is answered with what was read', async () => {
    const { send } = opened(replyOf(SHIPMENT), replyOf('', 204))
    expect(await send(update, 'acme', SENDING)).toEqual(SHIPMENT)
  })

  test('begins again from a read if the shipment has changed, three times', async () => {
    const read = replyOf(SHIPMENT)
    const { send, lines } = opened(read, replyOf('', 412), read, replyOf('', 412), read, replyOf('', 204))
    expect(await send(update, 'acme', SENDING)).toEqual(SHIPMENT)
    expect(lines()).toHaveLength(6)
    const changing = opened(...Array.from({ length: 3 }, () => [read, replyOf('', 412)]).flat())
    await expect(changing.send(update, 'acme', SENDING)).rejects.toMatchObject({ code: 'shipment-changed' })
    expect(changing.lines()).toHaveLength(6)
  })

  test.each<[string, readonly UpstreamReply[], object]>([
    ['it cannot be read', [replyOf('', 404)], { code: 'service-refused', status: 404 }],
    ['another one is read', [replyOf({ ...SHIPMENT, id: 'x' })], { code: 'reply-doubtful' }],
    ['a part of it is read', [replyOf({ ...SHIPMENT, pickup: null })], { code: 'reply-doubtful' }],
    ['its vehicle has no id', [replyOf({ ...SHIPMENT, vehicles: [{ vin: 'VIN2' }] })], { code: 'reply-doubtful' }],
    [
      'the change is refused',
      [replyOf(SHIPMENT), replyOf({ message: 'pickup.zipcode must be a number' }, 422)],
      { code: 'service-refused', message: expect.stringContaining('PickupZip must be a number') },
    ],
    ['another change is answered', [replyOf(SHIPMENT), replyOf({ id: 'x' })], { code: 'reply-doubtful' }],
  ])('is an error where %s', async (_, replies, error) => {
    await expect(opened(...replies).send(update, 'acme', SENDING)).rejects.toMatchObject(error)
  })

  test.each([
    [true, undefined, true],
    [true, true, true],
    [true, false, false],
    [false, undefined, false],
    [false, true, false],
  ])('may be written with the lock (%s) and the claim (%s): %s', async (isLocked, mayWrite, isWritten) => {
    const { service, asked } = scriptedService(replyOf(SHIPMENT), replyOf('', 204))
    const { exclusive } = freeLocks(() => isLocked)
    const merging = {
      id: 'S',
      sent: {},
      vin: undefined,
      asks: false,
      textOf: () => undefined,
      problems: [],
      compiled: update.request.compiled,
      settings: update.settings,
      verify: (reply: UpstreamReply) => shipmentWithId(reply, 'S'),
    }
    await createMerge(service, exclusive)(merging, 'acme', {
      ...SENDING,
      ...(mayWrite !== undefined && { mayWrite: () => mayWrite }),
    })
    expect(asked[1]?.[1].mayWrite?.()).toBe(isWritten)
  })
})
