/** Promise: calls follow a service whose name leads elsewhere (contract, section 1). */

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, LookupFunction, Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createUpstream } from '../../src/service/upstream.ts'
import { OTHER_LOOPBACK } from '../gateway.ts'

const ANY_MS = 10_000
const AGE_MS = 200
const CONNECTIONS = 4
const OLD = '127.0.0.1'
const NEW = OTHER_LOOPBACK

/** Opens a service that answers with its address, on a free port if none is given; tells when its connections are gone. */
async function openAt(address: string, port = 0) {
  const open = new Set<Socket>()
  const gone = Promise.withResolvers<void>()
  const server = createServer({ keepAliveTimeout: 0 }, (_incoming, outgoing) => outgoing.end(address))
  server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      if (open.size === 0) gone.resolve()
    })
  })
  server.listen(port, address)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  // A server that listens on a port has an address with a port.
  return { port: (server.address() as AddressInfo).port, gone: gone.promise }
}

test.each([
  ['now and then', 1],
  ['as much as the connections take', CONNECTIONS],
  ['more than the connections take', 4 * CONNECTIONS],
])('a name that means another address is followed by calls that come %s', async (_what, callers) => {
  const { port, gone } = await openAt(OLD)
  await openAt(NEW, port)
  let address = OLD
  const lookup: LookupFunction = (_name, { all }, done) => {
    const family = address.includes(':') ? 6 : 4
    if (all) done(null, [{ address, family }])
    else done(null, address, family)
  }
  const upstream = createUpstream({ connections: CONNECTIONS, timeoutMs: ANY_MS, connectionAgeMs: AGE_MS, lookup })
  onTestFinished(() => upstream.close())
  const ask = async () => {
    const deadline = performance.now() + ANY_MS
    const origin = `http://service.example:${port}`
    const request = { method: 'GET', origin, path: '/', headers: {}, body: undefined, pool: 'one', deadline } as const
    return String((await upstream.call(request)).body)
  }

  // The callers never pause, so the connections are never idle: they end because of their age.
  let answers = 0
  let followed = false
  void gone.then(() => {
    followed = true
  })
  const caller = async (): Promise<string> => {
    while (!followed) {
      await ask()
      answers += 1
      if (answers === callers * 20) address = NEW
    }
    return ask()
  }
  const last = await Promise.all(Array.from({ length: callers }, caller))
  expect(last).toEqual(last.map(() => NEW))
})
