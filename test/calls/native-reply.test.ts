import { describe, expect, test } from 'vitest'
import { NotBooked } from '../../src/bookings/booking.ts'
import { nativeAnswer, sendNatively } from '../../src/calls/native-reply.ts'
import type { NativeSettings } from '../../src/mapping/settings.ts'
import { NoReply, type UpstreamReply } from '../../src/service/exchange.ts'
import { noReplyError } from '../../src/service/failures.ts'
import { actionNamed, planOf, replyOf } from './requests.ts'
import { SENDING, scriptedService } from './scripted-service.ts'

const native = (path = '/'): NativeSettings => ({
  path,
  actions: new Set(['quote.get', 'quote.update', 'shipment.get', 'shipment.create', 'shipment.update']),
})
const planned = (action: string, fields: Readonly<Record<string, string>>, found = {}, path = '/') =>
  planOf(action, fields, { found, settings: { native: native(path) } })

/** The shipments that the cross-reference knows by a number. */
const numbered = async (_tenant: string, number: string) => (number === 'TL-2' ? ['T'] : [])

/** Sends such a plan to a service with these replies. */
async function sent(plan: ReturnType<typeof planned>, ...replies: readonly UpstreamReply[]) {
  const { service, asked, lines } = scriptedService(...replies)
  const reply = await sendNatively(plan, 'acme', { ...SENDING, mayWrite: () => true }, { service, numbered })
  return { reply, answer: nativeAnswer(plan, reply), asked, lines: lines() }
}

describe('a quote', () => {
  const plan = planned('quote.get', { ShipmentNumber: 'N' })

  test('is answered with the fields of the service, and the number of the caller', async () => {
    const { reply, answer, asked } = await sent(
      plan,
      replyOf({ Cost: 5.5, ShipmentNumber: 'Q', Note: null, More: true }),
    )
    expect(reply).toMatchObject({ shipment_id: 'Q' })
    expect(answer).toEqual({ Cost: '5.5', ShipmentNumber: 'N', Note: '', More: 'true' })
    expect(asked.map(([request]) => request)).toEqual([plan.toService])
    expect(nativeAnswer(plan, { ...Object(reply) })).toEqual(answer)
    const { found, settings } = plan
    const service = planOf(
      'quote.get',
      { ShipmentNumber: 'N' },
      { settings: { ...settings, shipment_number: 'service' } },
    )
    expect(nativeAnswer(service, reply)?.['ShipmentNumber']).toBe('Q')
    const nameless = planOf('quote.get', {}, { found, settings })
    expect(nativeAnswer(nameless, reply)?.['ShipmentNumber']).toBe('Q')
  })

  test('that shows no number gets none', async () => {
    const { reply, answer } = await sent(plan, replyOf({ Cost: '5' }))
    expect(reply).toMatchObject({ shipment_id: undefined })
    expect(answer).toEqual({ Cost: '5' })
  })

  test('that is changed names no shipment', async () => {
    const { reply } = await sent(planned('quote.update', { ShipmentNumber: 'N' }, { id: 'Q' }), replyOf({ Cost: '5' }))
    expect(reply).not.toHaveProperty('shipment_id')
  })

  test('has texts of the usual lengths, and none of what is no text', async () => {
    const long = 'x'.repeat(5_000)
    const { answer } = await sent(plan, replyOf({ Cost: '5', Message: long, Other: long, List: [1], Object: {} }))
    expect(answer?.['Message']).toHaveLength(500)
    expect(answer?.['Other']).toHaveLength(4_096)
    expect(Object.keys(answer ?? {})).toEqual(['Cost', 'Message', 'Other'])
  })

  test('has at most a hundred fields', async () => {
    const fields = Object.fromEntries(Array.from({ length: 150 }, (_, i) => [`f${i}`, 'x']))
    const { answer } = await sent(plan, replyOf({ Cost: '5', ...fields }))
    expect(Object.keys(answer ?? {})).toHaveLength(100)
  })

  test.each([
    ['no price', {}],
    ['a price that is none', { Cost: 'soon' }],
  ])('with %s cannot be read', async (_, fields) => {
    await expect(sent(plan, replyOf(fields))).rejects.toMatchObject({
      code: 'service-unreadable',
      message: expect.stringContaining('Cost'),
    })
  })

  test('that must show several fields names all that it does not', async () => {
    const { action, ...rest } = actionNamed('quote.get')
    const [cost] = action.reply
    const twice = cost?.kind === 'move' ? [cost, { ...cost, v1: 'Fee', v2: 'fee' }] : expect.fail('it is no move')
    const both = planOf({ ...rest, action: { ...action, reply: twice } }, {}, { settings: { native: native() } })
    await expect(sent(both, replyOf({}))).rejects.toThrow('Cost and Fee')
  })

  test('that is refused has the words of the service, with the fields of the caller', async () => {
    const refused = replyOf({ message: 'pickup must be a postal code' }, 422)
    await expect(sent(plan, refused)).rejects.toMatchObject({
      code: 'service-refused',
      message: expect.stringContaining('TempShipFromPostalCode must be a postal code'),
    })
  })
})

test.each([
  ['quote.get', {}, 'Try again'],
  ['shipment.get', { id: 'S' }, 'Try again'],
  ['quote.update', { id: 'Q' }, 'The change may have been made or not'],
  ['shipment.update', { id: 'S' }, 'The change may have been made or not'],
])('%s without a whole reply, or with an unreadable one', async (action, found, message) => {
  const plan = planned(action, { ReferenceNumber: 'R' }, found)
  const { service } = scriptedService(new NoReply('lost'), replyOf('x'))
  const deps = { service, numbered }
  for (let i = 0; i < 2; i += 1) {
    await expect(sendNatively(plan, 'acme', SENDING, deps).catch(lost)).rejects.toThrow(message)
  }
})

/** The service of these tests knows no errors of its own. */
function lost(error: unknown): never {
  throw error instanceof NoReply ? noReplyError(error) : error
}

test('no other reply is a native answer', () => {
  const plan = planned('quote.get', {})
  for (const reply of [undefined, null, 'x', {}, { Cost: '5' }]) expect(nativeAnswer(plan, reply)).toBeUndefined()
})

describe('a read', () => {
  const plan = planned('shipment.get', { ReferenceNumber: 'R' }, { id: 'S' })

  test.each([{ PickupZip: '10314' }, { BillToName: 'Pat' }])('shows a shipment: %j', async (fields) => {
    const { reply, answer } = await sent(plan, replyOf({ PickupCity: '', ...fields }))
    expect(reply).toMatchObject({ id: 'S' })
    expect(answer).toEqual({ PickupCity: '', ...fields })
  })

  test.each([{}, { PickupZip: '', Make: null }, { Message: 'Found', TransportationBooked: 'Yes' }])(
    'that shows nothing of it is doubtful: %j',
    async (fields) => {
      await expect(sent(plan, replyOf(fields))).rejects.toMatchObject({
        code: 'reply-doubtful',
        message: expect.stringContaining('it shows nothing of the shipment'),
      })
    },
  )
})

describe('a booking', () => {
  const fields = { ReferenceNumber: 'R 1', VinNo: 'VIN1' }
  const plan = planned('shipment.create', fields)
  const YES = { TransportationBooked: ' YES ', Message: 'Booked.' }
  const SHIPMENT = { id: 'S', number: 'TL-1', status: 'new' }
  const shown = { ReferenceNumber: 'R 1', VinNo: ' vin1', ShipmentNumber: 'TL-1', Message: '' }
  /** The service has no shipment for the reference before the booking. */
  const booked = (booking: ReturnType<typeof planned>, ...replies: readonly UpstreamReply[]) =>
    sent(booking, replyOf('', 404), ...replies)
  const NOT_FOUND = 'the shipment that it made is not found'

  test('is found by the number that it is answered with', async () => {
    const { reply, answer, lines, asked } = await booked(
      plan,
      replyOf({ ...YES, ShipmentNumber: 'TL-1' }),
      replyOf(SHIPMENT),
    )
    expect(lines.slice(2)).toEqual(['GET /v2/shipments/TL-1'])
    expect(reply).toMatchObject(SHIPMENT)
    expect(answer).toMatchObject({ TransportationBooked: ' YES ', ShipmentNumber: 'TL-1' })
    // Only the booking itself is withheld where its claim is lost.
    expect(asked.map(([, { mayWrite }]) => mayWrite !== undefined)).toEqual([false, true, false])
  })

  test.each([
    ['/', '/getShipment.php?ReferenceNumber=R+1'],
    ['/v1', '/v1/getShipment.php?ReferenceNumber=R+1'],
  ])('is found by its reference below %s', async (path, asks) => {
    const { reply, asked } = await booked(
      planned('shipment.create', fields, {}, path),
      replyOf(YES),
      replyOf(shown),
      replyOf(SHIPMENT),
    )
    const read = { method: 'GET', path: asks, namesAnId: true, isVersion1: true }
    expect([asked[0]?.[0], asked[2]?.[0]]).toEqual([read, read])
    expect(asked[3]?.[0]).toMatchObject({ path: '/v2/shipments/TL-1' })
    expect(reply).toMatchObject({ id: 'S' })
  })

  test.each<[string, string, readonly UpstreamReply[]]>([
    ['the read of its reference fails', NOT_FOUND, [replyOf('', 500)]],
    ['another reference is shown', NOT_FOUND, [replyOf({ ...shown, ReferenceNumber: 'R' })]],
    ['another VIN is shown', NOT_FOUND, [replyOf({ ...shown, VinNo: 'VIN2' })]],
    ['no number is shown', NOT_FOUND, [replyOf({ ...shown, ShipmentNumber: '' })]],
    ['the read of its number fails', NOT_FOUND, [replyOf(shown), replyOf('', 404)]],
    ['another shipment is shown', 'it shows another shipment', [replyOf(shown), replyOf({ ...SHIPMENT, number: 'T' })]],
    [
      'a canceled shipment is shown',
      'it shows a canceled shipment',
      [replyOf(shown), replyOf({ ...SHIPMENT, status: 'canceled' })],
    ],
  ])('is doubtful where %s', async (_, fault, replies) => {
    await expect(booked(plan, replyOf(YES), ...replies)).rejects.toMatchObject({
      code: 'reply-doubtful',
      message: expect.stringContaining(NOT_FOUND),
      cause: expect.objectContaining({ message: expect.stringContaining(fault) }),
    })
  })

  test.each([
    ['it has no reference', planned('shipment.create', { VinNo: 'VIN1' })],
    ['the service reads version 1 at version-2 paths', planned('shipment.create', fields, {}, '/v2')],
    ['there is no native path', planOf('shipment.create', fields)],
  ])('is doubtful where nothing names it, because %s', async (_, nameless) => {
    await expect(sent(nameless, replyOf(YES))).rejects.toMatchObject({
      message: expect.stringContaining(NOT_FOUND),
      cause: expect.objectContaining({ message: expect.stringContaining(NOT_FOUND) }),
    })
  })

  test.each([{}, { TransportationBooked: '' }, { TransportationBooked: 'Maybe' }])(
    'is doubtful if the service does not say that it booked: %j',
    async (said) => {
      const booking = booked(plan, replyOf(said))
      await expect(booking).rejects.toMatchObject({
        code: 'reply-doubtful',
        message: expect.stringContaining('it does not say that the transportation is booked'),
      })
      await expect(booking).rejects.not.toBeInstanceOf(NotBooked)
    },
  )

  test.each([
    [{ TransportationBooked: ' NO ', Message: 'No trucks.' }, 'No trucks'],
    [{ TransportationBooked: 'no', message: 'No drivers.' }, 'No drivers'],
  ])('is not made where the service says so: %j', async (said, words) => {
    const error = await booked(plan, replyOf(said)).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(NotBooked)
    expect(error).toMatchObject({
      cause: { code: 'service-refused', status: 422, message: expect.stringContaining(words) },
    })
  })
})
