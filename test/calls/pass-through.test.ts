/** Promise: version-2 calls pass through unchanged (contract, section 1). */

import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, get, post, startGateway, type TestGateway } from '../gateway.ts'
import { bytesOf, openService } from '../http/service.ts'
import { dial, send } from '../http/wire.ts'

const HEAD = 'Host: localhost\r\nConnection: close\r\n'
const DRIP_MS = 50
const FIXED = { V2_CLIENT_ID: 'sidecar', V2_CLIENT_SECRET: 's3cret' }
const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i))

/** Returns the header lines as pairs, without those of the connection itself. */
function lines({ rawHeaders }: IncomingMessage): [name: string, value: string][] {
  const pairs: [string, string][] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (!/^(host|connection|x-request-id)$/i.test(name)) pairs.push([name, rawHeaders[i + 1] ?? ''])
  }
  return pairs
}

/** Sends one request unchanged; the header lines end in CRLF. */
const ask = (gateway: TestGateway, line: string, headers = '', ...body: (string | Buffer)[]) =>
  send(gateway, `${line} HTTP/1.1\r\n${HEAD}${headers}\r\n`, ...body)

/** A gateway before a service that records every request and answers 204. */
async function gatewayBeforeRecorder(env: Record<string, string> = {}, prefix = '') {
  const bodies: Buffer[] = []
  const service = await openService(async (incoming, outgoing) => {
    bodies.push(await bytesOf(incoming))
    outgoing.writeHead(204).end()
  })
  const gateway = await startGateway({ serviceUrl: service.url + prefix, env })
  return { gateway, service, bodies }
}

describe('a request', () => {
  test('goes below the path prefix of the service', async () => {
    const { gateway, service } = await gatewayBeforeRecorder({}, '/edge/api/v2/')
    await get(gateway, '/v2/shipments?x=1')
    await post(gateway, '/oauth2/token', 'grant_type=client_credentials')
    await get(gateway, '/getShipment.php?number=TL-1')
    expect(service.requests.map(({ url }) => url)).toEqual([
      '/edge/api/v2/shipments?x=1',
      '/edge/api/oauth2/token',
      '/edge/api/v2/shipments/TL-1',
    ])
  })

  test.each(['POST', 'DELETE', 'GET', 'PROPFIND'])(
    'keeps its method and its body, byte for byte: %s',
    async (method) => {
      const { gateway, service, bodies } = await gatewayBeforeRecorder()
      const line = `${method} /v2/x`
      await ask(gateway, line, `Content-Length: ${ALL_BYTES.length}\r\n`, ALL_BYTES)
      await ask(gateway, line, 'Transfer-Encoding: chunked\r\n', '100\r\n', ALL_BYTES, '\r\n0\r\n\r\n')
      await ask(gateway, line, 'Content-Length: 0\r\n')
      await ask(gateway, line)
      expect(bodies).toEqual([ALL_BYTES, ALL_BYTES, Buffer.of(), Buffer.of()])
      expect(service.requests.map((request) => request.method)).toEqual(bodies.map(() => method))
      const [whole, , ...without] = service.requests.map(({ headers }) => headers)
      expect(whole?.['content-length']).toBe('256')
      for (const headers of without) expect(headers['transfer-encoding']).toBeUndefined()
    },
  )

  test('with a version-1 body is left to the service, and so is its version-1 reply', async () => {
    const received: string[] = []
    const reply = '{"Cost": "1234.50", "ShipmentNumber": "WTS20250216191244"}'
    const service = await openService(async (incoming, outgoing) => {
      received.push(String(await bytesOf(incoming)))
      outgoing.writeHead(200, { 'content-type': 'application/json' }).end(reply)
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    const { status, text, headers } = await post(gateway, '/v2/quote', quoteExample)
    expect([status, text, headers.get('deprecation')]).toEqual([200, reply, null])
    expect(received).toEqual([JSON.stringify(quoteExample)])
  })

  test('keeps its headers: their order, their spelling, their repetition and their bytes', async () => {
    const { gateway, service } = await gatewayBeforeRecorder()
    const kept = [
      ['Accept', 'application/json'],
      ['X-TWICE', 'one'],
      ['x-twice', 'two, three'],
      ['Content-Encoding', 'br'],
      ['If-Match', '"7"'],
      ['Cookie', 'a=b; c=d'],
      ['User-Agent', 'Old/1.0 (\xe9)'],
      ['Accept-Encoding', 'gzip, br'],
      ['Idempotency-Key', 'k-1'],
    ] as const
    const head = kept.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    await ask(gateway, 'GET /v2/x', head)
    const [request] = service.requests
    expect(request && lines(request)).toEqual(kept)
  })

  test('drops the headers of the connection', async () => {
    const { gateway, service } = await gatewayBeforeRecorder()
    const left = [
      'Keep-Alive: timeout=5',
      'Proxy-Connection: keep-alive',
      'Proxy-Authorization: Basic eA==',
      'PROXY-AUTHENTICATE: x',
      'Upgrade: h2c',
      'TE: trailers',
      'Trailer: X-Sum',
      'X-Only-Here: 1',
      'x-and-this: 2',
      'Expect: 100-continue',
    ]
    const wire = await dial(gateway)
    wire.write(`GET /v2/x HTTP/1.1\r\nHost: gateway.example\r\nConnection: close, X-Only-Here,X-AND-THIS\r\n`)
    wire.write(`${left.join('\r\n')}\r\nX-Stays: 3\r\n\r\n`)
    await wire.closed()
    const [request] = service.requests
    expect(request && lines(request)).toEqual([['X-Stays', '3']])
    expect(request?.headers['connection']).not.toContain('x-only-here')
    expect(request?.headers.host).not.toBe('gateway.example')
  })

  test('loses headers that some servers mistake for others', async () => {
    const { gateway, service, bodies } = await gatewayBeforeRecorder()
    const mistakable = [
      'Content_Length: 3',
      'Transfer_Encoding: chunked',
      'transfer.encoding: chunked',
      'Transfer~Encoding: chunked',
      'X_Request_Id: mine',
      'AUTHORIZATION_: Basic eA==',
      '_: 1',
    ]
    const head = `Content-Length: 5\r\n${mistakable.join('\r\n')}\r\nX-2-Stays: 3\r\n`
    // The gateway remembers header names, but the second time is the same.
    for (const _ of ['first', 'second']) await ask(gateway, 'POST /v2/x', head, 'hello')
    for (const request of service.requests) {
      expect(lines(request).sort()).toEqual([
        ['X-2-Stays', '3'],
        ['content-length', '5'],
      ])
    }
    expect(bodies.map(String)).toEqual(['hello', 'hello'])
  })

  test('gets 100 Continue from the gateway itself, and may be HTTP/1.0', async () => {
    const { gateway, bodies } = await gatewayBeforeRecorder()
    const wire = await dial(gateway)
    wire.write(`POST /v2/x HTTP/1.1\r\n${HEAD}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`)
    await wire.until(/ 100 Continue\r\n\r\n/)
    wire.write('ok')
    await wire.until(/ 204 /)
    expect((await send(gateway, 'POST /v2/x HTTP/1.0\r\nContent-Length: 2\r\n\r\nok')).status).toBe(204)
    expect(bodies.map(String)).toEqual(['ok', 'ok'])
  })
})

describe('the credential of a request', () => {
  const askWith = (gateway: TestGateway, path: string, authorization?: string) =>
    ask(gateway, `POST ${path}`, authorization === undefined ? '' : `authorization: ${authorization}\r\n`)

  test.each(['/v2/x', '/oauth2/token'])("in client mode is the caller's own, unchanged, at %s", async (path) => {
    const { gateway, service } = await gatewayBeforeRecorder()
    const sent = [basic('acme', 'x'), 'Bearer abc', 'bAsIc  nonsense', 'Digest username="x"', undefined]
    for (const authorization of sent) await askWith(gateway, path, authorization)
    expect(service.requests.map(({ headers }) => headers.authorization)).toEqual(sent)
  })

  test("in fixed mode is the gateway's, even if the caller sends a token", async () => {
    const { gateway, service } = await gatewayBeforeRecorder(FIXED)
    const sent = [basic('acme', 'x'), 'Digest username="x"', 'Bearer', 'Bearer abc', 'bearer def', undefined]
    for (const authorization of sent) await askWith(gateway, '/v2/x', authorization)
    const own = basic(FIXED.V2_CLIENT_ID, FIXED.V2_CLIENT_SECRET)
    expect(service.requests.map(({ headers }) => headers.authorization)).toEqual(sent.map(() => own))
    for (const { rawHeaders } of service.requests) {
      expect(rawHeaders.filter((name) => name.toLowerCase() === 'authorization')).toHaveLength(1)
    }
  })

  test('is a token if one of several challenges of the service asks for it', async () => {
    const service = await openService(({ url, headers }, outgoing) => {
      if (url === '/oauth2/token') return void outgoing.end('{"access_token":"abc"}')
      const isToken = headers.authorization === 'Bearer abc'
      const challenges = ['WWW-Authenticate', 'Basic', 'WWW-Authenticate', 'Bearer']
      outgoing.writeHead(isToken ? 204 : 401, isToken ? [] : challenges).end()
    })
    const gateway = await startGateway({ serviceUrl: service.url, env: { ...FIXED, V2_TOKEN: 'auto' } })
    expect((await get(gateway, '/v2/x')).status).toBe(204)
  })

  test('a token obtained through the gateway is valid through the gateway', async () => {
    const gateway = await startGateway({ sandbox: { auth: 'bearer' } })
    const granted = await post(gateway, '/oauth2/token', 'grant_type=client_credentials', {
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect(granted.status).toBe(200)
    const trip = { pickup: '10314', delivery: '33166' }
    const refused = await post(gateway, '/v2/quote', trip)
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toMatch(/^Bearer /)
    const quoted = await post(gateway, '/v2/quote', trip, { authorization: `Bearer ${granted.json.access_token}` })
    expect(quoted.status).toBe(200)
    expect(quoted.json.price).toEqual(expect.any(Number))
  })
})

describe('a reply', () => {
  /** A gateway before a service whose reply is these bytes. */
  async function replying(...bytes: readonly (string | Buffer)[]) {
    const service = await openService((incoming) => {
      incoming.resume()
      for (const part of bytes) incoming.socket.write(typeof part === 'string' ? Buffer.from(part, 'latin1') : part)
      incoming.socket.end()
    })
    return startGateway({ serviceUrl: service.url })
  }
  const askFor = async (...bytes: readonly (string | Buffer)[]) => ask(await replying(...bytes), 'GET /v2/x')

  test('keeps its status, its headers and every byte of its body', async () => {
    const kept = [
      ['Content-Type', 'image/png'],
      ['Set-Cookie', 'a=1; Path=/'],
      ['Set-Cookie', 'b=2'],
      ['Link', '</a>'],
      ['X-Name', 'Zo\xeb'],
      ['ETag', 'W/"x"'],
      ['Content-Length', '256'],
      // In a reply, these are headers like any other.
      ['Authorization', 'a'],
      ['X_Plain', '1'],
    ]
    const head = kept.map((line) => line.join(': ')).join('\r\n')
    const reply = await askFor(`HTTP/1.1 207 Whatever\r\n${head}\r\n\r\n`, ALL_BYTES)
    expect(reply.status).toBe(207)
    expect(reply.body).toBe(ALL_BYTES.toString('latin1'))
    for (const [name = '', value] of kept) expect(reply.headers.get(name.toLowerCase())).toContain(value)
  })

  test('to HEAD keeps its length and has no body, and the connection stays usable', async () => {
    const service = await openService((_, outgoing) => outgoing.writeHead(200, { 'content-length': '12345' }).end())
    const gateway = await startGateway({ serviceUrl: service.url })
    const wire = await dial(gateway)
    for (const _ of [1, 2]) wire.write('HEAD /v2/x HTTP/1.1\r\nHost: x\r\n\r\n')
    wire.write(`HEAD /v2/x HTTP/1.1\r\n${HEAD}\r\n`)
    const text = await wire.closed()
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3)
    expect(text.match(/content-length: 12345/g)).toHaveLength(3)
    expect(text).toMatch(/\r\n\r\n$/)
  })

  test.each([204, 304, 307, 404, 503])('of status %i is passed on unchanged', async (status) => {
    const hasBody = status !== 204 && status !== 304
    const length = hasBody ? 'Content-Length: 4\r\n' : ''
    const head = `HTTP/1.1 ${status} X\r\nLocation: http://elsewhere.example/\r\nRetry-After: 7\r\n${length}\r\n`
    const reply = await askFor(head, hasBody ? 'Oops' : '')
    expect(reply.status).toBe(status)
    expect(reply.headers.get('location')).toEqual(['http://elsewhere.example/'])
    expect(reply.headers.get('retry-after')).toEqual(['7'])
    expect(reply.body).toBe(hasBody ? 'Oops' : '')
  })

  test('drops the headers of the connection', async () => {
    const left =
      'Connection: close, X-Mine\r\nKeep-Alive: timeout=1\r\nX-Mine: 1\r\nProxy-Authenticate: x\r\nTrailer: y\r\nTE: z'
    const reply = await askFor(`HTTP/1.1 200 OK\r\n${left}\r\nX-Yours: 2\r\nContent-Length: 0\r\n\r\n`)
    for (const name of ['x-mine', 'keep-alive', 'proxy-authenticate', 'trailer', 'te']) {
      expect(reply.headers.has(name), name).toBe(false)
    }
    expect(reply.headers.get('x-yours')).toEqual(['2'])
    expect(reply.headers.get('connection')).toEqual(['close'])
  })

  test('carries the request id of the request to the service, once', async () => {
    const service = await openService(({ headers }, outgoing) =>
      outgoing.writeHead(200, { 'x-request-id': 'theirs', 'x-told': String(headers['x-request-id']) }).end(),
    )
    const gateway = await startGateway({ serviceUrl: service.url })
    const reply = await ask(gateway, 'GET /v2/x')
    expect(reply.headers.get('x-request-id')).toEqual(reply.headers.get('x-told'))
    expect(reply.headers.get('x-told')?.[0]).toMatch(/^[0-9a-f-]{36}$/)
    // It is not a version-1 reply.
    expect(reply.headers.has('deprecation')).toBe(false)
  })

  test('of any size is never buffered: the sender waits for the reader, in both directions', async () => {
    const size = 192 * 1024 * 1024
    const block = Buffer.alloc(256 * 1024, 'x')
    /** Returns the number of bytes by which the sender is ahead of the slow reader. */
    const race = () => {
      let sent = 0
      let read = 0
      let mostAhead = 0
      const blocks = function* () {
        for (; sent < size; sent += block.length) yield block
      }
      return {
        blocks: Readable.from(blocks()),
        readAll: async (stream: AsyncIterable<Uint8Array>) => {
          for await (const chunk of stream) {
            read += chunk.length
            mostAhead = Math.max(mostAhead, sent - read)
            await new Promise(setImmediate)
          }
          return { read, mostAhead }
        },
      }
    }
    const up = race()
    const down = race()
    const uploaded = Promise.withResolvers<{ read: number; mostAhead: number }>()
    const service = await openService(async (incoming, outgoing) => {
      uploaded.resolve(await up.readAll(incoming))
      down.blocks.pipe(outgoing)
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    const upload = httpRequest(`${gateway.url}/v2/x`, { method: 'POST' })
    up.blocks.pipe(upload)
    // The event's arguments, as Node documents them.
    const [reply] = (await once(upload, 'response')) as [IncomingMessage]
    for (const { read, mostAhead } of [await down.readAll(reply), await uploaded.promise]) {
      expect(read).toBe(size)
      // Some of it is in the buffers of the system, which may grow to 36 MiB for each of the two connections.
      expect(mostAhead).toBeLessThan(size / 2)
    }
  })
})

describe('when something breaks', () => {
  test('a call that finds no free connection in time is 503, and not a sign of a failing service', async () => {
    const service = await openService((incoming, outgoing) => {
      incoming.resume()
      if (incoming.url !== '/v2/drip') return void outgoing.end(JSON.stringify({ shipment_id: 'q', price: 1 }))
      const dripping = setInterval(() => outgoing.write('drip'), DRIP_MS)
      outgoing.once('close', () => clearInterval(dripping))
    })
    // On a busy machine, the next drip may be late.
    const env = { ...FIXED, UPSTREAM_CONNECTIONS: '1', UPSTREAM_TIMEOUT_MS: '2000' }
    const gateway = await startGateway({ serviceUrl: service.url, env })
    const quote = () => post(gateway, '/getShippingQuote.php', quoteExample)
    const dripping = await dial(gateway)
    dripping.write(`GET /v2/drip HTTP/1.1\r\n${HEAD}Authorization: ${basic()}\r\n\r\n`)
    await dripping.until(/drip/)

    // Enough calls to open the circuit.
    const waiting = Array.from({ length: 20 }, () => [get(gateway, '/v2/shipments/x'), quote()]).flat()
    for (const { status, headers, json } of await Promise.all(waiting)) {
      expect({ status, later: headers.get('retry-after') }).toEqual({ status: 503, later: '1' })
      expect(json.detail ?? json.Message).toMatch(/no free connection to the service/)
    }
    expect(service.requests).toHaveLength(1)
    dripping.hangUp()
    expect((await quote()).status).toBe(200)
  })

  test('a reply that breaks off also breaks off for the caller, and does not look whole', async () => {
    const service = await openService((_, outgoing) => {
      outgoing.writeHead(200, { 'content-length': '100' })
      outgoing.write('half', () => outgoing.destroy())
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    await expect(get(gateway, '/v2/shipments/x')).rejects.toThrow()
  })

  test('a caller whose connection breaks ends the call at the service', async () => {
    const arrived = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<void>()
    const service = await openService((incoming, outgoing) => {
      incoming.resume()
      outgoing.once('close', gone.resolve)
      arrived.resolve()
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    const wire = await dial(gateway)
    wire.write(`GET /v2/x HTTP/1.1\r\n${HEAD}\r\n`)
    await arrived.promise
    // A caller that closes only its half may still wait for its answer.
    wire.reset()
    await gone.promise
    expect((await get(gateway, '/healthz')).status).toBe(200)
  })

  test('a caller that hangs up while it sends ends the call at the service', async () => {
    const arrived = Promise.withResolvers<void>()
    const gone = Promise.withResolvers<unknown>()
    const service = await openService((incoming) => {
      incoming.once('error', gone.resolve).once('data', () => arrived.resolve())
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    const wire = await dial(gateway)
    wire.write(`POST /v2/x HTTP/1.1\r\n${HEAD}Content-Length: 100000\r\n\r\nhalf`)
    await arrived.promise
    wire.hangUp()
    expect(await gone.promise).toBeInstanceOf(Error)
  })

  test('a caller that hangs up while it reads ends the reply', async () => {
    const gone = Promise.withResolvers<{ readonly finished: boolean }>()
    const service = await openService((_, outgoing) => {
      outgoing.once('close', () => gone.resolve({ finished: outgoing.writableFinished }))
      Readable.from(
        (function* () {
          for (;;) yield Buffer.alloc(65_536, 'x')
        })(),
      ).pipe(outgoing)
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    const wire = await dial(gateway)
    wire.write(`GET /v2/x HTTP/1.1\r\n${HEAD}\r\n`)
    await wire.until(/xxxx/)
    wire.hangUp()
    expect(await gone.promise).toEqual({ finished: false })
  })

  test('an unused body on a connection is read', async () => {
    const gateway = await startGateway({ serviceUrl: 'http://127.0.0.1:1' })
    const wire = await dial(gateway)
    wire.write('POST /v2/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello')
    await wire.until(/ 502 /)
    wire.write(`GET /healthz HTTP/1.1\r\n${HEAD}\r\n`)
    expect(await wire.closed()).toMatch(/HTTP\/1\.1 502 [\s\S]*HTTP\/1\.1 200 OK/)
  })
})

test('a reader that stalls and then leaves leaves no timer', async () => {
  const service = await openService((_, outgoing) => outgoing.end(Buffer.alloc(32 * 1024 * 1024)))
  const readerTimeoutMs = 500_000
  const gateway = await startGateway({ serviceUrl: service.url, timeouts: { replyMs: readerTimeoutMs } })
  const set: NodeJS.Timeout[] = []
  const { setTimeout: original } = globalThis
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms?: number) => {
    const timer = original(work, ms)
    if (ms === readerTimeoutMs) set.push(timer)
    return timer
  }) as typeof setTimeout)
  onTestFinished(() => spy.mockRestore())
  const reader = httpRequest(`${gateway.url}/v2/large`, { headers: { authorization: basic() } }).end()
  await once(reader, 'response')
  // The buffers of both sockets fill up first.
  const isSet = (timer: NodeJS.Timeout | undefined) => timer !== undefined && Reflect.get(timer, '_destroyed') !== true
  await expect.poll(() => isSet(set.at(-1)), { interval: 300 }).toBe(true)
  await new Promise((resolve) => original(resolve, 500))
  expect(isSet(set.at(-1))).toBe(true)
  reader.destroy()
  // A cleared timer keeps nothing in memory.
  await expect.poll(() => set.some(isSet), { timeout: 5_000 }).toBe(false)
})
