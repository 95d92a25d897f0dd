/** Promise: a connection that closes early costs no call (contract, section 9). */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { shipmentExample } from '../../mappings/booking-rows.ts'
import { atOnce, statuses } from '../callers/tenants-gateway.ts'
import { get, post, startGateway, type TestGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { size } from '../size.ts'
import { answering, book, ID, quote, read, update } from './calls.ts'

const CALLS = size(75, 1_000)
/** Updates of one shipment are sent one after the other, and each lost connection costs a pause. */
const LONG_MS = 300_000
/** After this many requests on kept connections, the service closes the connection instead of answering. */
const CLOSES_EVERY = 12
const NAMED = { shipment_id: ID }

function reply(outgoing: ServerResponse, { method, url = '' }: IncomingMessage): void {
  const id = method === 'POST' ? crypto.randomUUID() : url.split('/').at(-1)
  outgoing.end(
    JSON.stringify({ ...shipmentExample, id, ...(url === '/v2/quote' && { shipment_id: 'q-1', price: 100 }) }),
  )
}

const readUnderV2 = (gateway: TestGateway) => get(gateway, `/v2/shipments/${ID}`)

test.each([
  ['quotes', (gateway: TestGateway) => quote(gateway), true],
  ['reads', (gateway: TestGateway) => read(gateway, NAMED), true],
  ['reads under /v2/', readUnderV2, true],
  ['changes under /v2/', (gateway: TestGateway) => post(gateway, '/v2/shipments', {}), false],
  ['updates', (gateway: TestGateway) => update(gateway, NAMED), true],
  ['bookings', (gateway: TestGateway, i: number) => book(gateway, `R-${i}`), false],
] as const)(
  'a service that closes kept connections at random fails no %s',
  { timeout: LONG_MS },
  async (_, call, usesKept) => {
    const used = new WeakSet<Socket>()
    let later = 0
    const service = await openService((incoming, outgoing) => {
      if (used.has(incoming.socket)) later += 1
      // The request is not read.
      if (used.has(incoming.socket) && later % CLOSES_EVERY === 0) return void incoming.socket.destroy()
      used.add(incoming.socket)
      incoming.resume().once('end', () => reply(outgoing, incoming))
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    expect((await read(gateway, NAMED)).status).toBe(200)
    const queue = Array(CALLS).keys()
    const answers: { status: number }[] = []
    await atOnce(8, async () => {
      for (const i of queue) answers.push(await call(gateway, i))
    })
    expect(statuses(answers)).toEqual({ 200: CALLS })
    if (usesKept) expect(later).toBeGreaterThan(CALLS / 4)
  },
)

test('each booking has its own connection, which ends with it', async () => {
  const { gateway, service } = await answering(reply)
  for (const count of [1, 2, 3]) {
    expect((await book(gateway, `O-${count}`)).status).toBe(200)
    const sockets = service.requests.map(({ socket }) => socket)
    expect(new Set(sockets).size).toBe(count)
    // Long before the gateway would close an idle connection.
    expect(sockets.slice(0, -1).every(({ destroyed }) => destroyed)).toBe(true)
  }
})

test('a service that resets kept connections before the next request fails no call under /v2/', async () => {
  let kept: Socket | undefined
  const { gateway } = await answering((outgoing, incoming) => {
    reply(outgoing, incoming)
    kept = incoming.socket
  })
  const answers: { status: number }[] = []
  for (const i of Array(CALLS).keys()) {
    const socket = kept
    const call = readUnderV2(gateway)
    const reset = (turns: number) => void (turns > 0 ? setImmediate(reset, turns - 1) : socket?.resetAndDestroy())
    reset(i % 12)
    answers.push(await call)
  }
  expect(statuses(answers)).toEqual({ 200: CALLS })
})
