/** Promise: a fault at any step of a booking books nothing twice and loses nothing (contract, section 7). */

import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../free-port.ts'
import { OWN, startGateway } from '../gateway.ts'
import { openService } from '../http/service.ts'
import { book, claimOf, expectBooked, expectUnknown } from './desk.ts'
import { play, storiesIn } from './stories.ts'

/* A booking ends in the state that its failure proves; statuses and bodies are in test/doubt/replies.test.ts. */

/** For faults that only a timeout reveals. */
const SHORT = { UPSTREAM_TIMEOUT_MS: '500' }

/** A booking that was made, one whose outcome is not known, or the status of one that was refused. */
type End = 'booked' | 'unknown' | number

test.each(storiesIn(import.meta.dirname, 'faults.txt'))('%s', (_, steps) => play(steps))

const MADE = '{"id":"6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11","number":"TL-1"}'
const LENGTH = `Content-Length: ${MADE.length}`
const CHUNKED = `HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n${MADE.length.toString(16)}\r\n${MADE}\r\n`
const GZIP = 'HTTP/1.1 201 Created\r\nContent-Encoding: gzip\r\n'

/** Bytes after which the service closes the connection. */
test.each<[end: End, bytes: string]>([
  ['unknown', ''],
  ['unknown', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['unknown', 'HTTP/1.1 201 Created\r\nContent-Ty'],
  ['unknown', CHUNKED],
  ['booked', `${CHUNKED}0\r\n\r\n`],
  ['booked', `HTTP/1.1 201 Created\r\n${LENGTH}\r\n\r\n${MADE}HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n`],
  ['booked', `HTTP/1.0 201 Created\r\n\r\n${MADE}`],
  ['booked', `${GZIP}${LENGTH}\r\n\r\n${MADE}`],
  ['unknown', `${GZIP}Content-Length: 4\r\n\r\n\x1f\x8bxx`],
  ['unknown', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: tea\r\nConnection: upgrade\r\n\r\n'],
  // The service answers before it has read the booking.
  [413, 'HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'],
])('%s: a service that answers %j', async (end, bytes) => {
  const { url, requests } = await openService((incoming, { socket }) => {
    if (end === 413) return void socket?.end(bytes)
    incoming.resume().on('end', () => socket?.end(bytes))
  })
  const gateway = await startGateway({ serviceUrl: url, env: OWN })
  await expectEnd(gateway, end)
  if (end === 413) return
  await expectRetry(gateway, end)
  expect(requests).toHaveLength(1)
})

/** Nothing can have been sent: the key is free, and the answer says so. */
test.each([
  ['whose port is closed', async () => `http://127.0.0.1:${await freePort()}`],
  ['whose name is not known', async () => 'http://service.invalid'],
  ['that never answers the TLS handshake', listenSilently],
])('a service %s', async (_, address) => {
  const gateway = await startGateway({ serviceUrl: await address(), env: { ...OWN, ...SHORT } })
  for (let tries = 0; tries < 2; tries += 1) {
    const { status, json } = await book(gateway)
    expect({ status, ...json }).toEqual({
      status: 502,
      Message: expect.stringContaining('nothing was sent'),
      TransportationBooked: 'No',
    })
    const claim = await claimOf(gateway)
    expect((await gateway.store.audit(claim.handle)).at(-1)).toMatchObject({ to: 'freed', why: 'never sent' })
  }
})

type Gateway = Awaited<ReturnType<typeof startGateway>>

/** Books, and checks the outcome. */
async function expectEnd(gateway: Gateway, end: End): Promise<void> {
  const first = await book(gateway)
  if (end === 'unknown') expectUnknown(first)
  else if (end === 'booked') expectBooked(first)
  else expect([first.status, first.json.TransportationBooked]).toEqual([end, 'No'])
  expect((await claimOf(gateway)).state).toBe(typeof end === 'number' ? 'refused' : end)
}

/** Books again: a booking that may have been made is not sent. */
async function expectRetry(gateway: Gateway, end: End): Promise<void> {
  const { shipment, handle } = await claimOf(gateway)
  const retry = await book(gateway)
  if (end === 'unknown') expect(expectUnknown(retry)).toBe(handle)
  else if (end === 'booked') expect(expectBooked(retry, true)).toBe(shipment)
  else expectBooked(retry)
}

/** A server that says nothing, on a free port. */
async function listenSilently(): Promise<string> {
  const sockets = new Set<Socket>()
  const port = await freePort()
  const server = createServer((socket) => void sockets.add(socket.on('error', () => {}))).listen(port, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `https://127.0.0.1:${port}`
}
