/** Promise: before a gateway stops, it finishes its calls (contract, section 11). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { serve as startProgram } from '../callers/commands.ts'
import { newFolder, ROOT } from '../command.ts'
import { freePort } from '../free-port.ts'
import { basic, get, post } from '../gateway.ts'
import { openHoldingService } from './service.ts'
import { dial, repliesIn } from './wire.ts'

const SECRET = 'the-very-secret'
const AUTHORIZATION = basic('acme', SECRET)

/** Starts the program in front of a service. */
const serve = (V2_BASE_URL: string, more: Record<string, string> = {}) =>
  startProgram(ROOT, { V2_BASE_URL, STORE_URL: 'memory:', ...more })

const quote = (gateway: { url: string }) =>
  post(gateway, '/getShippingQuote.php', quoteExample, { authorization: AUTHORIZATION })

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s under load: not ready, what is under way is finished, exit 0',
  async (signal) => {
    const service = await openHoldingService()
    const ADMIN_PORT = `${await freePort()}`
    const gateway = await serve(service.url, { V2_CLIENT_ID: 'acme', V2_CLIENT_SECRET: SECRET, ADMIN_PORT })
    // A caller that has begun a request keeps the connection and gets an answer.
    const asking = await dial(gateway)
    asking.write('GET /readyz HTTP/1.1\r\nHost: localhost\r\n')
    const booking = await dial(gateway)
    booking.write('POST /createShipment.php HTTP/1.1\r\nHost: localhost\r\n')
    const passing = await dial(gateway)
    passing.write('GET /v2/shipments/x HTTP/1.1\r\nHost: localhost\r\n\r\n')
    expect((await get(gateway, '/readyz')).status).toBe(200)
    // There is no tenants file to reload, and the signal ends nothing.
    gateway.signal('SIGHUP')
    const underWay = Array.from({ length: 20 }, () => quote(gateway))
    await service.arrived(21)

    gateway.signal(signal)
    await gateway.says(/"msg":"draining"/)
    await expect(quote(gateway)).rejects.toThrow()
    expect((await get({ url: gateway.adminUrl }, '/readyz')).status).toBe(503)
    asking.write('\r\n')
    expect(await asking.until(/\}/)).toMatch(/^HTTP\/1\.1 503 [\s\S]*not ready/)
    booking.write('Content-Length: 2\r\n\r\n{}')
    const [late] = repliesIn(await booking.closed())
    const json = { Message: expect.stringContaining('shutting down'), TransportationBooked: 'No' }
    expect(late).toMatchObject({ status: 503, json })
    expect(late?.headers.get('retry-after')?.[0]).toMatch(/^[1-9]\d*$/)

    service.release({ shipment_id: 'q-1', price: 17 })
    for (const call of underWay) {
      const { json, headers } = await call
      expect([json.Cost, headers.get('connection')]).toEqual(['17.00', 'close'])
    }
    expect(repliesIn(await passing.closed()).map(({ status }) => status)).toEqual([200])

    const { out, ...end } = await gateway.ended
    expect(end).toEqual({ code: 0, err: '' })
    expect(out.trimEnd().split('\n').at(-1)).toContain('"msg":"stopped"')
    expect(service.requests).toHaveLength(21)
  },
)

test('an idle gateway stops at once, and closes idle connections', async () => {
  const service = await openHoldingService()
  const gateway = await serve(service.url)
  const idle = await dial(gateway)
  idle.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await idle.until(/alive/)
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
  expect(repliesIn(await idle.closed())).toHaveLength(1)
})

test('a second SIGTERM ends it at once', async () => {
  const service = await openHoldingService()
  const gateway = await serve(service.url)
  const lost = quote(gateway).catch((error: unknown) => error)
  await service.arrived(1)
  gateway.signal('SIGTERM')
  await gateway.says(/"msg":"draining"/)
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).not.toBe(0)
  expect(await lost).toBeInstanceOf(Error)
})

test.each(['/getShipment.php?id=1', '/v2/shipments/1'])(
  'a call that outlives SHUTDOWN_GRACE_MS is cut off, and does not keep the gateway alive: %s',
  async (path) => {
    const service = await openHoldingService()
    const own = { V2_CLIENT_ID: 'acme', V2_CLIENT_SECRET: SECRET }
    // The service would answer in an hour.
    const gateway = await serve(service.url, { ...own, SHUTDOWN_GRACE_MS: '200', UPSTREAM_TIMEOUT_MS: '3600000' })
    const lost = get(gateway, path).catch((error: unknown) => error)
    await service.arrived(1)
    gateway.signal('SIGTERM')
    expect(await lost).toBeInstanceOf(Error)
    expect((await gateway.ended).code).toBe(0)
  },
)

test('a booking that outlives SHUTDOWN_GRACE_MS is awaited and kept, because losing it is worse than a late end', async () => {
  const folder = newFolder('late-booking')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const service = await openHoldingService()
  const files = { STORE_URL: join(folder, 'store.db'), EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson') }
  const own = { V2_CLIENT_ID: 'acme', V2_CLIENT_SECRET: SECRET, ...files }
  const book = (gateway: { url: string }) =>
    post(gateway, '/createShipment.php', bookingExample, { authorization: AUTHORIZATION })
  const gateway = await serve(service.url, { ...own, SHUTDOWN_GRACE_MS: '100' })
  const lost = book(gateway).catch((error: unknown) => error)
  await service.arrived(1)
  gateway.signal('SIGTERM')
  expect(await lost).toBeInstanceOf(Error)
  // A gateway that does not wait has ended before another one listens.
  const next = await serve(service.url, own)
  service.release({ id: 's-1', number: 'TL-1' })
  expect((await gateway.ended).code).toBe(0)
  expect(await book(next)).toMatchObject({ status: 200, json: { TransportationBooked: 'Yes' } })
  expect(service.requests).toHaveLength(1)
  next.signal('SIGTERM')
  await next.ended
})
