/** Promise: a streamed body comes whole or as an error (contract, section 2). */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import type { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { streamedBody } from '../../src/edge/body/receive.ts'

/** A request whose head has arrived, and the connection that its body is to be written to. */
async function begin(headers = 'Transfer-Encoding: chunked') {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const requested = once(server, 'request')
  // A server that listens on a port has an address with a port.
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {}).resume()
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`)
  // The arguments of the event, as Node documents them.
  const [incoming, outgoing] = (await requested) as [IncomingMessage, ServerResponse]
  return { socket, incoming, outgoing, body: streamedBody(incoming) }
}

const chunked = (parts: readonly string[]) => parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')
const LAST = '0\r\n\r\n'

async function read(body: Readable, pause = async () => {}): Promise<string> {
  let text = ''
  for await (const part of body) {
    text += part
    await pause()
  }
  return text
}

test.each([
  ['single bytes', Array(5_000).fill('x')],
  ['parts of every size', Array.from({ length: 200 }, (_, i) => 'y'.repeat(1 + ((i * 977) % 20_000)))],
])('%s come through, to a quick reader and to a slow one', async (_what, parts) => {
  for (const pause of [async () => {}, () => turn()]) {
    const { socket, body } = await begin()
    socket.write(chunked(parts) + LAST)
    expect(await read(body, pause)).toBe(parts.join(''))
  }
})

test('a body of tiny unread parts is refused, and the request can still be answered', async () => {
  const { socket, outgoing, body } = await begin()
  const failed = once(body, 'error')
  socket.write(chunked(Array(200_000).fill('x')))
  const [error] = await failed
  expect(error).toMatchObject({ code: 'body-unreadable', status: 400 })
  const replied = once(socket, 'data')
  outgoing.writeHead(400, { Connection: 'close' }).end()
  expect(String(await replied)).toContain('HTTP/1.1 400')
})

test('an incomplete body is an error, read or unread', async () => {
  for (const isRead of [true, false]) {
    const { socket, body } = await begin('Content-Length: 100000')
    socket.write('x'.repeat(50_000))
    const reading = isRead ? read(body) : once(body, 'close').then(() => read(body))
    await once(body, 'readable')
    socket.resetAndDestroy()
    await expect(reading).rejects.toThrow()
    expect(body.destroyed).toBe(true)
  }
})

test('a request that ends without an error before its body is over is an error of the body', async () => {
  const { incoming, body } = await begin('Content-Length: 10')
  const failed = once(body, 'error')
  incoming.destroy()
  const [error] = await failed
  expect(error).toMatchObject({ message: expect.stringContaining('before the whole body arrived') })
})
