import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { book } from '../bookings/desk.ts'
import { OWN, post, startGateway } from '../gateway.ts'

/* Answers of a service that is not there, or that shows nothing: nothing is claimed that it has not shown (contract, sections 3, 4, 9). */

const QUOTE = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166' }

/** Opens a service that answers with a status, and with a body where there is one. */
async function openAnswering(answer: (method: string) => readonly [status: number, body?: object]): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume()
    const [status, body] = answer(incoming.method ?? '')
    outgoing.writeHead(status, body && { 'content-type': 'application/json' }).end(body && JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // A server that listens on a port has an address with one.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const open = async (answer: Parameters<typeof openAnswering>[0]) =>
  startGateway({ env: OWN, serviceUrl: await openAnswering(answer) })

describe.each([404, 405])('a service that answers everything with %i', (status) => {
  test('is no answer about a number: quotes and bookings are 502, and the log says what to check', async () => {
    const gateway = await open(() => [status, { message: 'Not Found' }])
    const quote = await post(gateway, '/getShippingQuote.php', QUOTE)
    expect([quote.status, quote.json.Message]).toEqual([502, expect.stringContaining('does not serve this call')])
    const booking = await book(gateway)
    expect([booking.status, booking.json.TransportationBooked]).toEqual([502, 'No'])
    expect(await gateway.logged(/check V2_BASE_URL/)).toMatchObject({ level: 'error', status })
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200)
    // Nothing was booked: the same reference is sent again.
    expect((await book(gateway)).status).toBe(502)
  })
})

test('a quote that nobody could ever name is 502', async () => {
  const gateway = await open(() => [200, { price: 100 }])
  expect((await post(gateway, '/getShippingQuote.php', QUOTE)).status).toBe(502)
  const named = await post(gateway, '/getShippingQuote.php', { ...QUOTE, ShipmentNumber: 'Q-1' })
  expect([named.status, named.json.Cost]).toEqual([200, '100.00'])
})

test('the name of a path is understood as its ActionName', async () => {
  const gateway = await startGateway()
  const booked = await post(gateway, '/dry-run/ConfirmBooking', {
    ActionName: 'Confirm Booking',
    ReferenceNumber: 'R-1',
  })
  expect(booked.json).toMatchObject({ action: 'shipment.create' })
})
