import { describe, expect, test } from 'vitest'
import { book, creations, expectBooked, REFERENCE, shipments } from '../bookings/desk.ts'
import { basic, CLIENT, post, startGateway, type TestGateway } from '../gateway.ts'

/*
 * A booking's key is free again once its shipment is canceled, whichever interface cancels it.
 */

async function openBooked(env: Readonly<Record<string, string>> = {}) {
  const gateway = await startGateway({ env })
  const { id, number } = await book(gateway).then((made) => ({
    id: expectBooked(made),
    number: made.headers.get('transload-shipment-number') ?? '',
  }))
  return { gateway, id, number }
}

const remove = (gateway: TestGateway, path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(gateway.url + path, { method: 'DELETE', headers: { authorization: basic(), ...headers } })

/** The most bytes of a reply that are looked at before it is passed on. */
const MOST_LOOKED_AT = 65_536

/** Adds a note to a body, so that its JSON is so long. */
const padded = (body: Readonly<Record<string, string>>, bytes: number) => ({
  ...body,
  note: 'x'.repeat(bytes - JSON.stringify({ ...body, note: '' }).length),
})

/** The next booking is a new one, and the only one that is live. */
async function expectFree(gateway: TestGateway, canceled: string): Promise<void> {
  const again = expectBooked(await book(gateway))
  expect(again).not.toBe(canceled)
  expect(shipments(gateway, REFERENCE).map(({ id }) => id)).toEqual([again])
}

/** The next booking is answered as the first one was. */
async function expectHeld(gateway: TestGateway, booked: string): Promise<void> {
  expect(expectBooked(await book(gateway), true)).toBe(booked)
  expect(creations(gateway)).toBe(1)
}

describe('a DELETE under /v2/', () => {
  test.each([
    '/v2/shipments/ID',
    '/v2/shipment/ID',
    '/v2//shipments//ID/',
    '/%762/shipment%73/ID',
    '/v2/shipments/ID?why=changed',
  ])('%s frees the key where it succeeds', async (path) => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.fail({
      kind: 'status',
      status: 200,
      body: { id, status: 'canceled' },
      on: { method: 'DELETE' },
    })
    const shipment = gateway.sandbox.shipments.get(id)
    if (shipment) shipment.status = 'canceled'
    expect((await remove(gateway, path.replace('ID', id))).status).toBe(200)
    await expectFree(gateway, id)
  })

  test('frees it for a percent-encoded id, for one in capitals, and for the number', async () => {
    const spellings = [
      ({ id }: { id: string }) => id.replaceAll('-', '%2D'),
      ({ id }: { id: string }) => id.toUpperCase(),
      ({ number }: { number: string }) => number,
    ]
    for (const spelling of spellings) {
      const { gateway, ...names } = await openBooked()
      gateway.sandbox.fail({ kind: 'status', status: 204, body: '', on: { method: 'DELETE' } })
      const shipment = gateway.sandbox.shipments.get(names.id)
      if (shipment) shipment.status = 'canceled'
      expect((await remove(gateway, `/v2/shipments/${spelling(names)}`)).status).toBe(204)
      await expectFree(gateway, names.id)
    }
  })

  test('frees it in fixed mode as well', async () => {
    const { gateway, id } = await openBooked({ V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret })
    expect((await remove(gateway, `/v2/shipments/${id}`)).status).toBe(200)
    await expectFree(gateway, id)
  })

  test.each([401, 404, 409, 500])('that the service answers %i frees nothing', async (status) => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.fail({ kind: 'status', status, on: { method: 'DELETE' } })
    expect((await remove(gateway, `/v2/shipments/${id}`)).status).toBe(status)
    await expectHeld(gateway, id)
  })

  test.each([
    { success: false },
    { id: 'another', status: 'canceled' },
    { status: 'in_transit' },
    { error: 'on the truck' },
    {},
    'Accepted',
    '',
  ])('that the service answers %o frees nothing while the shipment lives, and passes it on', async (body) => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.fail({ kind: 'status', status: 200, body, on: { method: 'DELETE' } })
    const reply = await remove(gateway, `/v2/shipments/${id}`)
    expect(await reply.text()).toBe(typeof body === 'string' ? body : JSON.stringify(body))
    await expectHeld(gateway, id)
  })

  test('frees it for a name that only the reply connects with the shipment', async () => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.shipments.delete(id)
    const body = padded({ id, external_id: 'EXT-1', status: 'canceled' }, MOST_LOOKED_AT)
    gateway.sandbox.fail({ kind: 'status', status: 200, body, on: { method: 'DELETE' } })
    expect(await (await remove(gateway, '/v2/shipments/EXT-1')).json()).toEqual(body)
    expect(expectBooked(await book(gateway))).not.toBe(id)
  })

  test('frees it by a read where the reply is too large to be looked at', async () => {
    const { gateway, id } = await openBooked()
    const body = padded({ id, status: 'canceled' }, MOST_LOOKED_AT + 1)
    gateway.sandbox.fail({ kind: 'status', status: 200, times: 2, body, on: { method: 'DELETE' } })
    expect(await (await remove(gateway, `/v2/shipments/${id}`)).json()).toEqual(body)
    await expectHeld(gateway, id)
    const shipment = gateway.sandbox.shipments.get(id)
    if (shipment) shipment.status = 'canceled'
    expect(await (await remove(gateway, `/v2/shipments/${id}`)).json()).toEqual(body)
    await expectFree(gateway, id)
  })

  test('frees it by a read where the reply breaks off', async () => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.fail({ kind: 'reset-mid-body', on: { method: 'DELETE' } })
    await expect(remove(gateway, `/v2/shipments/${id}`).then((reply) => reply.text())).rejects.toThrow()
    await expectFree(gateway, id)
  })

  test('frees nothing while the service does not show what became of the shipment', async () => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.fail({ kind: 'status', status: 204, body: '', on: { method: 'DELETE' } })
    gateway.sandbox.fail({ kind: 'status', status: 503, on: { method: 'GET' } })
    expect((await remove(gateway, `/v2/shipments/${id}`)).status).toBe(204)
    await expectHeld(gateway, id)
  })

  test('of something else frees nothing', async () => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.fail({ kind: 'status', status: 200, times: 'always', on: { method: 'DELETE' } })
    for (const path of ['/v2/quote/ID', '/v2/shipments/ID/documents', '/v2/shipments', '/v2/shipments/other']) {
      expect((await remove(gateway, path.replace('ID', id))).status).toBe(200)
    }
    await expectHeld(gateway, id)
  })

  test('of another client frees nothing', async () => {
    const gateway = await startGateway({ sandbox: { credentials: 'any' } })
    const id = expectBooked(await book(gateway))
    gateway.sandbox.fail({ kind: 'status', status: 200, on: { method: 'DELETE' } })
    await remove(gateway, `/v2/shipments/${id}`, { authorization: basic('other', 'secret') })
    await expectHeld(gateway, id)
  })
})

describe('a version-2 body at /deleteShipment.php', () => {
  const cancel = (gateway: TestGateway, id: string) => post(gateway, '/deleteShipment.php', { id, customer: {} })

  test('frees the key where it succeeds', async () => {
    const { gateway, id } = await openBooked()
    expect((await cancel(gateway, id)).status).toBe(200)
    await expectFree(gateway, id)
  })

  test.each([
    { success: false },
    { id: 'another', status: 'canceled' },
    { status: 'in_transit' },
    { error: 'on the truck' },
  ])('frees nothing where the service answers %o, which is passed on unchanged', async (body) => {
    const { gateway, id } = await openBooked()
    gateway.sandbox.fail({ kind: 'status', status: 200, body, on: { method: 'DELETE' } })
    expect((await cancel(gateway, id)).json).toEqual(body)
    await expectHeld(gateway, id)
  })
})

test('a cancellation whose reply has an id of its own, beside that of the shipment, frees the key of the shipment alone', async () => {
  const { gateway, id } = await openBooked()
  const other = expectBooked(await book(gateway, { ReferenceNumber: 'OTHER' }))
  const body = { id: other, shipment_id: id, status: 'canceled' }
  gateway.sandbox.fail({ kind: 'status', status: 200, process: true, body, on: { method: 'DELETE' } })
  const canceled = await post(gateway, '/deleteShipment.php', { ReferenceNumber: REFERENCE })
  expect(canceled).toMatchObject({ status: 200, json: { TransportationBooked: 'No' } })
  expect(expectBooked(await book(gateway, { ReferenceNumber: 'OTHER' }), true)).toBe(other)
  await expectFree(gateway, id)
})
