/** Promise: a body is received up to its limit, unpacked, and counted for its source; a streamed one arrives whole or as an error (contract, section 2). */

import { once } from 'node:events'
import { createServer, IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createGrowingBuffer, readBytes, streamedBody } from '../../src/edge/body/receive.ts'
import { unlimitedShare } from '../../src/runtime/call.ts'

const LIMIT_BYTES = 1_000
const BODY = Buffer.from('{"a":"1"}')

/** A request with these headers and a body in these parts. */
function request(headers: Readonly<Record<string, string>>, ...parts: readonly Buffer[]): IncomingMessage {
  const incoming = new IncomingMessage(new Socket())
  Object.assign(incoming.headers, headers)
  for (const part of parts) incoming.push(part)
  incoming.push(null)
  return incoming
}

/** A request whose head has arrived, and the connection for writing its body. */
async function begin(headers = 'Transfer-Encoding: chunked') {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const dial = async () => {
    const requested = once(server, 'request')
    // A server that listens on a port has an address with a port.
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.on('error', () => {}).resume()
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`)
    // The arguments of the event, as Node documents them.
    const [incoming, outgoing] = (await requested) as [IncomingMessage, ServerResponse]
    return { socket, incoming, outgoing }
  }
  return { ...(await dial()), dial }
}

const chunked = (parts: readonly string[]) => parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')

/** Unlike `once`, this does not reject at an error. */
const emitted = (incoming: IncomingMessage, event: string) => new Promise((resolve) => incoming.on(event, resolve))

describe('a whole body', () => {
  const read = (incoming: IncomingMessage) => readBytes(incoming, LIMIT_BYTES, unlimitedShare)

  test.each([
    ['of gzip', 'gzip', gzipSync(BODY), BODY],
    ['of zlib with the least compression', 'deflate', deflateSync(BODY, { level: 0 }), BODY],
    ['of bare deflate that passes the check of a wrapper', 'deflate', deflateRawSync('w=1'), Buffer.from('w=1')],
  ])('%s is read, in any parts', async (_, encoding, bytes, body) => {
    const headers = { 'content-encoding': encoding }
    expect(await read(request(headers, bytes))).toEqual(body)
    expect(await read(request(headers, bytes.subarray(0, 3), bytes.subarray(3)))).toEqual(body)
  })

  test('that ended or broke off before it was read is refused', async () => {
    const ended = request({}, BODY)
    await read(ended)
    await expect(read(ended)).rejects.toMatchObject({ code: 'body-unreadable' })
    const cause = new Error('reset')
    const broken = request({}, BODY).on('error', () => {})
    const closed = emitted(broken, 'close')
    broken.destroy(cause)
    await closed
    await expect(read(broken)).rejects.toMatchObject({ code: 'body-unreadable', cause })
    const breaking = request({}, BODY)
    const reading = read(breaking)
    breaking.destroy(cause)
    await expect(reading).rejects.toMatchObject({ code: 'body-unreadable', cause })
  })

  test('is not read beyond its limit, and a hang-up is then harmless', async () => {
    const { socket, incoming, dial } = await begin()
    socket.write(chunked(['x'.repeat(LIMIT_BYTES + 1)]))
    await expect(read(incoming)).rejects.toMatchObject({ code: 'body-too-large' })
    expect([incoming.isPaused(), incoming.destroyed]).toEqual([true, false])
    socket.write(chunked(Array(100).fill('x'.repeat(0x10000))))
    // Other callers are read meanwhile.
    for (let others = 0; others < 10; others += 1) await dial()
    expect(incoming.socket.bytesRead).toBeLessThan(1_000_000)
    const gone = emitted(incoming, 'close')
    incoming.resume()
    socket.destroy()
    await gone
  })

  const packed = gzipSync(BODY)
  const unpacking = [
    `take ${packed.length}`,
    `take ${LIMIT_BYTES - packed.length}`,
    `return ${LIMIT_BYTES - BODY.length}`,
  ]
  test.each<[string, Record<string, string>, readonly Buffer[], readonly string[]]>([
    ['what it announces', { 'content-length': '9' }, [BODY], ['expect 9', 'take 9']],
    [
      'what arrives, up to the limit',
      {},
      [400, 300, 300].map((size) => Buffer.alloc(size, 'x')),
      ['expect 0', 'take 400', 'take 600'],
    ],
    [
      'the limit while it is unpacked, and then its own',
      { 'content-encoding': 'gzip' },
      [packed],
      ['expect 0', ...unpacking],
    ],
  ])('takes the memory of %s', async (_, headers, parts, expected) => {
    const events: string[] = []
    await readBytes(request(headers, ...parts), LIMIT_BYTES, {
      ...unlimitedShare,
      expectBody: (bytes) => void events.push(`expect ${bytes}`),
      takeBody: (bytes) => void events.push(`take ${bytes}`),
      returnBody: (bytes) => void events.push(`return ${bytes}`),
    })
    expect(events).toEqual(expected)
  })

  test('that is refused before it arrives is discarded part by part', async () => {
    const part = Buffer.alloc(8_192, 'x')
    const incoming = request({ 'content-length': '1001' }, part)
    await expect(read(incoming)).rejects.toMatchObject({ code: 'body-too-large' })
    const ended = emitted(incoming, 'end')
    incoming.resume()
    await ended
    expect(part.buffer.byteLength).toBe(0)
  })

  test('frees the memory of each part as soon as it is copied, unless it is shared with others', () => {
    const PART_BYTES = 64 * 1024
    const [one, two, shared] = [1, 2, 3].map((fill) => Buffer.alloc(PART_BYTES, fill)) as [Buffer, Buffer, Buffer]
    const parts = [one, two, shared.subarray(0, PART_BYTES / 2)]
    const joined = Buffer.concat(parts)
    const buffer = createGrowingBuffer()
    for (const part of parts) buffer.append(part)
    expect([one, two, shared].map(({ buffer: { byteLength } }) => byteLength)).toEqual([0, 0, PART_BYTES])
    expect(buffer.take()).toEqual(joined)
  })
})

describe('a streamed body', () => {
  async function stream(headers?: string) {
    const { socket, incoming, outgoing } = await begin(headers)
    return { socket, incoming, outgoing, body: streamedBody(incoming) }
  }

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
  ])('of %s reaches a quick reader and a slow one', async (_what, parts) => {
    for (const pause of [async () => {}, () => turn()]) {
      const { socket, body } = await stream()
      socket.write(`${chunked(parts)}0\r\n\r\n`)
      expect(await read(body, pause)).toBe(parts.join(''))
    }
  })

  test('of tiny unread parts is refused, and the request can still be answered', async () => {
    const { socket, outgoing, body } = await stream()
    const failed = once(body, 'error')
    socket.write(chunked(Array(200_000).fill('x')))
    const [error] = await failed
    expect(error).toMatchObject({ code: 'body-unreadable', status: 400 })
    const replied = once(socket, 'data')
    outgoing.writeHead(400, { Connection: 'close' }).end()
    expect(String(await replied)).toContain('HTTP/1.1 400')
  })

  test('that is incomplete is an error, read or unread', async () => {
    for (const isRead of [true, false]) {
      const { socket, body } = await stream('Content-Length: 100000')
      socket.write('x'.repeat(50_000))
      const reading = isRead ? read(body) : once(body, 'close').then(() => read(body))
      await once(body, 'readable')
      socket.resetAndDestroy()
      await expect(reading).rejects.toThrow()
      expect(body.destroyed).toBe(true)
    }
  })

  test('whose request ends without an error before it is over is an error', async () => {
    const { incoming, body } = await stream('Content-Length: 10')
    const failed = once(body, 'error')
    incoming.destroy()
    const [error] = await failed
    expect(error).toMatchObject({ message: expect.stringContaining('before the whole body arrived') })
  })
})
