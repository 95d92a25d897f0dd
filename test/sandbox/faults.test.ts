import { gunzipSync, inflateRawSync } from 'node:zlib'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Fault, type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { booking, call, DEMO, raw } from './client.ts'

let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await startSandbox()
})
beforeEach(() => sandbox.clear())
afterAll(() => sandbox.close())

const book = () => call(sandbox, 'POST', '/v2/shipments', booking())

function rawBooking(extra = ''): string {
  const body = JSON.stringify(booking())
  return `POST /v2/shipments HTTP/1.1\r\nHost: x\r\nAuthorization: ${DEMO}\r\nContent-Length: ${body.length}\r\n${extra}\r\n${body}`
}

/** One call over a new connection, with the error's code if it fails. */
async function attempt(): Promise<{ status?: number; bytes?: Buffer; code?: string }> {
  const agent = new Agent()
  try {
    const { statusCode, body } = await request(`${sandbox.url}/v2/shipments`, {
      method: 'POST',
      headers: { authorization: DEMO },
      body: JSON.stringify(booking()),
      dispatcher: agent,
    })
    return { status: statusCode, bytes: Buffer.from(await body.arrayBuffer()) }
  } catch (error) {
    return { code: String(Object(error).code) }
  } finally {
    await agent.destroy()
  }
}

describe('which requests a fault meets', () => {
  test('the next one, once, by default', async () => {
    sandbox.fail({ kind: 'status', status: 500 })
    expect((await book()).status).toBe(500)
    expect((await book()).status).toBe(201)
    expect(sandbox.requests).toHaveLength(2)
  })

  test('so many of them, in the order of the queue', async () => {
    sandbox.fail({ kind: 'status', status: 500, times: 2 }, { kind: 'status', status: 503 })
    const statuses = [await book(), await book(), await book(), await book()].map(({ status }) => status)
    expect(statuses).toEqual([500, 500, 503, 201])
  })

  test('all of them until they are dropped', async () => {
    sandbox.fail({ kind: 'status', status: 500, times: Number.POSITIVE_INFINITY })
    for (let count = 0; count < 5; count += 1) expect((await book()).status).toBe(500)
    sandbox.clearFaults()
    expect((await book()).status).toBe(201)
  })

  test('those of a method and a path: exact, a prefix or an expression', async () => {
    sandbox.fail(
      { kind: 'status', status: 501, on: { method: 'get', path: '/v2/shipments/*' } },
      { kind: 'status', status: 502, on: { path: '/v2/quote' } },
      { kind: 'status', status: 503, on: { path: /\/approve$/g } },
    )
    expect((await book()).status).toBe(201)
    expect((await call(sandbox, 'POST', '/v2/quote/x/approve', {})).status).toBe(503)
    expect((await call(sandbox, 'GET', '/v2/quote?pickup=10314')).status).toBe(502)
    expect((await call(sandbox, 'DELETE', '/v2/shipments/x')).status).toBe(404)
    expect((await call(sandbox, 'GET', '/v2/shipments/x')).status).toBe(501)
  })
})

describe('answers of another status', () => {
  test('do not carry the request out by default', async () => {
    sandbox.fail({ kind: 'status', status: 500 }, { kind: 'status', status: 500, process: true })
    expect((await book()).text).toBe('{"error":{"code":"fault","message":"A fault of status 500"}}')
    expect(sandbox.shipments.size).toBe(0)
    expect((await book()).status).toBe(500)
    expect(sandbox.shipments.size).toBe(1)
  })

  test('return the given headers and body', async () => {
    sandbox.fail(
      { kind: 'status', status: 503, headers: { 'retry-after': '7' }, body: { message: 'later' } },
      { kind: 'status', status: 302, headers: { location: 'http://elsewhere.example.com/' }, body: '' },
      { kind: 'status', status: 502, body: '<html>Bad Gateway</html>' },
      { kind: 'status', status: 429, body: 'slow down', headers: { 'content-type': 'text/weird' } },
    )
    const busy = await book()
    expect([busy.headers.get('retry-after'), busy.json]).toEqual(['7', { message: 'later' }])
    const moved = await book()
    expect([moved.status, moved.headers.get('location'), moved.headers.get('sandbox')]).toEqual([
      302,
      'http://elsewhere.example.com/',
      'true',
    ])
    const page = await book()
    expect([page.headers.get('content-type'), page.text]).toEqual([
      'text/html; charset=utf-8',
      '<html>Bad Gateway</html>',
    ])
    expect((await book()).headers.get('content-type')).toBe('text/weird')
  })
})

describe('connections that break', () => {
  const cases: [Fault['kind'], number][] = [
    ['reset-before', 0],
    ['reset-after', 1],
  ]
  test.each(cases)('%s resets, with %i shipments made', async (kind, made) => {
    sandbox.fail({ kind } as Fault)
    expect(await raw(sandbox, rawBooking())).toEqual({ text: '', error: 'ECONNRESET' })
    expect([sandbox.shipments.size, sandbox.requests.length]).toEqual([made, 1])
    await sandbox.idle()
  })

  test('reset-before does not wait for the body', async () => {
    sandbox.fail({ kind: 'reset-before' })
    const head = 'POST /v2/shipments HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n'
    expect((await raw(sandbox, head)).error).toBe('ECONNRESET')
    expect(sandbox.requests).toMatchObject([{ method: 'POST', path: '/v2/shipments', body: '' }])
  })

  test('close-on-accept closes before a request is read', async () => {
    sandbox.fail({ kind: 'close-on-accept', times: 2 })
    expect((await attempt()).code).toMatch(/UND_ERR_SOCKET|ECONNRESET|EPIPE/)
    expect((await raw(sandbox, '')).text).toBe('')
    expect(sandbox.requests).toHaveLength(0)
    expect((await attempt()).status).toBe(201)
  })

  test('reset-mid-body ends inside a body of stated length', async () => {
    sandbox.fail({ kind: 'reset-mid-body' }, { kind: 'reset-mid-body' })
    expect((await attempt()).code).toBe('UND_ERR_SOCKET')
    const { text } = await raw(sandbox, rawBooking())
    const [head = '', body = ''] = text.split('\r\n\r\n')
    expect(head).toContain('HTTP/1.1 201')
    expect(body.length).toBe(Math.floor(Number(/content-length: (\d+)/i.exec(head)?.[1]) / 2))
    expect(sandbox.shipments.size).toBe(2)
  })

  test('half-json ends orderly, without a length, and looks whole', async () => {
    sandbox.fail({ kind: 'half-json' }, { kind: 'half-json' })
    const { text } = await raw(sandbox, rawBooking())
    expect(text).not.toMatch(/content-length|transfer-encoding/i)
    const { status, bytes = '' } = await attempt()
    expect(status).toBe(201)
    expect(bytes.toString()).toMatch(/^\{"id":/)
    expect(() => JSON.parse(bytes.toString())).toThrow()
  })

  test('wrong-length promises too much, or too little', async () => {
    sandbox.fail({ kind: 'wrong-length' }, { kind: 'wrong-length', by: -20 })
    expect((await attempt()).code).toBe('UND_ERR_SOCKET')
    const { text } = await raw(sandbox, rawBooking(), (text) => text.endsWith('}'))
    const [head = '', body = ''] = text.split('\r\n\r\n')
    expect(Number(/content-length: (\d+)/i.exec(head)?.[1])).toBe(body.length - 20)
  })
})

describe('answers that are late or never come', () => {
  test('timeout does the work and stays silent', async () => {
    sandbox.fail({ kind: 'timeout' })
    const hangUp = new AbortController()
    const coming = sandbox.next()
    const answer = fetch(`${sandbox.url}/v2/shipments`, {
      method: 'POST',
      headers: { authorization: DEMO },
      body: JSON.stringify(booking()),
      signal: hangUp.signal,
    })
    await coming
    expect(sandbox.shipments.size).toBe(1)
    await sandbox.idle()
    hangUp.abort()
    await expect(answer).rejects.toThrow('aborted')
  })

  test('timeout-unprocessed does nothing and stays silent, and closing ends it', async () => {
    const other = await startSandbox()
    other.fail({ kind: 'timeout-unprocessed' })
    const coming = other.next()
    const answer = call(other, 'POST', '/v2/shipments', booking())
    await coming
    expect(other.shipments.size).toBe(0)
    await Promise.all([other.close(), expect(answer).rejects.toThrow('fetch failed')])
  })

  test('delay works at once and answers later', async () => {
    sandbox.fail({ kind: 'delay', ms: 300 })
    const coming = sandbox.next()
    const delayed = book()
    await coming
    expect(sandbox.shipments.size).toBe(1)
    expect(await Promise.race([delayed.then(() => 'delayed'), book().then(() => 'sent later')])).toBe('sent later')
    expect((await delayed).status).toBe(201)
  })

  test('closing does not wait for a delayed answer', async () => {
    const other = await startSandbox()
    other.fail({ kind: 'delay', ms: 600_000 }, { kind: 'drip', ms: 600_000 })
    const first = other.next()
    const delayed = call(other, 'POST', '/v2/shipments', booking())
    await first
    const second = other.next()
    const dripping = call(other, 'POST', '/v2/shipments', booking())
    await second
    await Promise.all([other.close(), expect(delayed).rejects.toThrow(), expect(dripping).rejects.toThrow()])
  })

  test('drip sends a byte at a time', async () => {
    sandbox.fail({ kind: 'drip', ms: 0 })
    const response = await fetch(`${sandbox.url}/v2/quote?pickup=10314&delivery=33166`, {
      headers: { authorization: DEMO },
    })
    let text = ''
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString()
    expect(JSON.parse(text)).toHaveProperty('price')
  })

  test('drip stops when the caller hangs up', async () => {
    const patient = await startSandbox()
    for (const each of [sandbox, patient]) each.fail({ kind: 'drip', ms: 5 })
    const whole = call(patient, 'POST', '/v2/shipments', booking())
    await raw(sandbox, rawBooking(), (text) => text.includes('\r\n\r\n{'))
    // A reply of the same length, which is read to its end, takes longer.
    const first = await Promise.race([sandbox.idle().then(() => 'stopped'), whole.then(() => 'sent all of it')])
    expect(first).toBe('stopped')
    await Promise.all([patient.close(), expect(whole).rejects.toThrow()])
  })
})

describe('answers with something wrong in them', () => {
  test('no-id has everything but the ids', async () => {
    sandbox.fail({ kind: 'no-id', times: 2 })
    const { status, json } = await book()
    expect([status, json['id'], json['number']]).toEqual([201, undefined, 'TL-100001'])
    const quote = await call(sandbox, 'GET', '/v2/quote?pickup=10314&delivery=33166')
    expect(Object.keys(quote.json)).toEqual(['price'])
  })

  test('empty and not-json have the right status only', async () => {
    sandbox.fail({ kind: 'empty' }, { kind: 'not-json' })
    expect(await book()).toMatchObject({ status: 201, text: '' })
    const page = await book()
    expect([page.status, page.text]).toEqual([201, expect.stringContaining('<h1>')])
    expect(sandbox.shipments.size).toBe(2)
  })

  test('gzip compresses unasked, and may inflate to a large body', async () => {
    sandbox.fail({ kind: 'gzip' }, { kind: 'gzip', megabytes: 5 })
    const { bytes = Buffer.of() } = await attempt()
    expect(JSON.parse(gunzipSync(bytes).toString())).toHaveProperty('number', 'TL-100001')
    const bomb = (await attempt()).bytes ?? Buffer.of()
    expect(bomb.length).toBeLessThan(100_000)
    expect(gunzipSync(bomb).length).toBeGreaterThan(5 * 1024 * 1024)
  })

  test('raw deflate is deflate without its wrapper', async () => {
    sandbox.fail({ kind: 'raw-deflate' })
    const { bytes = Buffer.of() } = await attempt()
    expect(JSON.parse(inflateRawSync(bytes).toString())).toHaveProperty('number', 'TL-100001')
  })

  test('a body is any text, after everything is done', async () => {
    sandbox.fail({ kind: 'body', body: '[]' }, { kind: 'body', body: '{"success":false}' }, { kind: 'body', body: '' })
    const texts = [await book(), await book(), await book()].map(({ status, text }) => [status, text])
    expect(texts).toEqual([
      [201, '[]'],
      [201, '{"success":false}'],
      [201, ''],
    ])
    expect(sandbox.shipments.size).toBe(3)
  })

  test('strange strings end in control characters and half a character; ids do not', async () => {
    sandbox.fail({ kind: 'strange-strings' })
    const { json, text } = await book()
    expect(sandbox.shipments.has(String(json['id']))).toBe(true)
    expect(json['number']).toBe('TL-100001\r\n\x1b[31m\u2028\u202e\0\ud83d')
    expect(text).toContain('\\ud83d')
  })

  test('deep is one more member, nested so many levels', async () => {
    sandbox.fail({ kind: 'deep', levels: 20_000 })
    const { text } = await book()
    expect(JSON.parse(text)).toHaveProperty('number', 'TL-100001')
    expect(text).toContain(`"deep":${'['.repeat(20_000)}]`)
  })

  test('huge is true JSON of that size', async () => {
    sandbox.fail({ kind: 'huge', megabytes: 2.5 })
    const { bytes = Buffer.of() } = await attempt()
    expect(bytes.length).toBeGreaterThan(2.5 * 1024 * 1024)
    expect(JSON.parse(bytes.toString())).toHaveProperty('number', 'TL-100001')
  })

  test('huge stops when the caller hangs up', async () => {
    sandbox.fail({ kind: 'huge', megabytes: 1000 })
    const { text } = await raw(sandbox, rawBooking(), (text) => text.length > 10_000)
    expect(Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Number.POSITIVE_INFINITY)).toBeGreaterThan(text.length)
    await expect(sandbox.idle()).resolves.toBeUndefined()
  })

  test('latin1 is no UTF-8', async () => {
    sandbox.fail({ kind: 'latin1' })
    const { bytes = Buffer.of() } = await attempt()
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).toThrow()
    expect(JSON.parse(bytes.toString('latin1'))).toHaveProperty('note', 'Déjà reçu à Orléans')
  })

  test.each(['', 'Expect: 100-continue\r\n'])('continue-twice goes before the answer (%j)', async (expectation) => {
    sandbox.fail({ kind: 'continue-twice' })
    const { text } = await raw(sandbox, rawBooking(expectation), (text) => text.endsWith('}'))
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 100', 'HTTP/1.1 201'])
  })
})
