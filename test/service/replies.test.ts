/** Promise: replies that are slow, late, compressed or odd are answered as what they are (contract, section 9). */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { atOnce } from '../callers/tenants-gateway.ts'
import { basic, get, OWN, post, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { book, quote } from './calls.ts'

const ID = '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11'
const QUOTED = JSON.stringify({ shipment_id: ID, price: 1234.5 })

/** Opens a gateway before a service that answers each request, once it is read, in a way of its own. */
async function answering(
  answer: (outgoing: ServerResponse, incoming: IncomingMessage) => void,
  env: Readonly<Record<string, string>> = {},
) {
  const service = await openService((incoming, outgoing) => {
    incoming.resume().once('end', () => answer(outgoing, incoming))
  })
  return { service, gateway: await startGateway({ env: { ...OWN, ...env }, serviceUrl: service.url }) }
}

const SHIPMENT = { id: 's-1', number: 'SH1', status: 'new', notes: 'HTTP/1.1 100 Continue', vehicles: [{ id: 'v' }] }
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </x.css>; rel=preload\r\nContent-Type: text/html\r\n\r\n'

// A service may send 100 Continue without being asked: RFC 9110, 15.2, tells clients to ignore it.
// The reply comes byte by byte, too.
test.each([
  [[CONTINUE]],
  [['HTTP/1.1 100', ' Continue\r\nX-A: b\r', '\n\r\n']],
  [['H', `TTP/1.1 100 Continue\r\n\r\n${CONTINUE}`]],
  [[...CONTINUE]],
  [['HTTP/1.1 102 Processing\r\n\r\n', HINTS, 'HTTP/1.1 199 Whatever\r\nContent-Length: 5\r\n\r\n']],
  [[]],
])('a booking, quotes on one connection and a call under /v2/ are answered after %j', async (pieces) => {
  const { gateway, service } = await answering(async (outgoing, { url }) => {
    for (const piece of pieces) {
      outgoing.socket?.write(piece)
      await turn()
    }
    outgoing.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    for (const byte of url === '/v2/quote' ? QUOTED : JSON.stringify(SHIPMENT)) {
      await turn()
      outgoing.write(byte)
    }
    outgoing.end()
  })
  expect((await book(gateway)).json.TransportationBooked).toBe('Yes')
  for (let i = 0; i < 3; i += 1) expect((await quote(gateway)).json.Cost).toBe('1234.50')
  const { headers, json } = await get(gateway, '/v2/shipments/s-1')
  expect([headers.get('link'), headers.get('content-type'), json]).toEqual([null, 'application/json', SHIPMENT])
  expect(service.requests).toHaveLength(5)
})

test.each([
  ['gzip', 200, gzipSync(QUOTED)],
  ['deflate', 200, deflateSync(QUOTED)],
  ['deflate', 200, deflateRawSync(QUOTED)],
  ['Br', 200, brotliCompressSync(QUOTED)],
  ['unknown', 502, gzipSync(QUOTED)],
  ['deflate', 502, deflateSync(QUOTED).subarray(0, 20)],
])('a quote in %s is read if it is what it says: %i', async (coding, status, bytes) => {
  const { gateway } = await answering((outgoing) => outgoing.setHeader('content-encoding', coding).end(bytes))
  const answer = await quote(gateway)
  expect([answer.status, answer.json.Cost]).toEqual([status, status === 200 ? '1234.50' : ''])
})

describe('the deadline', () => {
  const env = { UPSTREAM_TIMEOUT_MS: '1000' }
  /** Sends again and again, until the connection closes. */
  const repeatedly = (outgoing: ServerResponse, send: () => void) => {
    send()
    const timer = setInterval(send, 50)
    outgoing.on('close', () => clearInterval(timer))
  }
  const ask = async (url: string, [method, path]: readonly [string, string]) =>
    (await fetch(url + path, { method, body: method === 'POST' ? '{}' : null })).status

  test('is not prolonged by informational replies, nor by a reply that drips, if all of it is read first', async () => {
    const { gateway } = await answering((outgoing, { method, url }) => {
      const isRead = method === 'DELETE' || url?.endsWith('approve')
      repeatedly(outgoing, () =>
        isRead ? outgoing.write(' ') : outgoing.writeEarlyHints({ link: '</a>; rel=preload' }),
      )
    }, env)
    const calls = [
      ['GET', `/v2/shipments/${ID}`],
      ['POST', '/v2/shipments'],
      ['POST', `/v2/quote/${ID}/approve`],
      ['DELETE', `/v2/shipments/${ID}`],
    ] as const
    expect(await Promise.all(calls.map((call) => ask(gateway.url, call)))).toEqual([504, 504, 504, 504])
  })

  test('is no limit for a reply that is streamed', async () => {
    let chunks = 0
    const { gateway } = await answering((outgoing) => {
      repeatedly(outgoing, () => {
        chunks += 1
        if (chunks < 30) outgoing.write('x')
        else outgoing.end()
      })
    }, env)
    expect((await get(gateway, `/v2/shipments/${ID}`)).text).toBe('x'.repeat(29))
  })
})

describe('connections', () => {
  test('are never shared by two credentials', async () => {
    const used = new Map<object, Set<string>>()
    const service = await openService((incoming, outgoing) => {
      const { socket, headers } = incoming.resume()
      used.set(socket, (used.get(socket) ?? new Set()).add(String(headers.authorization)))
      outgoing.end(QUOTED)
    })
    const gateway = await startGateway({ serviceUrl: service.url })
    for (let round = 0; round < 4; round += 1) {
      const answers = await atOnce(10, (i) => {
        const authorization = basic(`client-${i % 5}`, 'secret')
        return i % 2
          ? post(gateway, '/getShippingQuote.php', quoteExample, { authorization })
          : get(gateway, '/v2/x', { authorization })
      })
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    }
    expect([...used.values()].filter((seen) => seen.size > 1)).toEqual([])
    // They are used again, though.
    expect(used.size).toBeLessThan(service.requests.length)
  })

  test('are at most UPSTREAM_CONNECTIONS for a credential', async () => {
    const held: ServerResponse[] = []
    const { gateway, service } = await answering(
      (outgoing) => {
        held.push(outgoing)
        if (service.requests.length >= 3) for (const one of held.splice(0)) one.end(QUOTED)
      },
      { UPSTREAM_CONNECTIONS: '3' },
    )
    await atOnce(30, (i) => quote(gateway, `N-${i}`))
    expect(service.requests).toHaveLength(30)
    expect(new Set(service.requests.map(({ socket }) => socket)).size).toBe(3)
  })
})
