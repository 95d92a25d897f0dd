/** Promise: strangers use few connections, and none that others wait for (contract, section 5). */

import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { basic, get, startGateway, type WholeAnswer } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { size } from '../size.ts'
import { atOnce, book, clocks, quote, statuses } from './tenants-gateway.ts'

const OWNER = basic('owner', 'right')
const owner = { authorization: OWNER }
const stranger = (i: number | string) => ({ authorization: basic('owner', `wrong ${i}`) })
const from = (address: string) => ({ 'x-forwarded-for': address })
const PROXY = { TRUST_PROXY: '127.0.0.0/8' }

/** A gateway before a service that serves the owner, and holds or handles the calls of strangers. */
async function openWary(env: Readonly<Record<string, string>> = {}, treat?: (outgoing: ServerResponse) => void) {
  /** The connections of the owner. */
  const sockets = new Set<Socket>()
  const held: ServerResponse[] = []
  const service = await openService(
    (incoming, outgoing) => {
      incoming.resume()
      if (!incoming.headers.authorization?.endsWith(OWNER.slice('Basic '.length))) {
        return treat ? treat(outgoing) : void held.push(outgoing)
      }
      sockets.add(incoming.socket)
      const id = crypto.randomUUID()
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      return void outgoing.end(JSON.stringify({ id, number: 'TL-1', shipment_id: id, price: 1 }))
    },
    { acceptsAll: false },
  )
  const gateway = await startGateway({ serviceUrl: service.url, env })
  /** Resolves when this many calls of strangers are held. */
  const arrived = (count: number) => expect.poll(() => held.length).toBeGreaterThanOrEqual(count)
  /** Refuses all held calls and new ones until the work is done. */
  const refuseUntil = <T>(work: Promise<T>): Promise<T> => {
    const timer = setInterval(() => held.splice(0).forEach(refuse), 10)
    return work.finally(() => clearInterval(timer))
  }
  return { gateway, service, sockets, held, arrived, refuseUntil }
}

const fail = (outgoing: ServerResponse) => void outgoing.writeHead(502).end()
const refuse = (outgoing: ServerResponse) => void outgoing.writeHead(401).end()

test('strangers use few connections at once, and none that others wait for', async () => {
  const { gateway, held, arrived, refuseUntil } = await openWary({ ...PROXY, UPSTREAM_CONNECTIONS: '20' })
  expect((await quote(gateway, owner)).status).toBe(200)
  const strangers = atOnce(60, (i) => quote(gateway, { ...stranger(i), ...from(`198.51.100.${i % 2}`) }))
  await arrived(16)
  // As many calls as the owner may make, and one with a new credential from an address without waiting calls.
  const answers = await atOnce(20, (i) => (i % 2 ? quote(gateway, owner) : book(gateway, `R-${i}`, owner)))
  expect(statuses(answers)).toEqual({ 200: 20 })
  const other = { authorization: OWNER.replace('Basic', 'basic'), ...from('192.0.2.1') }
  expect((await book(gateway, 'R-OTHER', other)).status).toBe(200)
  expect(held).toHaveLength(16)
  expect(statuses(await refuseUntil(strangers))).toEqual({ 401: 60 })
})

test('hundreds of strangers do not force the owner to reconnect', async () => {
  const { gateway, sockets } = await openWary({}, refuse)
  expect((await quote(gateway, owner)).status).toBe(200)
  // The first call used its own connection.
  expect((await quote(gateway, owner)).status).toBe(200)
  expect(sockets.size).toBe(2)
  for (let round = 0; round < size(1, 11); round += 1) {
    const answers = await atOnce(100, (i) =>
      i % 2 ? quote(gateway, stranger(`${round} ${i}`)) : get(gateway, '/v2/quote/x', stranger(`${round} ${i}`)),
    )
    expect(statuses(answers)).toEqual({ 401: 100 })
  }
  expect((await quote(gateway, owner)).status).toBe(200)
  expect(sockets.size).toBe(2)
}, 20_000)

test.each([
  ['refused', refuse],
  ['failed', fail],
  ['dropped', (outgoing: ServerResponse) => void outgoing.destroy()],
])('calls of strangers that are %s do not open the circuit', async (_, treat) => {
  const { gateway } = await openWary({}, treat)
  expect((await quote(gateway, owner)).status).toBe(200)
  expect(statuses(await atOnce(60, (i) => quote(gateway, stranger(i))))).not.toHaveProperty('503')
  expect((await quote(gateway, owner)).status).toBe(200)
})

test("retries of strangers' calls do not count against the owner's", async () => {
  const gateway = await startGateway()
  const fault = { kind: 'status', status: 502, on: { path: '/v2/quote' } } as const
  gateway.sandbox.fail({ ...fault, times: 'always' })
  expect(statuses(await atOnce(40, (i) => quote(gateway, stranger(i))))).toEqual({ 502: 40 })
  gateway.sandbox.clearFaults()
  gateway.sandbox.fail(fault)
  expect((await quote(gateway, {})).status).toBe(200)
})

test('if no credential has been accepted, failures keep out the next stranger, and nobody whose credential is', async () => {
  const { gateway } = await openWary({}, fail)
  const { pass } = clocks()
  expect((await quote(gateway, owner)).status).toBe(200)
  pass(60_001)
  await atOnce(30, (i) => quote(gateway, stranger(i)))
  expect((await quote(gateway, stranger('last'))).json.Message).toMatch(/^The service is failing, so nothing was sent/)
  expect((await quote(gateway, owner)).status).toBe(200)
})

test('calls that wait with one wrong credential are refused together', async () => {
  const { gateway, service, arrived, refuseUntil } = await openWary()
  const calls = atOnce(100, () => quote(gateway, stranger('same')))
  await arrived(8)
  const answers = await refuseUntil(calls)
  expect(statuses(answers)).toEqual({ 401: 100 })
  for (const { headers, json } of answers) {
    expect(headers.get('www-authenticate')).toMatch(/^Basic /)
    expect(json.Message).toMatch(/^The service rejected this credential\./)
  }
  expect(service.requests.length).toBeLessThan(100)
})

test('a few wait, and the others are refused with Retry-After', async () => {
  // Of sixteen concurrent calls, eight may wait, four of them from one source.
  const env = { UPSTREAM_CONNECTIONS: '2', MAX_IN_FLIGHT: '16', SOURCE_IN_FLIGHT: '16' }
  const { gateway, refuseUntil } = await openWary(env)
  const told: WholeAnswer[] = []
  const calls = atOnce(8, async (i) => told.push(await quote(gateway, stranger(i))))
  await expect.poll(() => told.length).toBe(2)
  for (const { status, headers } of told) expect([status, headers.get('retry-after')]).toEqual([429, '5'])
  await refuseUntil(calls)
  expect(statuses(told)).toEqual({ 401: 6, 429: 2 })
})

test('a call that the service accepts lets all others with its credential continue', async () => {
  const { gateway, held, arrived } = await openWary()
  const answers = atOnce(20, () => quote(gateway, stranger('new')))
  await arrived(8)
  const accept = (outgoing: ServerResponse) => void outgoing.end(JSON.stringify({ shipment_id: 'q', price: 1 }))
  held.splice(0, 1).forEach(accept)
  await arrived(19)
  held.forEach(accept)
  expect(statuses(await answers)).toEqual({ 200: 20 })
})
