/** Promise: names are looked up once for many calls, and calls follow a service that moves (contract, section 9). */

import dns, { type LookupAddress } from 'node:dns'
import { once } from 'node:events'
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
/** The lookups that wait for an answer. */
let questions: LookupCallback[]
/** Answers each lookup at once; if undefined, they wait. */
let always: ((done: LookupCallback) => void) | undefined

const found = (address: string) => (done: LookupCallback) =>
  done(null, [{ address, family: address.includes(':') ? 6 : 4 }])
const failed = (code: string) => (done: LookupCallback) => done(Object.assign(new Error(code), { code }), [])
/** Answers the waiting lookup. */
const answer = (say: (done: LookupCallback) => void) => questions.splice(0).forEach(say)
/** Answers all lookups, including later ones. */
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
  // The other signatures of `lookup` are not used.
  const resolver = vi.spyOn(dns, 'lookup').mockImplementation(ask as unknown as typeof dns.lookup)
  syncBuiltinESMExports()
  onTestFinished(() => {
    resolver.mockRestore()
    syncBuiltinESMExports()
  })
})

/** Opens a service that answers with its address as the number; returns its port, a free one if none is given. */
async function openAt(address: string, port = 0): Promise<number> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume().once('end', () => outgoing.end(JSON.stringify({ id: address })))
  })
  await once(server.listen(port, address), 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  // A server that listens on a port has an address with a port.
  return (server.address() as AddressInfo).port
}

/** Opens a gateway before a service with a name, and a way to make bookings that returns the address that answered. */
async function start(env: Readonly<Record<string, string>> = {}) {
  const port = await openAt(OLD)
  const gateway = await startGateway({ env: { ...OWN, ...env }, serviceUrl: `http://${NAME}:${port}` })
  let bookings = 0
  /** Makes a booking over a separate connection. */
  const booked = async () => {
    bookings += 1
    const { status, json, headers } = await book(gateway, `R-${bookings}`)
    return { status, yes: json.TransportationBooked, by: headers.get('transload-shipment-id') }
  }
  return { port, booked }
}

test('many connections need one lookup, and those of the next seconds none', async () => {
  const { pass } = clocks()
  const { port, booked } = await start()
  await openAt(OTHER_LOOPBACK, port)
  const all = atOnce(20, booked)
  await asked()
  answer(found(OLD))
  expect(counted((await all).map(({ by }) => by))).toEqual({ [OLD]: 20 })
  pass(FRESH_MS / 2)
  expect([(await booked()).by, questions.length]).toEqual([OLD, 0])

  // An old address is used while it is refreshed, but not for long.
  pass(FRESH_MS)
  expect([(await booked()).by, questions.length]).toEqual([OLD, 1])
  answer(found(OTHER_LOOPBACK))
  expect((await booked()).by).toBe(OTHER_LOOPBACK)
  pass(USABLE_MS + 1)
  const late = booked()
  await asked()
  answer(found(OLD))
  expect((await late).by).toBe(OLD)
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
    const { booked } = await start()
    const all = atOnce(20, booked)
    await asked()
    answerAll(failed(code))
    expect(counted((await all).map((refused) => refused.status))).toEqual({ [status]: 20 })
    // It is not remembered.
    answerAll(found(OLD))
    expect((await booked()).yes).toBe(opens ? 'No' : 'Yes')
  },
)

test('a name that is not found in time is not a sign of a failing service', async () => {
  const { booked } = await start({ UPSTREAM_TIMEOUT_MS: '1000' })
  const late = await atOnce(20, booked)
  expect(counted(late.map(({ yes }) => yes))).toEqual({ No: 20 })
  answer(found(OLD))
  expect((await booked()).yes).toBe('Yes')
})
