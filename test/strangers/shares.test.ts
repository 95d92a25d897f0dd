/** Promise: each row of the table of limits holds (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { connectFrom, held, type Stranger } from './sockets.ts'

const UNFINISHED = 'POST /createShipment.php HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n{'
const KIB = 1024
const MIB = KIB * KIB
const LARGE_BYTES = 250_000
const ROUNDS = 20

/** A quote of a given length. */
function quoteOf(bytes: number): string {
  const short = JSON.stringify({ ...quoteExample, Padding: '' })
  return `${short.slice(0, -2)}${' '.repeat(bytes - short.length)}"}`
}

const head = (path: string, bytes: number, more = '') =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic()}\r\n${more}Content-Length: ${bytes}\r\n\r\n`
const call = (path: string, body: string, more = '') => head(path, body.length, more) + body

const many = (count: number, gateway: Pick<TestGateway, 'url'>, address: (i: number) => string): Promise<Stranger[]> =>
  Promise.all(Array.from({ length: count }, (_, i) => connectFrom(gateway, address(i))))

/** Quotes one after the other, each over a new connection. */
async function honest(gateway: Pick<TestGateway, 'url'>): Promise<number[]> {
  const statuses: number[] = []
  for (let i = 0; i < ROUNDS; i += 1) {
    const { reply, write } = await connectFrom(gateway, '127.0.0.99')
    write(call('/getShippingQuote.php', JSON.stringify(quoteExample), 'Connection: close\r\n'))
    statuses.push((await reply)?.status ?? 0)
  }
  return statuses
}

const ALL_WELL = Array(ROUNDS).fill(200)

describe('with default settings', () => {
  test.each([
    ['one address', 1],
    ['four addresses', 4],
    ['fifty addresses', 50],
  ])('1,024 unfinished bodies from %s leave every other caller unaffected', async (_what, addresses) => {
    const gateway = await startGateway()
    const strangers = await many(1_024, gateway, (i) => `127.0.1.${(i % addresses) + 1}`)
    for (const { write } of strangers) write(UNFINISHED)
    const most = Math.min(1_024, 256 * addresses)
    const { calls } = await held(gateway, ({ connections, bodyBytes }) => connections === most && bodyBytes >= most)
    // An incomplete request is not a call.
    expect(calls).toBe(0)
    expect(await honest(gateway)).toEqual(ALL_WELL)
    for (const { socket } of strangers) socket.destroy()
    await held(gateway, ({ connections, bodyBytes }) => connections === 0 && bodyBytes === 0)
  })

  test.each([
    ['that never end', LARGE_BYTES + 1],
    ['that wait for the service', LARGE_BYTES],
  ])('hundreds of large bodies %s from two addresses take no more memory than two shares', async (_what, declared) => {
    const service = await openHoldingService()
    const env = { ...OWN, UPSTREAM_CONNECTIONS: '200' }
    // A busy machine takes long to send so much.
    const gateway = await startGateway({ env, serviceUrl: service.url, timeouts: { requestMs: 60_000 } })
    const body = quoteOf(LARGE_BYTES)
    const strangers = await many(512, gateway, (i) => `127.0.1.${(i % 2) + 1}`)
    for (const { write } of strangers) write(head('/getShippingQuote.php', declared) + body)
    const answered = Promise.all(strangers.map(({ reply }) => reply))
    // As many as fit in a share of each; those are not answered yet.
    const fitting = 2 * Math.floor((16 * MIB) / LARGE_BYTES)
    const refused = await told(strangers, 512 - fitting)
    expect(refused.map((reply) => reply?.status)).toEqual(refused.map(() => 429))
    for (const reply of refused) {
      expect(reply?.headers.get('retry-after')).toBe('1')
      expect(JSON.parse(reply?.body ?? '')).toEqual({
        Cost: '',
        ShipmentNumber: '',
        Message: expect.stringMatching(/from this address/),
      })
    }
    const { bodyBytes } = await held(gateway, (now) => now.connections === fitting)
    expect(bodyBytes).toBeGreaterThan(24 * MIB)
    expect(bodyBytes).toBeLessThanOrEqual(32 * MIB)
    // Others have room, and so have those two as soon as the rest is gone.
    const others = connectFrom(gateway, '127.0.0.99')
    ;(await others).write(call('/getShippingQuote.php', body))
    const before = service.requests.length
    await service.arrived(declared === LARGE_BYTES ? fitting + 1 : before + 1)
    for (const { socket } of strangers) socket.destroy()
    service.release({ shipment_id: 'q', price: 1 })
    expect((await (await others).reply)?.status).toBe(200)
    await answered
    ;(await others).socket.destroy()
    await held(gateway, (now) => now.connections === 0 && now.bodyBytes === 0 && now.calls === 0)
  })
})

/** Resolves with the first so many replies. */
function told(strangers: readonly Stranger[], count: number): Promise<Awaited<Stranger['reply']>[]> {
  const replies: Awaited<Stranger['reply']>[] = []
  return new Promise((resolve) => {
    for (const { reply } of strangers) {
      void reply.then((one) => {
        replies.push(one)
        if (replies.length === count) resolve(replies)
      })
    }
  })
}

describe('BODIES_LIMIT_BYTES', () => {
  const env = { ...OWN, BODIES_LIMIT_BYTES: '400000' }

  test('refuses a body for which there is no room before it is read', async () => {
    const gateway = await startGateway({ env })
    const first = await connectFrom(gateway, '127.0.1.1')
    first.write(head('/getShippingQuote.php', 60_000) + ' '.repeat(59_999))
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 59_999)
    const second = await connectFrom(gateway, '127.0.1.1')
    second.write(head('/getShippingQuote.php', 60_000))
    const reply = await second.reply
    expect(reply?.status).toBe(429)
    expect(reply?.headers.get('retry-after')).toBe('1')
    expect(reply?.headers.get('connection')).toBe('close')
    // When the first is done, there is room again.
    first.write('}')
    expect((await first.reply)?.status).toBe(400)
    await held(gateway, ({ bodyBytes }) => bodyBytes === 0)
    expect((await post(gateway, '/getShippingQuote.php', quoteExample)).status).toBe(200)
  })

  test('is 503 where all together take too much, and leaves room for the small calls of others', async () => {
    const gateway = await startGateway({ env })
    for (const address of ['127.0.1.1', '127.0.1.2', '127.0.1.3']) {
      const { write } = await connectFrom(gateway, address)
      write(head('/getShippingQuote.php', 100_000) + ' '.repeat(99_999))
    }
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 3 * 99_999)
    for (const path of ['/getShippingQuote.php', '/v2/quote', '/dry-run/createShipment.php']) {
      const large = await connectFrom(gateway, '127.0.1.4')
      large.write(head(path, 60_000))
      const reply = await large.reply
      expect(reply?.status, path).toBe(503)
      expect(reply?.headers.get('retry-after')).toBe('1')
    }
    expect(await honest(gateway)).toEqual(ALL_WELL)
  })

  test('counts the inflated size of a compressed body', async () => {
    const service = await openHoldingService()
    const gateway = await startGateway({ env, serviceUrl: service.url })
    const { gzipSync } = await import('node:zlib')
    const packed = gzipSync(quoteOf(80_000))
    const first = await connectFrom(gateway, '127.0.1.1')
    first.write(head('/getShippingQuote.php', packed.length, 'Content-Encoding: gzip\r\n'))
    first.write(packed)
    await service.arrived(1)
    expect(await held(gateway, ({ bodyBytes }) => bodyBytes > 0)).toMatchObject({ bodyBytes: 80_000, calls: 1 })
    const second = await connectFrom(gateway, '127.0.1.1')
    second.write(head('/getShippingQuote.php', packed.length, 'Content-Encoding: gzip\r\n'))
    second.write(packed)
    expect((await second.reply)?.status).toBe(429)
    service.release({ shipment_id: 'q', price: 1 })
    expect((await first.reply)?.status).toBe(200)
    expect(await held(gateway, ({ bodyBytes }) => bodyBytes === 0)).toMatchObject({ calls: 0 })
  })

  test('makes a body that is larger than the share of one source 413', async () => {
    const gateway = await startGateway({ env })
    const { status, json } = await post(gateway, '/getShippingQuote.php', quoteOf(100_001))
    expect(status).toBe(413)
    expect(json.Message).toContain('100000 bytes')
  })
})

describe('SOURCE_IN_FLIGHT', () => {
  const quote = (gateway: TestGateway, headers: Readonly<Record<string, string>> = {}) =>
    post(gateway, '/getShippingQuote.php', quoteExample, headers)

  test('is a quarter of MAX_IN_FLIGHT; one more is 429, and other sources have room', async () => {
    const service = await openHoldingService()
    const gateway = await startGateway({ env: { ...OWN, MAX_IN_FLIGHT: '8' }, serviceUrl: service.url })
    const underWay = [quote(gateway), quote(gateway)]
    await service.arrived(2)
    for (const path of ['/getShippingQuote.php', '/v2/shipments', '/dry-run/createShipment.php', '/v2/']) {
      const { status, headers, json } = await post(gateway, path, quoteExample)
      expect(status, path).toBe(429)
      expect(headers.get('retry-after')).toBe('1')
      expect(json.Message ?? json.detail).toMatch(/from this address/)
    }
    const other = await connectFrom(gateway, '127.0.1.1')
    other.write(call('/getShippingQuote.php', JSON.stringify(quoteExample)))
    await service.arrived(3)
    service.release({ shipment_id: 'q', price: 1 })
    expect((await other.reply)?.status).toBe(200)
    for (const { status } of await Promise.all(underWay)) expect(status).toBe(200)
    await held(gateway, ({ calls }) => calls === 0)
  })

  test('counts a call from when its body is whole', async () => {
    const service = await openHoldingService()
    const gateway = await startGateway({ env: { ...OWN, MAX_IN_FLIGHT: '4' }, serviceUrl: service.url })
    const body = JSON.stringify(quoteExample)
    const strangers = await many(3, gateway, () => '127.0.1.1')
    for (const { write } of strangers) write(call('/getShippingQuote.php', body).slice(0, -1))
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 3 * (body.length - 1))
    // The first complete one takes the only place; the others are refused.
    strangers[0]?.write('}')
    await service.arrived(1)
    for (const { write } of strangers.slice(1)) write('}')
    const late = await Promise.all(strangers.slice(1).map(({ reply }) => reply))
    expect(late.map((reply) => reply?.status)).toEqual([429, 429])
    service.release({ shipment_id: 'q', price: 1 })
    expect((await strangers[0]?.reply)?.status).toBe(200)
  })

  test('counts a call whose caller has hung up until its work is done', async () => {
    const service = await openHoldingService()
    const gateway = await startGateway({ env: { ...OWN, MAX_IN_FLIGHT: '4' }, serviceUrl: service.url })
    const gone = await connectFrom(gateway, '127.0.1.1')
    gone.write(call('/getShippingQuote.php', JSON.stringify(quoteExample)))
    await service.arrived(1)
    gone.socket.resetAndDestroy()
    expect(await held(gateway, ({ connections }) => connections === 0)).toMatchObject({ calls: 1 })
    service.release({ shipment_id: 'q', price: 1 })
    expect(await held(gateway, ({ calls }) => calls === 0)).toMatchObject({ bodyBytes: 0 })
  })
})

describe('behind a proxy that is trusted', () => {
  const env = { ...OWN, TRUST_PROXY: '127.0.0.0/8', MAX_IN_FLIGHT: '8' }
  const quote = (gateway: TestGateway, headers: Readonly<Record<string, string>> = {}) =>
    post(gateway, '/getShippingQuote.php', quoteExample, headers)
  const from = (address: string) => ({ 'x-forwarded-for': address })

  test('each caller has a share, and the proxy none where it does not say for whom it speaks', async () => {
    const service = await openHoldingService()
    const gateway = await startGateway({ env, serviceUrl: service.url })
    const underWay = ['192.0.2.1', '192.0.2.1', '192.0.2.2'].map((address) => quote(gateway, from(address)))
    await service.arrived(3)
    expect((await quote(gateway, from('192.0.2.1'))).status).toBe(429)
    // A caller's own header proves nothing.
    expect((await quote(gateway, from('203.0.113.9, 192.0.2.1'))).status).toBe(429)
    const unnamed = [1, 2, 3, 4, 5].map(() => quote(gateway))
    await service.arrived(8)
    expect((await quote(gateway)).status).toBe(503)
    service.release({ shipment_id: 'q', price: 1 })
    for (const { status } of await Promise.all([...underWay, ...unnamed])) expect(status).toBe(200)
  })

  test('the bodies of each caller have a share', async () => {
    const gateway = await startGateway({ env: { ...env, BODIES_LIMIT_BYTES: '400000' } })
    const begin = async (address: string, bytes: number) => {
      const one = await connectFrom(gateway, '127.0.0.1')
      one.write(head('/getShippingQuote.php', bytes, `X-Forwarded-For: ${address}\r\n`) + ' '.repeat(bytes - 1))
      return one
    }
    await begin('192.0.2.1', 60_000)
    await begin('192.0.2.2', 60_000)
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 2 * 59_999)
    expect((await (await begin('192.0.2.1', 60_000)).reply)?.status).toBe(429)
  })

  test('the requests of a caller count like connections, which are the proxy’s', async () => {
    const gateway = await startGateway({ env: { ...env, SOURCE_CONNECTIONS: '3' } })
    const begin = async (address: string) => {
      const one = await connectFrom(gateway, '127.0.0.1')
      one.write(UNFINISHED.replace('\r\n', `\r\nX-Forwarded-For: ${address}\r\n`))
      return one
    }
    for (let i = 0; i < 3; i += 1) await begin('192.0.2.1')
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 3)
    expect((await (await begin('192.0.2.1')).reply)?.status).toBe(429)
    const other = await begin('192.0.2.2')
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 4)
    expect(other.isClosed()).toBe(false)
  })
})
