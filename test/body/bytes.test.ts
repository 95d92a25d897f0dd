/** Promise: a body is taken up to its limit, unpacked, and paid for by its source (contract, section 2). */

import { once } from 'node:events'
import { createServer, IncomingMessage } from 'node:http'
import { type AddressInfo, connect, Socket } from 'node:net'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readBytes } from '../../src/edge/body/receive.ts'
import { type BodyMemory, unlimitedShare } from '../../src/runtime/call.ts'

const LIMIT_BYTES = 1_000
const BODY = Buffer.from('{"a":"1"}')

/** A request with these headers, whose body arrives in these parts. */
function request(headers: Readonly<Record<string, string>>, ...parts: readonly Buffer[]): IncomingMessage {
  const incoming = new IncomingMessage(new Socket())
  Object.assign(incoming.headers, headers)
  for (const part of parts) incoming.push(part)
  incoming.push(null)
  return incoming
}

const read = (incoming: IncomingMessage) => readBytes(incoming, LIMIT_BYTES, unlimitedShare)

describe('a body', () => {
  test.each<[string, string, Buffer, Buffer?]>([
    ['as it is', 'identity', BODY],
    ['of gzip by its old name', ' X-GZIP ', gzipSync(BODY)],
    ['of zlib', 'deflate', deflateSync(BODY)],
    ['of zlib with the least compression', 'deflate', deflateSync(BODY, { level: 0 })],
    ['of bare deflate', 'Deflate', deflateRawSync(BODY)],
    ['of bare deflate that passes the check of a wrapper', 'deflate', deflateRawSync('w=1'), Buffer.from('w=1')],
  ])('%s is read, in any parts', async (_, encoding, bytes, body = BODY) => {
    const headers = { 'content-encoding': encoding }
    expect(await read(request(headers, bytes))).toEqual(body)
    expect(await read(request(headers, bytes.subarray(0, 3), bytes.subarray(3)))).toEqual(body)
  })

  test('that ended, or broke off, before it was read is refused', async () => {
    const ended = request({}, BODY)
    await read(ended)
    await expect(read(ended)).rejects.toMatchObject({ code: 'body-unreadable' })
    const cause = new Error('reset')
    const broken = request({}, BODY).on('error', () => {})
    // Not `once`, which rejects at the error.
    const closed = new Promise((resolve) => broken.on('close', resolve))
    broken.destroy(cause)
    await closed
    await expect(read(broken)).rejects.toMatchObject({ code: 'body-unreadable', cause })
    const breaking = request({}, BODY)
    const reading = read(breaking)
    breaking.destroy(cause)
    await expect(reading).rejects.toMatchObject({ code: 'body-unreadable', cause })
  })

  test('is not read beyond its limit, and a hang-up is harmless then', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    // A TCP server that listens on a port has an address of this shape.
    const { port } = server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n${'x'.repeat(1_001)}\r\n`)
    // The event's arguments, as Node documents them.
    const [incoming] = (await once(server, 'request')) as [IncomingMessage]
    await expect(read(incoming)).rejects.toMatchObject({ code: 'body-too-large' })
    expect(incoming.isPaused()).toBe(true)
    expect(incoming.destroyed).toBe(false)
    for (let sent = 0; sent < 100; sent++) socket.write(`10000\r\n${'x'.repeat(0x10000)}\r\n`)
    // Other callers are read meanwhile.
    for (let others = 0; others < 10; others += 1) {
      const other = connect(port, '127.0.0.1')
      other.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      await once(server, 'request')
      other.destroy()
    }
    expect(incoming.socket.bytesRead).toBeLessThan(1_000_000)
    // Not `once`, which would add a listener for errors.
    const gone = new Promise((resolve) => incoming.on('close', resolve))
    incoming.resume()
    socket.destroy()
    await gone
    server.close()
  })
})

describe('the memory of a body', () => {
  /** Reads a body; returns what was told of its memory. */
  async function account(headers: Readonly<Record<string, string>>, ...parts: readonly Buffer[]) {
    const events: string[] = []
    const memory: BodyMemory = {
      expectBody: (bytes) => void events.push(`expect ${bytes}`),
      takeBody: (bytes) => void events.push(`take ${bytes}`),
      returnBody: (bytes) => void events.push(`return ${bytes}`),
    }
    await readBytes(request(headers, ...parts), LIMIT_BYTES, memory)
    return events
  }

  const packed = gzipSync(BODY)
  const growing = [400, 300, 300].map((size) => Buffer.alloc(size, 'x'))
  test.each<[string, Record<string, string>, readonly Buffer[], readonly string[]]>([
    ['what it announces', { 'content-length': '9' }, [BODY], ['expect 9', 'take 9']],
    ['what arrives, up to the limit', {}, growing, ['expect 0', 'take 400', 'take 600']],
    [
      'the limit while it is unpacked, and then its own',
      { 'content-encoding': 'gzip' },
      [packed],
      [
        'expect 0',
        `take ${packed.length}`,
        `take ${LIMIT_BYTES - packed.length}`,
        `return ${LIMIT_BYTES - BODY.length}`,
      ],
    ],
  ])('is %s', async (_, headers, parts, events) => expect(await account(headers, ...parts)).toEqual(events))

  test('is free again where it is refused before it arrives', async () => {
    const part = Buffer.alloc(8_192, 'x')
    const incoming = request({ 'content-length': '1001' }, part)
    await expect(read(incoming)).rejects.toMatchObject({ code: 'body-too-large' })
    // What still arrives is let go, part by part.
    const ended = new Promise((resolve) => incoming.on('end', resolve))
    incoming.resume()
    await ended
    expect(part.buffer.byteLength).toBe(0)
  })
})
