/** Promise: a booking is made once, however often its caller asks for it (contract, section 7: the table of a key's states). */

import { describe, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { basic, CLIENT, startGateway } from '../gateway.ts'
import { dial } from '../http/wire.ts'
import { begin, book, claimOf, creations, expectBooked, ON_CREATION, OTHER_VIN, REFERENCE, shipments } from './desk.ts'
import { play, storiesIn } from './stories.ts'

const SHORT = { UPSTREAM_TIMEOUT_MS: '1000' }

const keyed = (text: string) => ({ 'Idempotency-Key': text })

test.each(storiesIn(import.meta.dirname, 'once.txt'))('%s', (_, steps) => play(steps))

describe('a booking in progress', () => {
  test('of another gateway is waited for, and at the end of the time the answer says when to retry', async () => {
    const gateway = await startGateway()
    const hasty = await startGateway({ env: SHORT, store: gateway.store, serviceUrl: gateway.sandbox.url })
    const { answer } = await begin(gateway, { kind: 'delay', ms: 1_500 })
    const tooLong = await book(hasty)
    expect(tooLong).toMatchObject({ status: 409, json: { TransportationBooked: 'Unknown' } })
    expect(tooLong.json.Message).toMatch(/already in progress \(bk_.*[Ss]end it again/)
    expect(tooLong.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    const waited = book(hasty)
    expect(expectBooked(await waited, true)).toBe(expectBooked(await answer))
    expect(creations(gateway)).toBe(1)
  })

  test('that is refused is sent by one of the waiting calls', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'status', status: 503, on: ON_CREATION })
    const answers = await Promise.all([book(gateway), book(gateway), book(gateway)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 503])
    expect([creations(gateway), shipments(gateway).length]).toEqual([2, 1])
  })

  test('is finished and recorded before a gateway closes, although its caller has hung up', async () => {
    const gateway = await startGateway()
    const body = JSON.stringify(bookingExample)
    gateway.sandbox.fail({ kind: 'delay', ms: 300, on: ON_CREATION })
    const begun = gateway.sandbox.next()
    const wire = await dial(gateway)
    wire.write(`POST /createShipment.php HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\n`)
    wire.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    await begun
    wire.hangUp()
    await gateway.gateway.close()
    expect((await claimOf(gateway)).state).toBe('booked')
  })
})

/*
 * The last column must not change between versions: gateways of several versions share a store, and a different key would repeat earlier
 * bookings.
 */
test('a key is the client, and its Idempotency-Key, else the reference and the vehicle, else the body', async () => {
  const long = 'k'.repeat(400)
  const bookings: readonly (readonly [changes: object, headers: Readonly<Record<string, string>>, key?: string])[] = [
    [{}, {}, '6exGeNEMHcAwWQBS45wI7gEyOequM5NA9OVwOLSfJJ4'],
    [{ VinNo: OTHER_VIN }, {}],
    [{ VinNo: '', Model: 'Transit' }, {}],
    [{}, keyed('K-1'), '7lXYlSjBTQHDlYbJj-rZTUnfZhrNgWeK51BEwDxkyQU'],
    [{ VinNo: '' }, keyed(REFERENCE)],
    [{}, keyed(`${long}1`)],
    [{}, keyed(`${long}2`)],
    [{ ReferenceNumber: '' }, {}, 'YlW8sMh7NrUM8OA-R_C55lm2KGEi6daFeomcSSPmIPo'],
    [{ ReferenceNumber: '', DeliveryName: 'Else' }, {}],
    [{ DeliveryName: 'Else' }, { authorization: basic('other', 'secret') }],
  ]
  const gateway = await startGateway({ sandbox: { credentials: { [CLIENT.id]: CLIENT.secret, other: 'secret' } } })
  const made: string[] = []
  for (const [changes, headers] of bookings) made.push(expectBooked(await book(gateway, changes, headers)))
  expect(new Set(made).size).toBe(bookings.length)
  for (const [index, [changes, headers]] of bookings.entries()) {
    expect(expectBooked(await book(gateway, changes, headers), true)).toBe(made[index])
  }
  const keys = (await gateway.store.listClaims({})).map(({ key }) => key)
  expect(keys).toEqual(expect.arrayContaining(bookings.flatMap(([, , key]) => key ?? [])))
  expect((await book(gateway, { ReferenceNumber: 'ANOTHER' }, keyed('K-1'))).status).toBe(409)
})
