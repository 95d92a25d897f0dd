/** Promise: callers that do not read delay nobody (contract, section 5). */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { LISTENER_TIMEOUTS } from '../../src/edge/connections.ts'
import { basic, get, post, startGateway } from '../gateway.ts'
import { WHOLE } from '../size.ts'
import { openService } from './service.ts'
import { dial } from './wire.ts'

const MOST = 4
const EACH = 2 * MOST
/** More than the system's buffers hold. */
const REPLY_BYTES = 32 * 1024 * 1024
const ENOUGH_BYTES = 12 * 1024 * 1024
/** A sample waits for less time than the gateway normally does. */
const timeouts = WHOLE ? LISTENER_TIMEOUTS : { ...LISTENER_TIMEOUTS, replyMs: 3_000, checkMs: 200 }
/** Longer than a reader may take. */
const SLOW_MS = timeouts.replyMs + 1_000
const REPLIES = 2_000
const MOST_TRIES = 500
const CALM = 20
const KNOCK_MS = 100
const OK = 'HTTP/1.1 200'

const HEAD = `HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic()}\r\n`
const BOOKING = JSON.stringify(bookingExample)
const EXPLAINED = `POST /dry-run/createShipment.php ${HEAD}Content-Length: ${BOOKING.length}\r\n\r\n${BOOKING}`

/** Calls until it is admitted, then reads only the first few bytes of the answer. */
async function askAndIgnore({ url }: { readonly url: string }, bytes: string): Promise<Socket> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {}).write(bytes)
    await once(socket, 'readable')
    if (String(socket.read(OK.length)) === OK) return socket
    socket.destroy()
  }
  throw new Error('readers keep each other out')
}

test('callers that do not read are disconnected, and do not delay others', {
  timeout: 60_000,
}, async () => {
  const open = new Set<object>()
  const ended = Promise.withResolvers<void>()
  const service = await openService((incoming, outgoing) => {
    if (incoming.url === '/v2/small') return void outgoing.end('small')
    open.add(outgoing)
    outgoing.once('close', () => {
      open.delete(outgoing)
      if (open.size === 0) ended.resolve()
    })
    const block = Buffer.alloc(65_536, 'x')
    Readable.from(Array.from({ length: REPLY_BYTES / block.length }, () => block)).pipe(outgoing)
  })
  const gateway = await startGateway({
    serviceUrl: service.url,
    env: { MAX_IN_FLIGHT: String(MOST), SOURCE_IN_FLIGHT: String(MOST) },
    timeouts,
  })
  const own = await startGateway({ timeouts })
  const answer = await post(own, '/dry-run/createShipment.php', bookingExample)
  expect(REPLIES * answer.text.length).toBeGreaterThan(ENOUGH_BYTES)
  const pipelining = await askAndIgnore(own, EXPLAINED.repeat(REPLIES))
  const readers: Socket[] = []
  while (readers.length < EACH) readers.push(await askAndIgnore(gateway, `GET /v2/big ${HEAD}\r\n`))

  // When the buffers are full, only the readers cause the wait.
  let calm = 0
  for (let tries = 0; calm < CALM && tries < MOST_TRIES; tries += 1) {
    calm = (await get(gateway, '/v2/small')).status === 200 ? calm + 1 : 0
  }
  expect(calm).toBe(CALM)
  for (let i = 0; i < CALM; i += 1) {
    expect((await get(gateway, '/v2/small')).status).toBe(200)
    expect((await post(gateway, '/dry-run/createShipment.php', bookingExample)).status).toBe(200)
  }

  // The connections to the service are closed, too.
  await ended.promise
  // A caller that does not read notices the end only when it sends again.
  await Promise.all(
    [pipelining, ...readers].map((socket) => {
      const knocking = setInterval(() => socket.write('\r\n'), KNOCK_MS)
      return new Promise<void>((resolve) => socket.once('close', resolve)).finally(() => clearInterval(knocking))
    }),
  )
  expect([pipelining, ...readers].every((socket) => socket.destroyed)).toBe(true)
})

test('an answer that waits behind a slow one on its connection arrives whole', { timeout: 60_000 }, async () => {
  const service = await openService((incoming, outgoing) => {
    if (incoming.url === '/v2/big') return void outgoing.end(Buffer.alloc(ENOUGH_BYTES, 'x'))
    // The service takes longer than a reader may, but that is not the reader's fault.
    outgoing.write('slow')
    setTimeout(() => outgoing.end('ly'), SLOW_MS)
  })
  const gateway = await startGateway({ serviceUrl: service.url, env: { UPSTREAM_TIMEOUT_MS: '30000' }, timeouts })
  const caller = await dial(gateway)
  caller.write(`GET /v2/slow ${HEAD}\r\nGET /v2/big ${HEAD}\r\nGET /healthz ${HEAD}Connection: close\r\n\r\n`)
  const said = await caller.closed()
  expect(said).toMatch(/slow[\s\S]*ly/)
  expect(said.split('x').length).toBeGreaterThan(ENOUGH_BYTES)
  expect(said).toMatch(/alive/)
})
