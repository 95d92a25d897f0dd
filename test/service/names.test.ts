/** Promise: names are looked up once for many calls, and calls follow a service that moves (contract, section 9). */

import dns, { type LookupAddress } from 'node:dns'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { atOnce, clocks, counted } from '../callers/edge.ts'
import { OTHER_LOOPBACK, OWN, startGateway } from '../gateway.ts'
import { book, quote } from './calls.ts'

const NAME = 'service.example'
const OLD = '127.0.0.1'
const FRESH_MS = 5_000
const USABLE_MS = 30_000
const CONNECTION_AGE_MS = 60_000

/** The questions to the system that wait for an answer. */
let questions: ((error: Error | null, addresses: LookupAddress[]) => void)[]
const answer = (address: string) => questions.shift()?.(null, [{ address, family: address.includes(':') ? 6 : 4 }])
const fail = (code: string) => questions.shift()?.(Object.assign(new Error(code), { code }), [])
const asked = () => expect.poll(() => questions.length).toBe(1)

beforeEach(() => {
  questions = []
  const real = dns.lookup as (...asked: unknown[]) => void
  const ask = (...asked: [name: string, options: unknown, done: (typeof questions)[number]]) =>
    asked[0] === NAME ? void questions.push(asked[2]) : real(...asked)
  // Its other forms are not used.
  const resolver = vi.spyOn(dns, 'lookup').mockImplementation(ask as unknown as typeof dns.lookup)
  syncBuiltinESMExports()
  onTestFinished(() => {
    resolver.mockRestore()
    syncBuiltinESMExports()
  })
})

/** Opens a service at an address, on a free port if none is given, that answers with the address as its number. */
async function openAt(address: string, port = 0): Promise<number> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().once('end', () => outgoing.end(JSON.stringify({ id: address, shipment_id: address, price: 1 })))
  })
  await new Promise<void>((resolve) => server.listen(port, address, resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  // A server that listens on a port has an address with a port.
  return (server.address() as AddressInfo).port
}

const start = async (port: number, env: Readonly<Record<string, string>> = {}) =>
  startGateway({ env: { ...OWN, ...env }, serviceUrl: `http://${NAME}:${port}` })

let bookings = 0
/** Makes a booking, over a connection of its own, and returns the address that answered it. */
const booked = async (gateway: { readonly url: string }) => {
  bookings += 1
  return (await book(gateway, `R-${bookings}`)).headers.get('transload-shipment-id')
}

test('one question is asked for many connections, and none for those of the next seconds', async () => {
  const { pass } = clocks()
  const port = await openAt(OLD)
  await openAt(OTHER_LOOPBACK, port)
  const gateway = await start(port)
  const all = atOnce(20, () => booked(gateway))
  await asked()
  answer(OLD)
  expect(new Set(await all)).toEqual(new Set([OLD]))
  pass(FRESH_MS - 1_000)
  expect([await booked(gateway), questions.length]).toEqual([OLD, 0])

  // An old address is used while it is asked for again, but not for long.
  pass(1_001)
  expect([await booked(gateway), questions.length]).toEqual([OLD, 1])
  answer(OTHER_LOOPBACK)
  expect(await booked(gateway)).toBe(OTHER_LOOPBACK)
  pass(USABLE_MS + 1)
  const late = booked(gateway)
  await asked()
  answer(OLD)
  expect(await late).toBe(OLD)
})

test('kept connections follow a service that moves, because they are not kept for long', async () => {
  const { pass } = clocks()
  const port = await openAt(OLD)
  await openAt(OTHER_LOOPBACK, port)
  const gateway = await start(port)
  // The number of a quote that has none of the caller's own is the service's.
  const quoted = async () => (await quote(gateway, '')).json.ShipmentNumber
  const first = quoted()
  await asked()
  answer(OLD)
  expect(await first).toBe(OLD)
  pass(CONNECTION_AGE_MS - 1_000)
  expect(await quoted()).toBe(OLD)
  pass(1_001)
  const moved = quoted()
  await asked()
  answer(OTHER_LOOPBACK)
  expect(await moved).toBe(OTHER_LOOPBACK)
})

test.each([
  ['ECONNREFUSED', 502, true],
  ['ENOTFOUND', 502, true],
  ['EAI_AGAIN', 502, false],
  ['EMFILE', 503, false],
  ['ENFILE', 503, false],
  ['EADDRNOTAVAIL', 503, false],
])(
  '%s fails all calls that wait with %i, opens the circuit if it is the fault of the service: %s',
  async (code, status, opens) => {
    const gateway = await start(await openAt(OLD))
    const all = atOnce(20, (i) => book(gateway, `R-${i}`))
    await asked()
    fail(code)
    expect(counted((await all).map((refused) => refused.status))).toEqual({ [status]: 20 })
    // It is not remembered.
    const next = book(gateway)
    if (!opens) {
      await asked()
      answer(OLD)
    }
    expect((await next).json.TransportationBooked).toBe(opens ? 'No' : 'Yes')
  },
)

test('a name that is not found in time is no sign of a failing service', async () => {
  const gateway = await start(await openAt(OLD), { UPSTREAM_TIMEOUT_MS: '300' })
  const late = await atOnce(20, (i) => book(gateway, `R-${i}`))
  expect(counted(late.map(({ status }) => status))).toEqual({ 503: 20 })
  answer(OLD)
  expect((await book(gateway)).json.TransportationBooked).toBe('Yes')
})
