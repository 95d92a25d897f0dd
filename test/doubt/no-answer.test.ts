/** Promise: if the service does not answer, the caller learns what may have been done (contract, section 9). */

import { expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { ask, book } from '../bookings/desk.ts'
import { freePort } from '../free-port.ts'
import { get, post, startGateway, type TestGateway, type WholeAnswer } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'

const QUOTE = '/getShippingQuote.php'
const named = { ShipmentNumber: quoteExample.ShipmentNumber }
const VERSION_2 = { customer: { name: 'Pat Example' }, vehicles: [] }

const CHANGE = /It is not known whether the change was made\./
const PASSED = /It may have completed the request\. Read the record before you send this again/
const ASKED = /^(?!.*(?:may have|not known whether))/
const AGAIN = /Try again/

/** The calls: the path, the fields, the message to the caller, and whether the transportation is booked. */
const CALLS: Readonly<Record<string, readonly [path: string, fields: object, message: RegExp, booked?: string]>> = {
  'a new quote': [QUOTE, quoteExample, ASKED],
  'an update of a quote': [QUOTE, { ...named, ActionName: 'Update Rate' }, CHANGE],
  'an approval': [QUOTE, { ...named, ActionName: 'Approve Rate' }, CHANGE],
  'a booking': [
    '/createShipment.php',
    { ...bookingExample, ReferenceNumber: 'REF-2' },
    /^It is not known whether this booking was made\./,
    'Unknown',
  ],
  'a read': ['/getShipment.php?ReferenceNumber=REF-1', {}, ASKED, 'Unknown'],
  'an update': ['/updateShipment.php', { ReferenceNumber: 'REF-1', PickupName: 'Robin' }, CHANGE, 'Unknown'],
  'a cancellation': ['/deleteShipment.php', { ReferenceNumber: 'REF-1' }, CHANGE, 'Unknown'],
  'a version-2 body': ['/createShipment.php', VERSION_2, PASSED],
  'POST /v2/shipments': ['', {}, PASSED],
  'POST /v2/quote/q-1/approve': ['', {}, PASSED],
  'PUT /v2/shipments/s-1': ['', {}, PASSED],
  'POST /v2/carriers': ['', {}, PASSED],
  'GET /v2/shipments/s-1': ['', {}, AGAIN],
  'DELETE /v2/shipments/s-1': ['', {}, AGAIN],
  'POST /v2/quote/?from=NY': ['', {}, AGAIN],
}

/** Makes a call; if it has no path, its name is the request. */
async function send(gateway: TestGateway, what: string): Promise<Pick<WholeAnswer, 'status' | 'json'>> {
  const [path = '', fields = {}] = CALLS[what] ?? []
  if (path !== '') return path.includes('?') ? get(gateway, path) : post(gateway, path, fields)
  const [method = '', itsPath = ''] = what.split(' ')
  const { status, text } = await ask(gateway, method, itsPath)
  return { status, json: JSON.parse(text) }
}

/** The requests that meet the fault, if the gateway reads first. */
const METHOD_OF: Readonly<Record<string, Pick<Fault, 'on'>>> = {
  'an update': { on: { method: 'PUT' } },
  'POST /v2/quote/q-1/approve': { on: { method: 'POST' } },
}

const ALL = Object.entries(CALLS)

test.each<[string, Fault, number]>([
  ['no reply in time', { kind: 'timeout' }, 504],
  ['no reply', { kind: 'reset-after' }, 502],
  ['half a reply', { kind: 'reset-mid-body' }, 502],
  ['too large a reply', { kind: 'huge', megabytes: 9 }, 502],
])('%s', async (_, fault, status) => {
  // A call that is passed through is streamed, so its reply breaks off.
  const isPassedOn = fault.kind === 'reset-mid-body' || fault.kind === 'huge'
  const told = async ([what, [, , message, booked]]: (typeof ALL)[number]) => {
    const gateway = await startGateway({ env: fault.kind === 'timeout' ? { UPSTREAM_TIMEOUT_MS: '2000' } : {} })
    await post(gateway, QUOTE, quoteExample)
    await book(gateway, { ReferenceNumber: 'REF-1' })
    gateway.sandbox.fail({ ...fault, ...METHOD_OF[what], times: 'always' })
    const { status: answered, json } = await send(gateway, what)
    // A version-2 caller gets problem details with the same message.
    const isVersion2 = / \/v2\/|version-2/.test(what)
    const expected = [what, what === 'a booking' ? 503 : status, expect.stringMatching(message)]
    expect([what, answered, isVersion2 ? json.detail : json.Message]).toEqual(expected)
    expect(json.TransportationBooked).toBe(isVersion2 ? undefined : booked)
  }
  const calls = ALL.filter(([what]) => !isPassedOn || !/^[A-Z]+ /.test(what))
  // Several huge replies at once would hold up a slow machine for longer than half a lease.
  if (fault.kind === 'timeout') await Promise.all(calls.map(told))
  else for (const call of calls) await told(call)
})

test('an update whose shipment cannot be read changes nothing', async () => {
  const gateway = await startGateway()
  await book(gateway, { ReferenceNumber: 'REF-1' })
  gateway.sandbox.fail({ kind: 'reset-after', on: { method: 'GET' }, times: 'always' })
  expect((await send(gateway, 'an update')).json.Message).toMatch(ASKED)
})

test.each([
  ['a cancellation', 'DELETE'],
  ['an update', 'PUT'],
])('404 to %s of a shipment that a read shows does not say that it is not booked', async (what, method) => {
  const gateway = await startGateway()
  await book(gateway, { ReferenceNumber: 'REF-1' })
  gateway.sandbox.fail({ kind: 'status', status: 404, on: { method } })
  const { status, json } = await send(gateway, what)
  expect([status, json.TransportationBooked]).toEqual([404, 'Unknown'])
})

test('only a call that found no connection was not sent', async () => {
  const gateway = await startGateway({ serviceUrl: `http://127.0.0.1:${await freePort()}` })
  for (const path of ['/v2/shipments', '/createShipment.php']) {
    const { json } = await post(gateway, path, VERSION_2)
    expect(json.detail).toMatch(/nothing was sent/)
  }
})

test.each([404, 405])(
  '%i to everything says nothing about a number: it is 502, and the log says what to check',
  async (status) => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'status', status, times: 'always' })
    const message = expect.stringContaining('does not support this operation')
    expect(await post(gateway, QUOTE, quoteExample)).toMatchObject({ status: 502, json: { Message: message } })
    // Nothing was booked: the same reference is sent again.
    for (const answer of [await book(gateway), await book(gateway)]) {
      expect(answer).toMatchObject({ status: 502, json: { TransportationBooked: 'No' } })
    }
    expect(await gateway.logged(/check V2_BASE_URL/)).toMatchObject({ level: 'error', status })
    expect((await get(gateway, '/readyz')).status).toBe(200)
  },
)
