import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { openStore } from '../../src/store/open.ts'
import { freePort } from '../free-port.ts'
import { basic, CLIENT, get, OWN, post, startGateway } from '../gateway.ts'
import { dial } from '../http/wire.ts'
import { type Fault, startSandbox } from '../stand-in/stand-in.ts'
import {
  book,
  claimOf,
  creations,
  expectBooked,
  expectUnknown,
  HANDLE,
  isCreation,
  REFERENCE,
  shipments,
  statesOf,
} from './desk.ts'

const OTHER_VIN = '1HGCM82633A004352'
/** Does not change the key: it is the same booking with another body. */
const OTHER_BODY = { DeliveryName: 'Somebody Else' }
const SHORT_MS = 1_000
const SHORT = { UPSTREAM_TIMEOUT_MS: `${SHORT_MS}` }
const ON_CREATION = { method: 'POST', path: '/v2/shipment*' }

function delayed(ms: number): Fault {
  return { kind: 'delay', ms, on: ON_CREATION }
}

describe('a free key', () => {
  test('is claimed, sent, recorded and answered, each step dated and signed', async () => {
    const gateway = await startGateway({ now: () => 1_000 })
    const id = expectBooked(await book(gateway))
    const claim = await claimOf(gateway)
    expect(claim).toMatchObject({ state: 'booked', shipment: id, tenant: CLIENT.id, vin: bookingExample.VinNo })
    const instance = expect.stringContaining(`/${process.pid}/`)
    expect(await gateway.store.audit(claim.handle)).toEqual([
      { at: 1_000, from: 'none', to: 'sending', instance, why: 'claimed' },
      { at: 1_000, from: 'sending', to: 'booked', instance, why: 'made' },
    ])
    expect(shipments(gateway).map((shipment) => shipment.id)).toEqual([id])
  })

  test('has one winner among many callers at once; the others get the same reply', async () => {
    const gateway = await startGateway()
    const answers = await Promise.all(Array.from({ length: 12 }, () => book(gateway)))
    const [first] = answers.filter(({ headers }) => !headers.has('idempotent-replayed'))
    const id = expectBooked(first ?? expect.fail('nobody won'))
    for (const answer of answers.filter((one) => one !== first)) expect(expectBooked(answer, true)).toBe(id)
    expect(creations(gateway)).toBe(1)
  })
})

describe('a booking under way', () => {
  test('is waited for by the same one, which gets the same reply', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail(delayed(300))
    const begun = gateway.sandbox.next(isCreation)
    const first = book(gateway)
    await begun
    const second = await book(gateway)
    const id = expectBooked(await first)
    expect(expectBooked(second, true)).toBe(id)
    expect(second.text).toBe((await first).text)
    expect(second.headers.get('transload-shipment-number')).toBe((await first).headers.get('transload-shipment-number'))
    expect(creations(gateway)).toBe(1)
  })

  test('of another gateway is waited for too, and at the end of the time the answer says when to come back', async () => {
    const gateway = await startGateway()
    const hasty = await startGateway({ env: SHORT, store: gateway.store, serviceUrl: gateway.sandbox.url })
    gateway.sandbox.fail(delayed(1_500))
    const begun = gateway.sandbox.next(isCreation)
    const first = book(gateway)
    await begun
    const tooLong = await book(hasty)
    expect(tooLong.status).toBe(409)
    expect(tooLong.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(tooLong.json).toEqual({ Message: expect.stringMatching(HANDLE), TransportationBooked: 'No' })
    expect(tooLong.json.Message).toMatch(/under way.*[Tt]ry again/)
    const id = expectBooked(await first)
    expect(expectBooked(await book(hasty), true)).toBe(id)
    expect(creations(gateway)).toBe(1)
  })

  test('is answered as unknown to the one that waited when it becomes unknown', async () => {
    const gateway = await startGateway({ env: SHORT })
    const patient = await startGateway({ store: gateway.store, serviceUrl: gateway.sandbox.url })
    gateway.sandbox.fail({ kind: 'timeout', on: ON_CREATION })
    const begun = gateway.sandbox.next(isCreation)
    const first = book(gateway)
    await begun
    const waited = await book(patient)
    expect(expectUnknown(waited)).toBe(expectUnknown(await first))
    expect(creations(gateway)).toBe(1)
  })

  test('is sent by the one that waited when it was refused', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'status', status: 503, process: false, on: ON_CREATION })
    const answers = await Promise.all([book(gateway), book(gateway), book(gateway)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 503])
    expect(shipments(gateway)).toHaveLength(1)
    expect(creations(gateway)).toBe(2)
  })

  test('is no place for a different body', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail(delayed(300))
    const begun = gateway.sandbox.next(isCreation)
    const first = book(gateway)
    await begun
    const other = await book(gateway, OTHER_BODY)
    expect(other.status).toBe(409)
    expect(other.json).toEqual({
      Message: expect.stringMatching(/[Aa]nother booking.*under way/),
      TransportationBooked: 'No',
    })
    expect(other.json.Message).toMatch(HANDLE)
    expectBooked(await first)
    expect(creations(gateway)).toBe(1)
  })

  test('is finished although its caller hangs up', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail(delayed(200))
    const begun = gateway.sandbox.next(isCreation)
    const wire = await dial(gateway)
    const body = JSON.stringify(bookingExample)
    wire.write(`POST /createShipment.php HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\n`)
    wire.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    await begun
    wire.hangUp()
    // The retry waits for what the hung-up call has begun.
    const id = expectBooked(await book(gateway), true)
    expect(await claimOf(gateway)).toMatchObject({ state: 'booked', shipment: id })
    expect(creations(gateway)).toBe(1)
  })

  test('is finished and recorded before a gateway closes, although its caller has hung up', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail(delayed(200))
    const begun = gateway.sandbox.next(isCreation)
    const wire = await dial(gateway)
    const body = JSON.stringify(bookingExample)
    wire.write(`POST /createShipment.php HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\n`)
    wire.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    await begun
    wire.hangUp()
    await gateway.gateway.close()
    expect((await claimOf(gateway)).state).toBe('booked')
  })
})

describe('a booked key', () => {
  test('answers the same booking with the same reply and sends nothing', async () => {
    const gateway = await startGateway()
    const first = await book(gateway)
    const received = gateway.sandbox.requests.length
    const second = await book(gateway)
    expect(expectBooked(second, true)).toBe(expectBooked(first))
    expect(second.text).toBe(first.text)
    expect(gateway.sandbox.requests).toHaveLength(received)
  })

  test('refuses a different body and points to the update', async () => {
    const gateway = await startGateway()
    expectBooked(await book(gateway))
    const other = await book(gateway, OTHER_BODY)
    expect(other.status).toBe(409)
    expect(other.json).toEqual({ Message: expect.stringContaining('/updateShipment.php'), TransportationBooked: 'No' })
    expect(other.json.Message).toMatch(HANDLE)
    expect(creations(gateway)).toBe(1)
  })

  const pairs = Object.entries(bookingExample)
  test.each([
    ['a form', new URLSearchParams(bookingExample).toString()],
    ['another order', JSON.stringify(Object.fromEntries(pairs.toReversed()))],
    [
      'another spelling',
      JSON.stringify(Object.fromEntries(pairs.map(([name, value]) => [name.replace(/\.$/, '').toUpperCase(), value]))),
    ],
    [
      'blanks around values',
      JSON.stringify(Object.fromEntries(pairs.map(([name, value]) => [name, ` ${value} `])), null, 3),
    ],
    ['numbers for strings', JSON.stringify({ ...bookingExample, Year: 2023, DeliveryZip: 33_166 })],
    ['fields that nobody knows', JSON.stringify({ ...bookingExample, Foo: 'bar', CSR: null })],
    ['another word for the action', JSON.stringify({ ...bookingExample, ActionName: 'create shipment' })],
    ['a byte order mark', `\ufeff${JSON.stringify(bookingExample)}`],
  ])('knows the same fields in other bytes: %s', async (_, body) => {
    const gateway = await startGateway()
    const id = expectBooked(await book(gateway))
    expect(expectBooked(await post(gateway, '/ConfirmBooking/', body), true)).toBe(id)
    expect(creations(gateway)).toBe(1)
  })

  test('is one of several where one reference covers several vehicles', async () => {
    const gateway = await startGateway()
    const ids = [expectBooked(await book(gateway)), expectBooked(await book(gateway, { VinNo: OTHER_VIN }))]
    expect(new Set(ids).size).toBe(2)
    expect(expectBooked(await book(gateway, { VinNo: OTHER_VIN }), true)).toBe(ids[1])
    expect(expectBooked(await book(gateway), true)).toBe(ids[0])
    expect(shipments(gateway, REFERENCE)).toHaveLength(2)
  })

  test('is another one for another client', async () => {
    const gateway = await startGateway({ sandbox: { credentials: { [CLIENT.id]: CLIENT.secret, other: 'secret' } } })
    const ids = [
      expectBooked(await book(gateway)),
      expectBooked(await book(gateway, OTHER_BODY, { authorization: basic('other', 'secret') })),
    ]
    expect(new Set(ids).size).toBe(2)
  })

  test('is free again once the shipment is canceled, by whichever name', async () => {
    const gateway = await startGateway()
    const first = expectBooked(await book(gateway))
    expect((await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })).status).toBe(200)
    expect((await claimOf(gateway)).state).toBe('freed')
    const second = expectBooked(await book(gateway, OTHER_BODY))
    expect(second).not.toBe(first)
    expect((await post(gateway, '/deleteShipment.php', { shipment_id: second })).status).toBe(200)
    const third = expectBooked(await book(gateway))
    expect(shipments(gateway, REFERENCE).map(({ id }) => id)).toEqual([third])
    // Canceling the first again does not free the third.
    expect((await post(gateway, '/deleteShipment.php', { shipment_id: first })).status).toBe(200)
    expect(expectBooked(await book(gateway), true)).toBe(third)
  })
})

describe('a refused key', () => {
  test.each([400, 401, 403, 409, 422, 429, 503])('is claimed again after %i, whatever the body', async (status) => {
    const gateway = await startGateway()
    const fault: Fault = { kind: 'status', status, on: ON_CREATION }
    gateway.sandbox.fail(fault, fault)
    for (const changes of [{}, OTHER_BODY]) {
      const refused = await book(gateway, changes)
      expect(refused.status).toBe(status)
      expect(refused.json.TransportationBooked).toBe('No')
      expect(await claimOf(gateway)).toMatchObject({ state: 'refused', shipment: '' })
    }
    expectBooked(await book(gateway))
    expect(creations(gateway)).toBe(3)
    expect(shipments(gateway)).toHaveLength(1)
    expect(await statesOf(gateway, (await claimOf(gateway)).handle)).toEqual(['refused', 'sending', 'booked'])
  })

  test('is claimed again after a 404 under either spelling of the path', async () => {
    const gateway = await startGateway()
    gateway.sandbox.fail({ kind: 'status', status: 404, times: 2, on: ON_CREATION })
    expect((await book(gateway)).status).toBe(502)
    expect((await claimOf(gateway)).state).toBe('refused')
    expectBooked(await book(gateway))
  })
})

describe('an unknown key', () => {
  test('is never sent again, with the same body or another, and tells whom to ask', async () => {
    const gateway = await startGateway({ env: SHORT })
    gateway.sandbox.fail({ kind: 'timeout', on: ON_CREATION })
    const key = expectUnknown(await book(gateway))
    expect(expectUnknown(await book(gateway))).toBe(key)
    expect(expectUnknown(await book(gateway, OTHER_BODY))).toBe(key)
    expect(creations(gateway)).toBe(1)
    expect(await statesOf(gateway, key)).toEqual(['none', 'sending', 'unknown'])
    expect(gateway.lines()).toContainEqual(expect.objectContaining({ booking: key, why: 'late', level: 'error' }))
  })

  test('says so in a 200 to callers that only read those', async () => {
    const gateway = await startGateway({ env: { ...SHORT, ERROR_STATUS: 'ok' } })
    gateway.sandbox.fail({ kind: 'timeout', on: ON_CREATION })
    for (const answer of [await book(gateway), await book(gateway)]) {
      expect(answer.status).toBe(200)
      expect(answer.json.TransportationBooked).toBe('Unknown')
    }
  })

  test('stays unknown when the window of a booking without a reference is over', async () => {
    let now = 0
    const gateway = await startGateway({ env: SHORT, now: () => now })
    gateway.sandbox.fail({ kind: 'timeout', on: ON_CREATION })
    const key = expectUnknown(await book(gateway, { ReferenceNumber: '' }))
    now += 3_600_000
    expect(expectUnknown(await book(gateway, { ReferenceNumber: '' }))).toBe(key)
    expect(creations(gateway)).toBe(1)
  })
})

test('a service that cannot be reached leaves the key free, and the next call sends', async () => {
  const port = await freePort()
  const gateway = await startGateway({ serviceUrl: `http://127.0.0.1:${port}`, env: OWN })
  const unreachable = await book(gateway)
  expect(unreachable.status).toBe(502)
  expect(unreachable.json).toEqual({ Message: expect.stringContaining('nothing was sent'), TransportationBooked: 'No' })
  expect((await claimOf(gateway)).state).toBe('freed')
  const sandbox = await startSandbox({ port })
  onTestFinished(() => sandbox.close())
  expectBooked(await book(gateway, OTHER_BODY))
  expect(creations({ sandbox })).toBe(1)
})

describe('without a reference', () => {
  const nameless = { ReferenceNumber: '' }

  test('the same body is the same booking within the window, and another one after it', async () => {
    let now = 1_000_000
    const gateway = await startGateway({ env: { DEDUPE_WINDOW: '10m' }, now: () => now })
    const first = expectBooked(await book(gateway, nameless))
    now += 599_999
    expect(expectBooked(await book(gateway, nameless), true)).toBe(first)
    now += 1
    const second = expectBooked(await book(gateway, nameless))
    expect(second).not.toBe(first)
    expect(expectBooked(await book(gateway, nameless), true)).toBe(second)
    expect(creations(gateway)).toBe(2)
  })

  test('another body is another booking', async () => {
    const gateway = await startGateway()
    const ids = [
      expectBooked(await book(gateway, nameless)),
      expectBooked(await book(gateway, { ...nameless, ...OTHER_BODY })),
    ]
    expect(new Set(ids).size).toBe(2)
  })

  test('a booking that has one is protected without end', async () => {
    let now = 1_000_000
    const gateway = await startGateway({ now: () => now })
    const id = expectBooked(await book(gateway))
    now += 365 * 86_400_000
    expect(expectBooked(await book(gateway), true)).toBe(id)
  })
})

describe('an Idempotency-Key', () => {
  const key = (text: string) => ({ 'Idempotency-Key': text })

  test('counts instead of the reference', async () => {
    const gateway = await startGateway()
    const one = expectBooked(await book(gateway, {}, key('one')))
    expect(expectBooked(await book(gateway, {}, key('one')), true)).toBe(one)
    // The same reference under another key is another booking: the caller says so.
    expect(expectBooked(await book(gateway, {}, key('two')))).not.toBe(one)
    const misused = await book(gateway, { ReferenceNumber: 'ANOTHER' }, key('one'))
    expect(misused.status).toBe(409)
    expect(creations(gateway)).toBe(2)
  })

  test('counts in its whole length', async () => {
    const gateway = await startGateway()
    const long = 'k'.repeat(400)
    expectBooked(await book(gateway, {}, key(`${long}1`)))
    expectBooked(await book(gateway, {}, key(`${long}2`)))
    expect(creations(gateway)).toBe(2)
  })
})

describe('a replay', () => {
  const withSecret = (secret: string) => ({ authorization: basic(CLIENT.id, secret) })

  test('is for the credential that booked, or one that the service lets read the shipment', async () => {
    const gateway = await startGateway({ sandbox: { credentials: { [CLIENT.id]: 'old' } } })
    const id = expectBooked(await book(gateway, {}, withSecret('old')))
    gateway.sandbox.set({ credentials: { [CLIENT.id]: 'new' } })
    await get(gateway, '/getShipment.php?ReferenceNumber=none', withSecret('new'))
    const received = gateway.sandbox.requests.length
    expect(expectBooked(await book(gateway, {}, withSecret('new')), true)).toBe(id)
    const asked = gateway.sandbox.requests.slice(received).map(({ method, path }) => `${method} ${path}`)
    expect(asked).toEqual([`GET /v2/shipments/${id}`])

    const wrong = await book(gateway, {}, withSecret('wrong'))
    expect(wrong.status).toBe(401)
    expect(wrong.text).not.toContain(id)
    expect(wrong.headers.get('transload-shipment-id')).toBeNull()
    expect(wrong.headers.get('idempotent-replayed')).toBeNull()
    expect(wrong.json.TransportationBooked).toBe('No')

    expect(expectBooked(await book(gateway, {}, withSecret('old')), true)).toBe(id)
    expect(creations(gateway)).toBe(1)
  })

  test('waits behind a wrong secret, which books nothing', async () => {
    const gateway = await startGateway()
    const [wrong, right] = await Promise.all([book(gateway, {}, withSecret('wrong')), book(gateway)])
    expect(wrong.status).toBe(401)
    expectBooked(right, right.headers.has('idempotent-replayed'))
    expect(shipments(gateway)).toHaveLength(1)
  })
})

describe('BOOKING_REFUSED_STATUSES lists the statuses that prove that nothing was booked', () => {
  test.each([
    { statuses: '4xx', answered: 503, state: 'unknown' },
    { statuses: '4xx,500', answered: 500, state: 'refused' },
    { statuses: '4xx,3xx', answered: 307, state: 'refused' },
    { statuses: '422', answered: 400, state: 'unknown' },
    { statuses: '422', answered: 422, state: 'refused' },
  ])('$statuses: $answered is $state', async ({ statuses, answered, state }) => {
    const gateway = await startGateway({ env: { BOOKING_REFUSED_STATUSES: statuses } })
    gateway.sandbox.fail({ kind: 'status', status: answered, on: ON_CREATION })
    const first = await book(gateway)
    expect((await claimOf(gateway)).state).toBe(state)
    const second = await book(gateway)
    if (state === 'unknown') expect(expectUnknown(first)).toBe(expectUnknown(second))
    else expectBooked(second)
    expect(creations(gateway)).toBe(state === 'unknown' ? 1 : 2)
  })
})

test('a gateway that starts again on the same file knows the booked and the unknown bookings', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'transload-states-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const url = join(folder, 'store.db')
  const before = await startGateway({ env: SHORT, store: await openStore(url) })
  const first = await book(before)
  before.sandbox.fail({ kind: 'timeout', on: ON_CREATION })
  const key = expectUnknown(await book(before, { ReferenceNumber: 'IN-DOUBT' }))
  await before.gateway.close()
  await before.store.close()

  const after = await startGateway({ env: SHORT, store: await openStore(url), serviceUrl: before.sandbox.url })
  const again = await book(after)
  expect(expectBooked(again, true)).toBe(expectBooked(first))
  expect(again.text).toBe(first.text)
  expect(expectUnknown(await book(after, { ReferenceNumber: 'IN-DOUBT' }))).toBe(key)
  expect(creations(before)).toBe(2)
  const read = await get(after, `/getShipment.php?ReferenceNumber=${REFERENCE}`)
  expect(read.json).toMatchObject({ ReferenceNumber: REFERENCE, TransportationBooked: 'Yes' })
})
