/** Promise: each row of the table of limits holds, and strangers leave room for everyone else (contract, section 5). */

import { gzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { atOnce, quote, statuses } from '../callers/tenants-gateway.ts'
import { basic, get, OWN, post, startGateway, type TestGateway } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { connectFrom, held, type Stranger } from './sockets.ts'

const KIB = 1024
const MIB = KIB * KIB
const LARGE_BYTES = 250_000
const ROUNDS = 20
const PATH = '/getShippingQuote.php'
const PRICED = { shipment_id: 'q', price: 1 }

/** A quote of a given length. */
function quoteOf(bytes: number): string {
  const short = JSON.stringify({ ...quoteExample, Padding: '' })
  return `${short.slice(0, -2)}${' '.repeat(bytes - short.length)}"}`
}

const SMALL = JSON.stringify(quoteExample)

const head = (path: string, bytes: number, more = '') =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic()}\r\n${more}Content-Length: ${bytes}\r\n\r\n`
const call = (body: string, more = '') => head(PATH, body.length, more) + body

type To = Pick<TestGateway, 'url'>

/** Opens a gateway before a service that holds its answers; a busy machine takes long to send large bodies. */
async function openHolding(env: Readonly<Record<string, string>>) {
  const service = await openHoldingService()
  const options = { env: { ...OWN, ...env }, serviceUrl: service.url, timeouts: { requestMs: 60_000 } }
  return { service, gateway: await startGateway(options) }
}

/** Connects from an address, and sends these bytes. */
async function sent(gateway: To, address: string, bytes: string): Promise<Stranger> {
  const one = await connectFrom(gateway, address)
  one.write(bytes)
  return one
}

/** Sends a call that lacks the last byte of its body. */
const begin = (gateway: To, address: string, bytes: number, more = '') =>
  sent(gateway, address, head(PATH, bytes, more) + ' '.repeat(bytes - 1))

/** Expects answers to successive quotes, each over a new connection. */
async function expectHonestServed(gateway: To): Promise<void> {
  for (let i = 0; i < ROUNDS; i += 1) {
    const { reply } = await sent(gateway, '127.0.0.99', call(SMALL, 'Connection: close\r\n'))
    expect((await reply)?.status).toBe(200)
  }
}

/** Expects that a call is refused with the time when it may be repeated. */
async function expectRefused({ reply }: Stranger, status: number): Promise<void> {
  const told = await reply
  // The rest of its body is not read.
  const closes = ['retry-after', 'connection'].map((name) => told?.headers.get(name)?.[0])
  expect([told?.status, ...closes]).toEqual([status, '1', 'close'])
}

describe('with default settings', () => {
  test.each([
    ['one address', 1],
    ['fifty addresses', 50],
  ])('1,024 unfinished bodies from %s leave every other caller unaffected', async (_what, addresses) => {
    const gateway = await startGateway()
    const unfinished = `${head('/createShipment.php', 100_000)}{`
    const strangers = await atOnce(1_024, (i) => sent(gateway, `127.0.1.${(i % addresses) + 1}`, unfinished))
    const most = Math.min(1_024, 256 * addresses)
    const { calls } = await held(gateway, ({ connections, bodyBytes }) => connections === most && bodyBytes >= most)
    // An incomplete request is not a call.
    expect(calls).toBe(0)
    await expectHonestServed(gateway)
    for (const { socket } of strangers) socket.destroy()
    await held(gateway, ({ connections, bodyBytes }) => connections === 0 && bodyBytes === 0)
  })

  test.each([
    ['that never end', LARGE_BYTES + 1],
    ['that wait for the service', LARGE_BYTES],
  ])('hundreds of large bodies %s from two addresses take no more memory than two shares', async (_what, declared) => {
    const { service, gateway } = await openHolding({ UPSTREAM_CONNECTIONS: '200' })
    const body = quoteOf(LARGE_BYTES)
    const bytes = head(PATH, declared) + body
    const strangers = await atOnce(512, (i) => sent(gateway, `127.0.1.${(i % 2) + 1}`, bytes))
    // As many as fit in a share of each, without an answer yet.
    const fitting = 2 * Math.floor((16 * MIB) / LARGE_BYTES)
    const refused = () => strangers.filter(({ isClosed }) => isClosed())
    await vi.waitFor(() => expect(refused()).toHaveLength(512 - fitting), 20_000)
    for (const one of refused()) {
      await expectRefused(one, 429)
      expect((await one.reply)?.json['Message']).toMatch(/from this address/)
    }
    const { bodyBytes } = await held(gateway, (now) => now.connections === fitting)
    expect(bodyBytes).toBeGreaterThan(24 * MIB)
    expect(bodyBytes).toBeLessThanOrEqual(32 * MIB)
    // Others have room.
    const before = service.requests.length
    const other = await sent(gateway, '127.0.0.99', call(body))
    await service.arrived(declared === LARGE_BYTES ? fitting + 1 : before + 1)
    for (const { socket } of strangers) socket.destroy()
    service.release(PRICED)
    expect((await other.reply)?.status).toBe(200)
    other.socket.destroy()
    await held(gateway, (now) => now.connections === 0 && now.bodyBytes === 0 && now.calls === 0)
  })

  test('unread long answers take a share of the memory, too', async () => {
    const gateway = await startGateway()
    // It is explained leaf by leaf, and long parts are cut, so that many readers fit in the share of one address.
    const body = `{"pickup":"10314","delivery":"33166","vehicles":[${'{"a":1},'.repeat(30_000)}{}]}`
    const strangers = await atOnce(60, async () => {
      const one = await connectFrom(gateway, '127.0.1.1')
      one.socket.pause()
      one.write(head(`/dry-run${PATH}`, body.length) + body)
      return one
    })
    const told = () => gateway.lines().flatMap(({ msg, status }) => (msg === 'call' ? [status] : []))
    const { bodyBytes } = await held(gateway, () => told().length === strangers.length)
    expect(new Set(told())).toEqual(new Set([200]))
    expect(bodyBytes).toBeLessThanOrEqual(16 * MIB)
    // The answer to a disconnected reader takes no memory.
    for (const { socket } of strangers) socket.resetAndDestroy()
    await held(gateway, (now) => now.bodyBytes === 0 && now.connections === 0)
  })
})

describe('BODIES_LIMIT_BYTES', () => {
  const env = { ...OWN, BODIES_LIMIT_BYTES: '400000' }

  test('refuses a body for which there is no room before it is read', async () => {
    const gateway = await startGateway({ env })
    const first = await begin(gateway, '127.0.1.1', 60_000)
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 59_999)
    await expectRefused(await sent(gateway, '127.0.1.1', head(PATH, 60_000)), 429)
    // When the first is finished, there is room again.
    first.write('}')
    expect((await first.reply)?.status).toBe(400)
    await held(gateway, ({ bodyBytes }) => bodyBytes === 0)
    expect((await quote(gateway, {})).status).toBe(200)
  })

  test('is 503 if all together take too much, and leaves room for the small calls of others', async () => {
    const gateway = await startGateway({ env })
    await atOnce(3, (i) => begin(gateway, `127.0.1.${i + 1}`, 100_000))
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 3 * 99_999)
    for (const path of [PATH, '/v2/quote']) {
      await expectRefused(await sent(gateway, '127.0.1.4', head(path, 60_000)), 503)
    }
    // An explanation takes eight times the size of its text, so this one never has room.
    const explained = await sent(gateway, '127.0.1.4', head('/dry-run/createShipment.php', 60_000))
    expect((await explained.reply)?.status).toBe(413)
    await expectHonestServed(gateway)
  })

  test('counts the inflated size of a compressed body, once, while its call waits', async () => {
    const { service, gateway } = await openHolding(env)
    const packed = gzipSync(quoteOf(80_000)).toString('latin1')
    const first = await sent(gateway, '127.0.1.1', call(packed, 'Content-Encoding: gzip\r\n'))
    await service.arrived(1)
    expect(await held(gateway, ({ bodyBytes }) => bodyBytes > 0)).toMatchObject({ bodyBytes: 80_000, calls: 1 })
    await expectRefused(await sent(gateway, '127.0.1.1', call(packed, 'Content-Encoding: gzip\r\n')), 429)
    service.release(PRICED)
    expect((await first.reply)?.status).toBe(200)
    expect(await held(gateway, ({ bodyBytes }) => bodyBytes === 0)).toMatchObject({ calls: 0 })
  })

  test('makes a body that is larger than the share of one source 413', async () => {
    const { status, json } = await post(await startGateway({ env }), PATH, quoteOf(100_001))
    expect([status, json.Message]).toEqual([413, expect.stringContaining('100000 bytes')])
  })
})

describe('SOURCE_IN_FLIGHT', () => {
  test('is a quarter of MAX_IN_FLIGHT; one more is 429, and other sources have room', async () => {
    const { service, gateway } = await openHolding({ MAX_IN_FLIGHT: '8' })
    const underWay = [quote(gateway, {}), quote(gateway, {})]
    await service.arrived(2)
    for (const path of [PATH, '/v2/shipments', '/dry-run/createShipment.php', '/v2/']) {
      const { status, headers, json } = await post(gateway, path, quoteExample)
      expect([path, status, headers.get('retry-after')]).toEqual([path, 429, '1'])
      expect(json.Message ?? json.detail).toMatch(/from this address/)
    }
    const other = await sent(gateway, '127.0.1.1', call(SMALL))
    await service.arrived(3)
    service.release(PRICED)
    expect((await other.reply)?.status).toBe(200)
    expect(statuses(await Promise.all(underWay))).toEqual({ 200: 2 })
    await held(gateway, ({ calls }) => calls === 0)
  })

  test('counts a call from when its body is whole', async () => {
    const { service, gateway } = await openHolding({ MAX_IN_FLIGHT: '4' })
    const [first, ...late] = await atOnce(3, () => sent(gateway, '127.0.1.1', call(SMALL).slice(0, -1)))
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 3 * (SMALL.length - 1))
    // The first complete one takes the only place; the others are refused.
    first?.write('}')
    await service.arrived(1)
    for (const one of late) {
      one.write('}')
      await expectRefused(one, 429)
    }
    service.release(PRICED)
    expect((await first?.reply)?.status).toBe(200)
  })
})

describe('behind a trusted proxy', () => {
  const env = { TRUST_PROXY: '127.0.0.0/8', MAX_IN_FLIGHT: '8' }
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const beginBehind = (gateway: To, address: string, bytes: number) =>
    begin(gateway, '127.0.0.1', bytes, `X-Forwarded-For: ${address}\r\n`)

  test('each caller has a share, and the proxy has none if it does not name its caller', async () => {
    const { service, gateway } = await openHolding(env)
    const underWay = ['192.0.2.1', '192.0.2.1', '192.0.2.2'].map((address) => quote(gateway, from(address)))
    await service.arrived(3)
    // A caller's own header proves nothing.
    for (const address of ['192.0.2.1', '203.0.113.9, 192.0.2.1']) {
      expect((await quote(gateway, from(address))).status).toBe(429)
    }
    const unnamed = [1, 2, 3, 4, 5].map(() => quote(gateway, {}))
    await service.arrived(8)
    // Everything is taken: the answer is 503 in the shape of its path, and probes continue.
    const Message = expect.stringContaining('overloaded')
    const booked = { Message, TransportationBooked: 'No' }
    expect(await quote(gateway, {})).toMatchObject({ status: 503, json: { Cost: '', ShipmentNumber: '', Message } })
    expect(await post(gateway, '/createShipment.php', {})).toMatchObject({ status: 503, json: booked })
    for (const path of ['/v2/shipments', `/dry-run${PATH}`]) expect((await post(gateway, path, {})).status).toBe(503)
    for (const path of ['/healthz', '/readyz']) expect((await get(gateway, path)).status).toBe(200)
    service.release(PRICED)
    expect(statuses(await Promise.all([...underWay, ...unnamed]))).toEqual({ 200: 8 })
  })

  test('the requests of a caller count like connections, which belong to the proxy', async () => {
    const gateway = await startGateway({ env: { ...env, SOURCE_CONNECTIONS: '3' } })
    await atOnce(3, () => beginBehind(gateway, '192.0.2.1', 2))
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 3)
    await expectRefused(await beginBehind(gateway, '192.0.2.1', 2), 429)
    const other = await beginBehind(gateway, '192.0.2.2', 2)
    await held(gateway, ({ bodyBytes }) => bodyBytes >= 4)
    expect(other.isClosed()).toBe(false)
  })
})
