/** Promise: a body is taken up to its limit, unpacked, and paid for by its source (contract, section 2). */

import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type BodyMemory, hasZlibHeader, readBytes } from '../../src/body/bytes.ts'

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

/** Memory that keeps account, with room for so many bytes. */
function account(roomBytes = Number.POSITIVE_INFINITY) {
  const events: string[] = []
  let held = 0
  const memory: BodyMemory = {
    expectBody: (bytes) => {
      events.push(`expect ${bytes}`)
      if (bytes > roomBytes) throw new Error('no room')
    },
    takeBody: (bytes) => {
      events.push(`take ${bytes}`)
      if (held + bytes > roomBytes) throw new Error('no room')
      held += bytes
    },
    returnBody: (bytes) => {
      events.push(`return ${bytes}`)
      held -= bytes
    },
  }
  return { memory, events, held: () => held }
}
const read = (incoming: IncomingMessage, memory = account().memory) => readBytes(incoming, LIMIT_BYTES, memory)

test.each([
  [[0x78, 0x9c], true],
  [[0x78, 0x01], true],
  [[0x08, 0x1d], true],
  [[0x78, 0x9d], false],
  [[0x79, 0x9b], false],
  [[0x78, 0x9c, 0], true],
  [[0x78], false],
  [[], false],
])('%j begins with the header of zlib: %s', (bytes, isHeader) => {
  expect(hasZlibHeader(Buffer.from(bytes))).toBe(isHeader)
})

describe('a body', () => {
  test.each<[string, string | undefined, Buffer]>([
    ['without an encoding', undefined, BODY],
    ['of a blank encoding', ' ', BODY],
    ['as it is', 'identity', BODY],
    ['of gzip', 'gzip', gzipSync(BODY)],
    ['of gzip by its old name', ' X-GZIP ', gzipSync(BODY)],
    ['of zlib', 'deflate', deflateSync(BODY)],
    ['of bare deflate', 'Deflate', deflateRawSync(BODY)],
  ])('%s is read', async (_, encoding, bytes) => {
    const headers = encoding === undefined ? {} : { 'content-encoding': encoding }
    expect(await read(request(headers, bytes))).toEqual(BODY)
    expect(await read(request(headers, bytes.subarray(0, 3), bytes.subarray(3)))).toEqual(BODY)
  })

  test.each(['br', 'gzip, gzip', 'compress'])('of the encoding %s is refused', async (encoding) => {
    await expect(read(request({ 'content-encoding': encoding }, BODY))).rejects.toMatchObject({
      code: 'body-unreadable',
      message: expect.stringMatching(/encod/i),
    })
  })

  test.each(['gzip', 'deflate'])('that is no %s is refused, unless it is empty', async (encoding) => {
    const refused = read(request({ 'content-encoding': encoding }, Buffer.from([0xff, 0xff, 0xff])))
    await expect(refused).rejects.toMatchObject({ code: 'body-unreadable', cause: expect.any(Error) })
    expect(await read(request({ 'content-encoding': encoding }))).toHaveLength(0)
  })

  test('may have as many bytes as its limit, and not one more', async () => {
    const [full, over] = [LIMIT_BYTES, LIMIT_BYTES + 1].map((size) => Buffer.alloc(size, 'x'))
    const tooLarge = { code: 'body-too-large', message: expect.stringContaining('1000') }
    for (const headers of [{}, { 'content-length': String(LIMIT_BYTES) }]) {
      expect(await read(request(headers, full ?? BODY))).toHaveLength(LIMIT_BYTES)
    }
    await expect(read(request({}, over ?? BODY))).rejects.toMatchObject(tooLarge)
    await expect(read(request({ 'content-length': '1001' }))).rejects.toMatchObject(tooLarge)
    const packed = { 'content-encoding': 'gzip' }
    expect(await read(request(packed, gzipSync(full ?? BODY)))).toHaveLength(LIMIT_BYTES)
    await expect(read(request(packed, gzipSync(over ?? BODY)))).rejects.toMatchObject(tooLarge)
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

  test('is read from a request that was paused', async () => {
    expect(await read(request({}, BODY).pause())).toEqual(BODY)
  })
})

describe('the memory of a body', () => {
  test('is what it announces, and what arrives', async () => {
    const { memory, events, held } = account()
    await read(request({ 'content-length': '9' }, BODY.subarray(0, 4), BODY.subarray(4)), memory)
    expect(events).toEqual(['expect 9', 'take 4', 'take 5'])
    expect(held()).toBe(BODY.length)
  })

  test('of a body without a length grows up to the limit', async () => {
    const { memory, held } = account()
    const parts = [400, 300, 300].map((size) => Buffer.alloc(size, 'x'))
    await read(request({}, ...parts), memory)
    expect(held()).toBe(LIMIT_BYTES)
  })

  test('is the limit while it is unpacked, and then its own', async () => {
    const packed = gzipSync(BODY)
    const { memory, events, held } = account()
    await read(request({ 'content-encoding': 'gzip' }, packed), memory)
    expect(events).toEqual([
      'expect 0',
      `take ${packed.length}`,
      `take ${LIMIT_BYTES - packed.length}`,
      `return ${LIMIT_BYTES - BODY.length}`,
    ])
    expect(held()).toBe(BODY.length)
  })

  test.each([
    ['what it announces', { 'content-length': '9' }, 8],
    ['what arrives', {}, 8],
  ])('may have no room for %s', async (_, headers, room) => {
    await expect(read(request(headers, BODY), account(room).memory)).rejects.toThrow()
  })

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
