/** Promise: one thing in two spellings is one thing (contract, section 7). */

import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { book, expectBooked } from '../bookings/desk.ts'
import { deliver, EVENT, RECEIVES } from '../events/deliver.ts'
import { basic, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'

/*
 * Promise: one thing in two spellings stays one thing: its key is freed by a read of the id that the booking holds, and what a
 * version-2 path means does not depend on its spelling (contract, section 7).
 */

/** How a service reads the paths of requests. */
interface Reading {
  /** True for a service that tells the case of words and ids apart, and knows no parameters. @default false */
  readonly isStrict?: boolean
  /** True for a service that answers 204 to every `DELETE`. @default false */
  readonly deletesAnything?: boolean
}

/** A gateway, and a service of quotes and shipments. An approval makes a shipment of the quote's id. */
async function open({ isStrict = false, deletesAnything = false }: Reading = {}) {
  const shipments = new Map<string, Record<string, unknown>>()
  const requests: string[] = []
  const newId = () => crypto.randomUUID()

  async function answer(request: IncomingMessage): Promise<readonly [status: number, body?: object]> {
    const body = JSON.parse((await text(request)) || '{}')
    const path = request.url?.split('?')[0] ?? ''
    requests.push(`${request.method} ${path}`)
    const read = isStrict
      ? path
      : decodeURIComponent(path)
          .toLowerCase()
          .replace(/;[^/]*/g, '')
    const [, , thing, id = '', verb] = read.split('/')
    if (thing === 'quote') {
      if (verb !== 'approve') return [200, { shipment_id: newId(), price: 100 }]
      shipments.set(id, { id, number: 'SH1', status: 'new', pickup: { id: 'p' }, vehicles: [{ id: 'v' }] })
      return [200, { shipment_id: id, price: 100 }]
    }
    if (thing !== 'shipments') return [404, {}]
    if (request.method === 'POST') {
      const made = newId()
      shipments.set(made, { ...body, id: made, number: `SH-${made}`, status: 'new' })
      return [201, shipments.get(made) ?? {}]
    }
    const shipment = shipments.get(id)
    if (request.method === 'DELETE') {
      if (shipment) shipment['status'] = 'canceled'
      if (deletesAnything) return [204]
    }
    if (!shipment) return [404, { message: 'not found' }]
    if (request.method === 'PUT') {
      // Slow enough for a second update to read what the first one is about to change.
      await new Promise((resolve) => setImmediate(resolve))
      Object.assign(shipment, body)
    }
    return [200, shipment]
  }

  const { url } = await openService(async (request, reply) => {
    const [status, body] = await answer(request)
    reply.writeHead(status, body && { 'content-type': 'application/json' }).end(body && JSON.stringify(body))
  })
  const gateway = await startGateway({ env: RECEIVES, serviceUrl: url })
  const live = () => [...shipments.values()].filter(({ status }) => status !== 'canceled')
  return { gateway, shipments, requests, live }
}

const send = ({ url }: { readonly url: string }, method: string, path: string) =>
  fetch(url + path, { method, headers: { authorization: basic() } })

test('a live booking is not booked again after an event, or a DELETE under /v2/, that spells its id in capitals', async () => {
  const { gateway, requests, live } = await open({ isStrict: true, deletesAnything: true })
  const id = expectBooked(await book(gateway))
  const before = requests.length
  const event = { ...EVENT, shipment_id: id.toUpperCase(), event: 'shipment.canceled' }
  expect((await deliver(gateway, event)).status).toBe(200)
  await expect.poll(() => requests.slice(before), { interval: 5 }).toEqual([`GET /v2/shipments/${id}`])
  expect(expectBooked(await book(gateway), true)).toBe(id)
  expect((await send(gateway, 'DELETE', `/v2/shipments/${id.toUpperCase()}`)).status).toBe(204)
  expect(expectBooked(await book(gateway), true)).toBe(id)
  expect(live()).toHaveLength(1)
  // A version-1 cancellation in capitals cancels the booking's own.
  const canceled = await post(gateway, '/deleteShipment.php', { shipment_id: id.toUpperCase() })
  expect([canceled.json.TransportationBooked, live()]).toEqual(['No', []])
  expect(expectBooked(await book(gateway))).not.toBe(id)
})

test.each([
  (id: string) => `/v2/shipments/${id.toUpperCase()}`,
  (id: string) => `/v2/Shipments/${id}`,
  (id: string) => `/v2/shipments;v=1/${id}`,
])('a DELETE that succeeds frees the key of its booking: %s', async (pathOf) => {
  const { gateway, live } = await open()
  const id = expectBooked(await book(gateway))
  expect((await send(gateway, 'DELETE', pathOf(id))).status).toBe(200)
  expect(expectBooked(await book(gateway))).not.toBe(id)
  expect(live()).toHaveLength(1)
})

const QUOTE = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

test.each([
  (id: string) => `/v2/quote/${id.toUpperCase()}/approve`,
  (id: string) => `/v2/Quote/${id}/Approve`,
  (id: string) => `/v2/quote/${id}/approve;x=1`,
])('an approval makes the one shipment of its quote, however it is spelled: %s', async (pathOf) => {
  const { gateway, live } = await open()
  const quote = await post(gateway, '/getShippingQuote.php', QUOTE)
  expect((await send(gateway, 'POST', pathOf(quote.json.ShipmentNumber))).status).toBe(200)
  expectBooked(await book(gateway, { ReferenceNumber: quote.json.ShipmentNumber }))
  expect(live()).toHaveLength(1)
})

test('two updates at once, with the id in two spellings, are both made', async () => {
  const { gateway, shipments } = await open()
  const id = expectBooked(await book(gateway))
  const updates = await Promise.all([
    post(gateway, '/updateShipment.php', { shipment_id: id, PickupCity: 'Albany' }),
    post(gateway, '/updateShipment.php', { shipment_id: id.toUpperCase(), DeliveryCity: 'Miami' }),
  ])
  expect(updates.map(({ status }) => status)).toEqual([200, 200])
  expect(shipments.get(id)).toMatchObject({ pickup: { city: 'Albany' }, delivery: { city: 'Miami' } })
})

test('an event about what is no plain id is refused, and the service is never asked for it', async () => {
  const { gateway, requests } = await open()
  for (const shipment_id of ['../../oauth2/token', 'a/b', '..', 'a b', 'a'.repeat(65)]) {
    expect((await deliver(gateway, { ...EVENT, shipment_id })).status).toBe(400)
  }
  expect(requests).toEqual([])
})
