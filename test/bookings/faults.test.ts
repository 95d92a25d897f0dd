/** Promise: a fault at any step of a booking books nothing twice and loses nothing (contract, section 7). */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { ClaimState } from '../../src/store/store.ts'
import { freePort } from '../free-port.ts'
import { OWN, startGateway } from '../gateway.ts'
import { type Fault, type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { book, claimOf, creations, expectBooked, expectUnknown, ON_CREATION, shipments } from './desk.ts'

/*
 * Promise: however the service or the way to it fails, a booking ends in the state that its failure proves, the caller and the
 * retry are told so, and there are never two shipments (contract, section 7; the bodies of replies are in test/doubt/replies.test.ts).
 */

/** For faults that are told by the clock alone. */
const SHORT_MS = 500
const SHORT = { UPSTREAM_TIMEOUT_MS: `${SHORT_MS}` }
const PAGE = '<!doctype html><title>Bad gateway</title><h1>Bad gateway</h1>'

/** The state, the status of the answer, and the number of shipments that the service made. */
interface Expected {
  readonly state: ClaimState
  readonly status: number
  readonly made: 0 | 1
}

const unknown = (made: 0 | 1): Expected => ({ state: 'unknown', status: 503, made })
const refused = (status: number): Expected => ({ state: 'refused', status, made: 0 })
const booked: Expected = { state: 'booked', status: 200, made: 1 }

type StandIn = [what: string, fault: Fault, expected: Expected, short?: 'short']

const on = <K extends Fault['kind']>(kind: K) => ({ kind, on: ON_CREATION }) as const
const answered = (status: number, more: object = {}): Fault => ({ kind: 'status', status, on: ON_CREATION, ...more })
const standIn: readonly StandIn[] = [
  ['resets before the body', on('reset-before'), unknown(0)],
  ['resets after the booking', on('reset-after'), unknown(1)],
  ['resets in the middle of the reply', on('reset-mid-body'), unknown(1)],
  ['books and never answers', on('timeout'), unknown(1), 'short'],
  ['neither books nor answers', on('timeout-unprocessed'), unknown(0), 'short'],
  ['sends the reply one byte at a time', { kind: 'drip', ms: 50, on: ON_CREATION }, unknown(1), 'short'],
  ['answers late, and in time', { kind: 'delay', ms: 100, on: ON_CREATION }, booked],
  ['books and answers 500', answered(500, { process: true }), unknown(1)],
  ['books and answers 504', answered(504, { process: true, body: PAGE }), unknown(1)],
  ['answers 503 with a page', answered(503, { body: PAGE, headers: { 'retry-after': '7' } }), refused(503)],
  ['answers 429', answered(429, { headers: { 'retry-after': '7' } }), refused(429)],
  ['answers 402 with nothing', answered(402, { body: '' }), refused(402)],
  ['answers 404 under both spellings', answered(404, { times: 2 }), refused(502)],
  ['answers 422 with a page', answered(422, { body: PAGE }), refused(422)],
  ['books and answers 303', answered(303, { process: true, headers: { location: '/v2/shipments/1' } }), unknown(1)],
  ['answers 307 to another host', answered(307, { headers: { location: 'http://192.0.2.1/' } }), unknown(0)],
  ['announces more than it sends', on('wrong-length'), unknown(1)],
  ['announces less than it sends', { kind: 'wrong-length', by: -10, on: ON_CREATION }, unknown(1)],
  ['compresses the reply', on('gzip'), booked],
  ['deflates the reply without its wrapper', on('raw-deflate'), booked],
  ['sends a bomb', { kind: 'gzip', megabytes: 64, on: ON_CREATION }, unknown(1)],
  ['sends a reply without end', { kind: 'huge', megabytes: 16, on: ON_CREATION }, unknown(1)],
  ['says 100 Continue twice', on('continue-twice'), booked],
  ['answers in Latin-1', on('latin1'), booked],
  ['closes at once', { kind: 'close-on-accept' }, unknown(0)],
]

test.each(standIn)('the service %s', async (...[, fault, expected, short]: StandIn) => {
  const gateway = await startGateway({ env: short ? SHORT : {} })
  gateway.sandbox.fail(fault)
  await expectEnd(gateway, expected)
})

/** Answers the first request with bytes, as if it had booked; what comes later goes to the stand-in. */
type Raw = [what: string, reply: (socket: Socket) => void, expected: Expected, short?: 'short']

const MADE = '{"id":"6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11","number":"TL-1"}'
const says =
  (...parts: readonly string[]) =>
  (socket: Socket) =>
    void socket.end(parts.join('\r\n'))
const length = (text: string) => `Content-Length: ${Buffer.byteLength(text)}`

const raw: readonly Raw[] = [
  ['speaks another protocol', says('SSH-2.0-OpenSSH_9.9', ''), unknown(1)],
  ['ends within the status line', says('HTTP/1.1 20'), unknown(1)],
  ['ends within the headers', says('HTTP/1.1 201 Created', 'Content-Ty'), unknown(1)],
  [
    'falls silent within the headers',
    (socket) => void socket.write('HTTP/1.1 201 Created\r\nContent-Ty'),
    unknown(1),
    'short',
  ],
  [
    'falls silent within the body',
    (socket) => void socket.write(`HTTP/1.1 201 Created\r\nContent-Length: 99\r\n\r\n{"id"`),
    unknown(1),
    'short',
  ],
  ['closes without a word', (socket) => void socket.end(), unknown(1)],
  ['gives two lengths', says('HTTP/1.1 201 Created', length(MADE), 'Content-Length: 3', '', MADE), unknown(1)],
  ['gives a length that is no number', says('HTTP/1.1 201 Created', 'Content-Length: some', '', MADE), unknown(1)],
  [
    'breaks a chunk',
    says('HTTP/1.1 201 Created', 'Transfer-Encoding: chunked', '', 'zz', MADE, '0', '', ''),
    unknown(1),
  ],
  [
    'leaves out the last chunk',
    says('HTTP/1.1 201 Created', 'Transfer-Encoding: chunked', '', MADE.length.toString(16), MADE, ''),
    unknown(1),
  ],
  [
    'sends chunks',
    says('HTTP/1.1 201 Created', 'Transfer-Encoding: chunked', '', MADE.length.toString(16), MADE, '0', '', ''),
    booked,
  ],
  [
    'hints before it answers',
    says('HTTP/1.1 103 Early Hints', 'Link: </a>', '', 'HTTP/1.1 201 Created', length(MADE), '', MADE),
    booked,
  ],
  [
    'answers twice',
    says('HTTP/1.1 201 Created', length(MADE), '', `${MADE}HTTP/1.1 500 Oops`, 'Content-Length: 0', '', ''),
    booked,
  ],
  ['answers in HTTP/1.0 without a length', says('HTTP/1.0 201 Created', '', MADE), booked],
  [
    'calls plain text compressed',
    says('HTTP/1.1 201 Created', 'Content-Encoding: gzip', length(MADE), '', MADE),
    booked,
  ],
  [
    'calls noise compressed',
    says('HTTP/1.1 201 Created', 'Content-Encoding: gzip', 'Content-Length: 4', '', '\x1f\x8bxx'),
    unknown(1),
  ],
  [
    'changes the protocol',
    says('HTTP/1.1 101 Switching Protocols', 'Upgrade: tea', 'Connection: upgrade', '', ''),
    unknown(1),
  ],
]

test.each(raw)('a service of bytes %s', async (...[, reply, expected, short]: Raw) => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  let first = true
  const url = await listenRaw((socket) => {
    if (!first) {
      const onward = connect(Number(new URL(sandbox.url).port), '127.0.0.1')
      return void socket.pipe(onward.on('error', () => socket.destroy())).pipe(socket)
    }
    first = false
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
      const [head = '', body = ''] = text.split('\r\n\r\n')
      if (Buffer.byteLength(body) === Number(/content-length: (\d+)/i.exec(head)?.[1])) reply(socket)
    })
  })
  const gateway = await startGateway({ serviceUrl: url, env: { ...OWN, ...(short && SHORT) } })
  await expectEnd({ ...gateway, sandbox }, { ...expected, made: 0 })
  expect(creations({ sandbox })).toBe(0)
})

test('the service refuses before it has read the booking', async () => {
  const url = await listenRaw((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'))
  })
  const gateway = await startGateway({ serviceUrl: url, env: OWN })
  const answer = await book(gateway)
  expect(answer.status).toBe(413)
  expect((await claimOf(gateway)).state).toBe('refused')
})

/** Nothing can have been sent: the key is free, and the caller is told so. */
const unsent: readonly (readonly [what: string, address: () => Promise<string>])[] = [
  ['whose port is closed', async () => `http://127.0.0.1:${await freePort()}`],
  ['whose name is not known', async () => 'http://service.invalid'],
  ['whose backlog is full', fullBacklog],
  [
    'that should speak TLS and does not',
    () => listenRaw((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), 'https'),
  ],
  ['that closes the TLS handshake', () => listenRaw((socket) => socket.destroy(), 'https')],
  ['that never answers the TLS handshake', () => listenRaw(() => {}, 'https')],
]

test.each(unsent)('a service %s', async (_, address) => {
  const gateway = await startGateway({ serviceUrl: await address(), env: { ...OWN, ...SHORT } })
  for (let tries = 0; tries < 2; tries += 1) {
    const { status, json } = await book(gateway)
    expect({ status, ...json }).toEqual({
      status: 502,
      Message: expect.stringContaining('nothing was sent'),
      TransportationBooked: 'No',
    })
    const claim = await claimOf(gateway)
    expect(claim.state).toBe('freed')
    expect((await gateway.store.audit(claim.handle)).at(-1)).toMatchObject({ to: 'freed', why: 'never sent' })
  }
})

/** Books, checks the outcome, and books again. */
async function expectEnd(
  gateway: Awaited<ReturnType<typeof startGateway>> & { readonly sandbox: Sandbox },
  { state, status, made }: Expected,
): Promise<void> {
  const first = await book(gateway)
  expect(first.status).toBe(status)
  expect(first.json.TransportationBooked).toBe({ unknown: 'Unknown', booked: 'Yes' }[String(state)] ?? 'No')
  expect((await claimOf(gateway)).state).toBe(state)
  await gateway.sandbox.idle()
  expect(shipments(gateway)).toHaveLength(made)
  const sent = creations(gateway)

  gateway.sandbox.clearFaults()
  const retry = await book(gateway)
  if (state === 'unknown') expect(expectUnknown(retry)).toBe(expectUnknown(first))
  else if (state === 'booked') expect(expectBooked(retry, true)).toBe(expectBooked(first))
  else expectBooked(retry)
  const sendsAgain = state === 'refused'
  expect(creations(gateway)).toBe(sendsAgain ? sent + 1 : sent)
  expect(shipments(gateway).length).toBe(sendsAgain ? 1 : made)
}

/** A server that answers with bytes, on a free port. */
async function listenRaw(serve: (socket: Socket) => void, scheme = 'http'): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket))
    serve(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  // A server that listens on a port has an address with a port.
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** An address where a connection is neither made nor refused. */
async function fullBacklog(): Promise<string> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'full-backlog-child.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said] = await once(child.stdout, 'data')
  const port = Number(said)
  child.kill('SIGSTOP')
  const fillers: Socket[] = []
  onTestFinished(async () => {
    for (const socket of fillers) socket.destroy()
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  })
  // The system accepts a few for the stopped process; the first that is not accepted shows that there is no more room.
  for (;;) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    fillers.push(socket)
    const accepted = await Promise.race([
      once(socket, 'connect').then(() => true),
      new Promise<boolean>((resolve) => setTimeout(resolve, SHORT_MS, false)),
    ])
    if (!accepted) return `http://127.0.0.1:${port}`
  }
}
