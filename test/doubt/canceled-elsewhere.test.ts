import { describe, expect, test } from 'vitest'
import { book, creations, expectBooked, REFERENCE, shipments } from '../bookings/desk.ts'
import { basic, CLIENT, type House, openHouse, post } from '../gateway.ts'

/*
 * A booking's key is free again once its shipment is canceled, whichever interface cancels it.
 */

async function openBooked(env: Readonly<Record<string, string>> = {}) {
  const house = await openHouse({ env })
  const { id, number } = await book(house).then((made) => ({
    id: expectBooked(made),
    number: made.headers.get('transload-shipment-number') ?? '',
  }))
  return { house, id, number }
}

const remove = (house: House, path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(house.url + path, { method: 'DELETE', headers: { authorization: basic(), ...headers } })

/** The next booking is a new one, and the only one that is live. */
async function expectFree(house: House, canceled: string): Promise<void> {
  const again = expectBooked(await book(house))
  expect(again).not.toBe(canceled)
  expect(shipments(house, REFERENCE).map(({ id }) => id)).toEqual([again])
}

/** The next booking is answered as the first one was. */
async function expectHeld(house: House, booked: string): Promise<void> {
  expect(expectBooked(await book(house), true)).toBe(booked)
  expect(creations(house)).toBe(1)
}

describe('a DELETE under /v2/', () => {
  test.each(['/v2/shipments/ID', '/v2/shipment/ID', '/v2/shipments/ID/', '/v2/shipments/ID?why=changed'])(
    '%s frees the key where it succeeds',
    async (path) => {
      const { house, id } = await openBooked()
      house.sandbox.fail({
        kind: 'status',
        status: 200,
        body: { id, status: 'canceled' },
        on: { method: 'DELETE' },
      })
      const shipment = house.sandbox.shipments.get(id)
      if (shipment) shipment.status = 'canceled'
      expect((await remove(house, path.replace('ID', id))).status).toBe(200)
      await expectFree(house, id)
    },
  )

  test('frees it for a percent-encoded id, for one in capitals, and for the number', async () => {
    const spellings = [
      ({ id }: { id: string }) => id.replaceAll('-', '%2D'),
      ({ id }: { id: string }) => id.toUpperCase(),
      ({ number }: { number: string }) => number,
    ]
    for (const spelling of spellings) {
      const { house, ...names } = await openBooked()
      house.sandbox.fail({ kind: 'status', status: 204, body: '', on: { method: 'DELETE' } })
      const shipment = house.sandbox.shipments.get(names.id)
      if (shipment) shipment.status = 'canceled'
      expect((await remove(house, `/v2/shipments/${spelling(names)}`)).status).toBe(204)
      await expectFree(house, names.id)
    }
  })

  test('frees it in fixed mode as well', async () => {
    const { house, id } = await openBooked({ V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret })
    expect((await remove(house, `/v2/shipments/${id}`)).status).toBe(200)
    await expectFree(house, id)
  })

  test.each([401, 404, 409, 500])('that the service answers %i frees nothing', async (status) => {
    const { house, id } = await openBooked()
    house.sandbox.fail({ kind: 'status', status, on: { method: 'DELETE' } })
    expect((await remove(house, `/v2/shipments/${id}`)).status).toBe(status)
    await expectHeld(house, id)
  })

  test('of something else frees nothing', async () => {
    const { house, id } = await openBooked()
    house.sandbox.fail({ kind: 'status', status: 200, times: 'always', on: { method: 'DELETE' } })
    for (const path of ['/v2/quote/ID', '/v2/shipments/ID/documents', '/v2/shipments', '/v2/shipments/other']) {
      expect((await remove(house, path.replace('ID', id))).status).toBe(200)
    }
    await expectHeld(house, id)
  })

  test('of another client frees nothing', async () => {
    const house = await openHouse({ sandbox: { credentials: 'any' } })
    const id = expectBooked(await book(house))
    house.sandbox.fail({ kind: 'status', status: 200, on: { method: 'DELETE' } })
    await remove(house, `/v2/shipments/${id}`, { authorization: basic('other', 'secret') })
    await expectHeld(house, id)
  })
})

describe('a version-2 body at /deleteShipment.php', () => {
  const cancel = (house: House, id: string) => post(house, '/deleteShipment.php', { id, customer: {} })

  test('frees the key where it succeeds', async () => {
    const { house, id } = await openBooked()
    expect((await cancel(house, id)).status).toBe(200)
    await expectFree(house, id)
  })

  test.each([
    { success: false },
    { id: 'another', status: 'canceled' },
    { status: 'in_transit' },
    { error: 'on the truck' },
  ])('frees nothing where the service answers %o, which is passed on unchanged', async (body) => {
    const { house, id } = await openBooked()
    house.sandbox.fail({ kind: 'status', status: 200, body, on: { method: 'DELETE' } })
    expect((await cancel(house, id)).json).toEqual(body)
    await expectHeld(house, id)
  })
})
