/** Promise: names are looked up once for many calls, and calls follow a service that moves (contract, section 9). */

import dns, { type LookupAddress } from 'node:dns'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { atOnce, clocks, counted } from '../callers/tenants-gateway.ts'
import { OTHER_LOOPBACK, OWN, startGateway } from '../gateway.ts'
import { book } from './calls.ts'

const NAME = 'service.example'
const OLD = '127.0.0.1'
const FRESH_MS = 5_000
const USABLE_MS = 30_000

type LookupCallback = (error: Error | null, addresses: LookupAddress[]) => void
/** The questions to the system that wait for an answer. */
let questions: LookupCallback[]
/** Answers each question at once; undefined: they wait. */
let always: ((done: LookupCallback) => void) | undefined

const found = (address: string) => (done: LookupCallback) =>
  done(null, [{ address, family: address.includes(':') ? 6 : 4 }])
const failed = (code: string) => (done: LookupCallback) => done(Object.assign(new Error(code), { code }), [])
/** Answers the question that waits. */
const answer = (say: (done: LookupCallback) => void) => questions.splice(0).forEach(say)
/** Answers all questions, those to come as well. */
function answerAll(say: (done: LookupCallback) => void): void {
  always = say
  answer(say)
}
const asked = () => expect.poll(() => questions.length).toBe(1)

beforeEach(() => {
  questions = []
  const real = dns.lookup as (...asked: unknown[]) => void
  always = undefined
  const ask = (...asked: [name: string, options: unknown, done: LookupCallback]) => {
    if (asked[0] !== NAME) real(...asked)
    else if (always) setImmediate(always, asked[2])
    else questions.push(asked[2])
  }
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
  answer(found(OLD))
  expect(new Set(await all)).toEqual(new Set([OLD]))
  pass(FRESH_MS / 2)
  expect([await booked(gateway), questions.length]).toEqual([OLD, 0])

  // An old address is used while it is asked for again, but not for long.
  pass(FRESH_MS)
  expect([await booked(gateway), questions.length]).toEqual([OLD, 1])
  answer(found(OTHER_LOOPBACK))
  expect(await booked(gateway)).toBe(OTHER_LOOPBACK)
  pass(USABLE_MS + 1)
  const late = booked(gateway)
  await asked()
  answer(found(OLD))
  expect(await late).toBe(OLD)
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
    answerAll(failed(code))
    expect(counted((await all).map((refused) => refused.status))).toEqual({ [status]: 20 })
    // It is not remembered.
    answerAll(found(OLD))
    expect((await book(gateway)).json.TransportationBooked).toBe(opens ? 'No' : 'Yes')
  },
)

test('a name that is not found in time is no sign of a failing service', async () => {
  const gateway = await start(await openAt(OLD), { UPSTREAM_TIMEOUT_MS: '1000' })
  const late = await atOnce(20, (i) => book(gateway, `R-${i}`))
  expect(counted(late.map(({ json }) => json.TransportationBooked))).toEqual({ No: 20 })
  answer(found(OLD))
  expect((await book(gateway)).json.TransportationBooked).toBe('Yes')
})
