/** Promise: a canceled booking frees its key, by whichever of its names and on whichever way (contract, section 7). */

import { describe, expect, test } from 'vitest'
import { basic, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import type { Fault } from '../stand-in/stand-in.ts'
import { ask, book, creations, expectBooked, REFERENCE, shipments } from './desk.ts'

/*
 * Promise: canceling a booking frees its key, whichever interface cancels it, and nothing else does: a read of the very id that the
 * booking holds shows `canceled`, or finds nothing (contract, section 7; test/doubt/numbers.test.ts has other spellings).
 */

async function openBooked(env: Readonly<Record<string, string>> = {}) {
  const gateway = await startGateway({ env })
  const made = await book(gateway)
  const { sandbox } = gateway
  const id = expectBooked(made)
  const number = made.headers.get('transload-shipment-number') ?? ''
  const cancelAtService = () => {
    const shipment = sandbox.shipments.get(id)
    if (shipment) shipment.status = 'canceled'
  }
  return { gateway, sandbox, id, number, cancelAtService }
}

const remove = (gateway: TestGateway, id: string) => ask(gateway, 'DELETE', `/v2/shipments/${id}`)
const cancel = (gateway: TestGateway, name: object) => post(gateway, '/deleteShipment.php', name)

const on = { method: 'DELETE' }
const replies = (status: number, body: string | object = '', more: object = {}): Fault => ({
  kind: 'status',
  status,
  body,
  on,
  ...more,
})

/** The most bytes of a reply that are looked at before it is passed on. */
const MOST_LOOKED_AT = 65_536
/** A body with a note, so that its JSON is so long. */
const padded = (body: object, bytes: number) =>
  JSON.stringify({ ...body, note: 'x'.repeat(bytes - JSON.stringify({ ...body, note: '' }).length) })

/** The next booking is a new one, and the only one that is live. */
async function expectFree(gateway: TestGateway, canceled: string): Promise<string> {
  const again = expectBooked(await book(gateway))
  expect(again).not.toBe(canceled)
  expect(shipments(gateway, REFERENCE).map(({ id }) => id)).toEqual([again])
  return again
}

/** The next booking is answered as the first one was. */
async function expectHeld(gateway: TestGateway, booked: string): Promise<void> {
  expect(expectBooked(await book(gateway), true)).toBe(booked)
  expect(creations(gateway)).toBe(1)
}

test('version 1 frees it by whichever name, again and again; canceling the first again does not free the last', async () => {
  const { gateway, id } = await openBooked()
  expect((await cancel(gateway, { ReferenceNumber: REFERENCE })).status).toBe(200)
  const second = await expectFree(gateway, id)
  expect((await cancel(gateway, { shipment_id: second })).status).toBe(200)
  const third = await expectFree(gateway, second)
  expect((await cancel(gateway, { shipment_id: id })).status).toBe(200)
  expect(expectBooked(await book(gateway), true)).toBe(third)
})

test('version 1 frees the key of the shipment alone, where the reply has an id of its own beside it', async () => {
  const { gateway, id } = await openBooked()
  const other = expectBooked(await book(gateway, { ReferenceNumber: 'OTHER' }))
  gateway.sandbox.fail(replies(200, { id: other, shipment_id: id, status: 'canceled' }, { process: true }))
  expect((await cancel(gateway, { ReferenceNumber: REFERENCE })).status).toBe(200)
  expect(expectBooked(await book(gateway, { ReferenceNumber: 'OTHER' }), true)).toBe(other)
  await expectFree(gateway, id)
})

describe('a DELETE under /v2/ frees it', () => {
  test.each([
    '/v2/shipments/ID',
    '/v2/shipment/ID',
    '/v2//shipments//ID/',
    '/%762/shipment%73/ID',
    '/v2/Shipments/ID',
    '/v2/shipments;v=1/ID',
    '/v2/shipments/ID?why=changed',
    '/v2/shipments/ENCODED',
    '/v2/shipments/CAPITALS',
    '/v2/shipments/NUMBER',
  ])('as %s, by what a read shows', async (path) => {
    const { gateway, sandbox, id, number, cancelAtService } = await openBooked()
    sandbox.fail(replies(204))
    cancelAtService()
    const names = { ID: id, ENCODED: id.replaceAll('-', '%2D'), CAPITALS: id.toUpperCase(), NUMBER: number }
    const spelled = Object.entries(names).reduce((text, [name, value]) => text.replace(name, value), path)
    expect((await ask(gateway, 'DELETE', spelled)).status).toBe(204)
    await expectFree(gateway, id)
  })

  test('by its reply, in fixed mode too', async () => {
    const { gateway, id } = await openBooked(OWN)
    await remove(gateway, id)
    await expectFree(gateway, id)
  })

  test('by a read, where the reply breaks off', async () => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.fail({ kind: 'reset-mid-body', on })
    await expect(remove(gateway, id)).rejects.toThrow()
    await expectFree(gateway, id)
  })

  test('for a name that only the reply connects with the shipment', async () => {
    const { gateway, sandbox, id } = await openBooked()
    sandbox.shipments.delete(id)
    const body = padded({ id, external_id: 'EXT-1', status: 'canceled' }, MOST_LOOKED_AT)
    sandbox.fail(replies(200, body))
    expect((await remove(gateway, 'EXT-1')).text).toBe(body)
    await expectFree(gateway, id)
  })

  test('by a read where the reply is too large to be looked at', async () => {
    const { gateway, sandbox, id, cancelAtService } = await openBooked()
    const body = padded({ id, status: 'canceled' }, MOST_LOOKED_AT + 1)
    sandbox.fail(replies(200, body, { times: 2 }))
    expect((await remove(gateway, id)).text).toBe(body)
    await expectHeld(gateway, id)
    cancelAtService()
    await remove(gateway, id)
    await expectFree(gateway, id)
  })
})

const DENIALS = [{ success: false }, { id: 'another', status: 'canceled' }, { status: 'in_transit' }, { error: 'no' }]

describe('nothing is freed', () => {
  test.each<[number, string]>([
    ...[401, 404, 409, 500].map((status): [number, string] => [status, '{}']),
    ...[...DENIALS, {}].map((body): [number, string] => [200, JSON.stringify(body)]),
    [200, 'Accepted'],
    [204, ''],
  ])('by %i %s while the shipment lives; the reply is passed on', async (status, text) => {
    const { gateway, sandbox, id } = await openBooked()
    sandbox.fail(replies(status, text))
    if (status === 204) sandbox.fail({ kind: 'status', status: 503, on: { method: 'GET' } })
    expect(await remove(gateway, id)).toEqual({ status, text })
    await expectHeld(gateway, id)
  })

  test('by a DELETE of something else, or of another client', async () => {
    const gateway = await startGateway({ sandbox: { credentials: 'any' } })
    const id = expectBooked(await book(gateway))
    gateway.sandbox.fail(replies(200, '{}', { times: 'always' }))
    for (const path of [`quote/${id}`, `shipments/${id}/documents`, 'shipments', 'shipments/other']) {
      expect((await ask(gateway, 'DELETE', `/v2/${path}`)).status).toBe(200)
    }
    await ask(gateway, 'DELETE', `/v2/shipments/${id}`, { authorization: basic('other', 'secret') })
    await expectHeld(gateway, id)
  })
})

test('an update under /v2/ whose reply shows it as canceled frees it', async () => {
  const { gateway, sandbox, id } = await openBooked()
  const shipment = sandbox.shipments.get(id)
  if (shipment) sandbox.shipments.set(id, { ...shipment, status: 'canceled' })
  sandbox.fail({ ...replies(200, { id, status: 'canceled' }), on: { method: 'PUT' } })
  await ask(gateway, 'PUT', `/v2/shipments/${id}`)
  await expectFree(gateway, id)
})

test.each(DENIALS)(
  'a version-2 body at /deleteShipment.php frees it, and not where it is answered %o',
  async (denial) => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.fail(replies(200, denial))
    expect((await cancel(gateway, { id, customer: {} })).json).toEqual(denial)
    await expectHeld(gateway, id)
    expect((await cancel(gateway, { id, customer: {} })).json).toMatchObject({ id, status: 'canceled' })
    await expectFree(gateway, id)
  },
)

test.each<[string, Fault[], number, string]>([
  ['a refusal', [replies(404)], 404, 'No'],
  ['a success, and no shipment is there', [replies(204)], 404, 'No'],
  ['a success, and no read', [replies(204), { kind: 'status', status: 500, times: 'always' }], 502, 'Unknown'],
])('of a shipment that nobody has seen, answered with %s, is no success', async (_, faults, status, booked) => {
  const gateway = await startGateway()
  gateway.sandbox.fail(...faults)
  const answer = await cancel(gateway, { number: crypto.randomUUID() })
  expect([answer.status, answer.json.TransportationBooked]).toEqual([status, booked])
})
