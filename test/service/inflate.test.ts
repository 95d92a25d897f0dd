/** Promise: compressed replies are read, up to a limit (contract, section 9). */

import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { inflate } from '../../src/service/exchange.ts'
import { OWN, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'

const REPLY = JSON.stringify({ shipment_id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11', price: 1234.5 })

const CODINGS: readonly (readonly [coding: string, bytes: Buffer])[] = [
  ['gzip', gzipSync(REPLY)],
  ['x-gzip', gzipSync(REPLY)],
  ['deflate', deflateSync(REPLY)],
  ['deflate', deflateRawSync(REPLY)],
  ['br', brotliCompressSync(REPLY)],
  ['GZIP', gzipSync(REPLY)],
  ['Br', brotliCompressSync(REPLY)],
  ['DEFLATE', deflateSync(REPLY)],
]

describe('a reply of the service', () => {
  test.each(CODINGS)('in %s is read', async (coding, bytes) => {
    const service = await openService((incoming, outgoing) => {
      incoming.resume().on('end', () => {
        outgoing.writeHead(200, { 'content-type': 'application/json', 'content-encoding': coding }).end(bytes)
      })
    })
    const gateway = await startGateway({ env: OWN, serviceUrl: service.url })
    const { status, json } = await post(gateway, '/getShippingQuote.php', quoteExample)
    expect({ status, Cost: json.Cost }).toEqual({ status: 200, Cost: '1234.50' })
  })

  test.each([
    ['in a coding that it is not in', 'br', gzipSync(REPLY)],
    ['in an unknown coding', 'zstd-not', gzipSync(REPLY)],
    ['that is cut', 'deflate', deflateSync(REPLY).subarray(0, 20)],
  ])('%s cannot be read', async (_, coding, bytes) => {
    const service = await openService((incoming, outgoing) => {
      incoming.resume().on('end', () => outgoing.writeHead(200, { 'content-encoding': coding }).end(bytes))
    })
    const gateway = await startGateway({ env: OWN, serviceUrl: service.url })
    expect((await post(gateway, '/getShippingQuote.php', quoteExample)).status).toBe(502)
  })
})

describe('inflating', () => {
  test.each(CODINGS)('%s gives the text back, with blanks around the name as well', async (coding, bytes) => {
    expect(String(await inflate(bytes, coding, 1_000))).toBe(REPLY)
    expect(String(await inflate(bytes, ` ${coding} `, 1_000))).toBe(REPLY)
  })

  test.each(CODINGS)('%s stops at the limit, and not before', async (coding, bytes) => {
    expect(String(await inflate(bytes, coding, REPLY.length))).toBe(REPLY)
    await expect(inflate(bytes, coding, REPLY.length - 1)).rejects.toThrow(RangeError)
  })

  test('of what is not compressed that way gives nothing', async () => {
    expect(await inflate(Buffer.from(REPLY), 'identity', 1_000)).toBeUndefined()
    expect(await inflate(Buffer.from(REPLY), 'gzip', 1_000)).toBeUndefined()
    expect(await inflate(Buffer.from(REPLY), 'br', 1_000)).toBeUndefined()
  })
})
