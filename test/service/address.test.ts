import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createUpstream } from '../../src/service/upstream.ts'
import { OTHER_LOOPBACK } from '../gateway.ts'

const ANY_MS = 10_000
const AGE_MS = 200
const CONNECTIONS = 4
const OLD = '127.0.0.1'
const NEW = OTHER_LOOPBACK

/** A service at an address, which says where it is; a free port where none is given. */
async function openAt(address: string, port = 0) {
  const server = createServer({ keepAliveTimeout: 0 }, (_incoming, outgoing) => outgoing.end(address))
  server.listen(port, address)
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  // A server that listens on a port has an address with a port.
  return (server.address() as AddressInfo).port
}

test.each([
  ['now and then', 1],
  ['as much as the connections take', CONNECTIONS],
  ['more than the connections take', 4 * CONNECTIONS],
])('a name that means another address is followed by calls that come %s', async (_what, callers) => {
  const port = await openAt(OLD)
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

  // Nobody pauses: the connections are never idle.
  let answers = 0
  const caller = async (): Promise<number> => {
    while ((await ask()) === OLD) {
      answers += 1
      if (answers === callers * 20) address = NEW
    }
    const from = performance.now()
    // From then on nobody is asked but the new one, as soon as every old connection has come of age.
    let last = from
    while (performance.now() < from + 3 * AGE_MS) if ((await ask()) === OLD) last = performance.now()
    return last - from
  }
  const lateness = await Promise.all(Array.from({ length: callers }, caller))
  expect(Math.max(...lateness)).toBeLessThan(2 * AGE_MS)
})
