/** Promise: slow, late, compressed or odd replies are handled correctly (contract, section 9). */

import type { ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { atOnce } from '../callers/tenants-gateway.ts'
import { basic, get, OWN, post } from '../gateway.ts'
import { answering, book, ID, quote } from './calls.ts'

const QUOTED = JSON.stringify({ shipment_id: ID, price: 1234.5 })
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

test('a refusal of a million empty parts is 422', async () => {
  const body = `${'{"message":'.repeat(3)}[${'{},'.repeat(1e6)}{}]}}}`
  const { gateway } = await answering((outgoing) => outgoing.writeHead(422).end(body))
  expect((await quote(gateway)).status).toBe(422)
})

test('the deadline is not prolonged by informational replies, nor by a dripping reply unless it is streamed', async () => {
  let areOver = false
  const { gateway } = await answering(
    (outgoing, { method, url = '' }) => {
      const isRead = method === 'DELETE' || url.endsWith('approve')
      const sendMore = () => {
        if (outgoing.destroyed) return
        if (areOver) return void outgoing.end()
        if (isRead || url.endsWith('streamed')) outgoing.write('x')
        else outgoing.writeEarlyHints({ link: '</a>; rel=preload' })
        setTimeout(sendMore, 50)
      }
      sendMore()
    },
    { env: { ...OWN, UPSTREAM_TIMEOUT_MS: '1000' } },
  )
  const asked = async (method: string, path: string) =>
    (await fetch(`${gateway.url}/v2/${path}`, { method, body: method === 'POST' ? '{}' : null })).status
  const streamed = get(gateway, '/v2/shipments/streamed')
  expect(
    await Promise.all([
      asked('GET', `shipments/${ID}`),
      asked('POST', 'shipments'),
      asked('POST', `quote/${ID}/approve`),
      asked('DELETE', `shipments/${ID}`),
    ]),
  ).toEqual([504, 504, 504, 504])
  areOver = true
  expect((await streamed).text).toMatch(/^x+$/)
})

test('connections are never shared by two credentials, and are reused', async () => {
  const used = new Map<object, Set<unknown>>()
  const { gateway, service } = await answering(
    (outgoing, { socket, headers }) => {
      used.set(socket, (used.get(socket) ?? new Set()).add(headers.authorization))
      outgoing.end(QUOTED)
    },
    { env: {} },
  )
  for (let round = 0; round < 4; round += 1) {
    const answers = await atOnce(10, (i) => {
      const headers = { authorization: basic(`client-${i % 5}`, 'secret') }
      return i % 2 ? post(gateway, '/getShippingQuote.php', quoteExample, headers) : get(gateway, '/v2/x', headers)
    })
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  }
  expect([...used.values()].filter((seen) => seen.size > 1)).toEqual([])
  expect(used.size).toBeLessThan(service.requests.length)
})

test('connections are at most UPSTREAM_CONNECTIONS for a credential', async () => {
  const held: ServerResponse[] = []
  const { gateway, service } = await answering(
    (outgoing) => {
      held.push(outgoing)
      if (service.requests.length >= 3) for (const one of held.splice(0)) one.end(QUOTED)
    },
    { env: { ...OWN, UPSTREAM_CONNECTIONS: '3' } },
  )
  await atOnce(30, (i) => quote(gateway, `N-${i}`))
  expect(service.requests).toHaveLength(30)
  expect(new Set(service.requests.map(({ socket }) => socket)).size).toBe(3)
})
