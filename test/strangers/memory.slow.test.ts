/** Promise: data from strangers take little memory, and never more than there is (contract, section 5). */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test, vi } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { atOnce, book, quote, statuses } from '../callers/tenants-gateway.ts'
import { basic, get, OWN, startGateway, type TestGateway } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { startGatewayProcess } from './gateway-process.ts'
import { connectFrom, held } from './sockets.ts'

/* On a busy machine, garbage collection may be late, so each test is tried twice. */

vi.setConfig({ testTimeout: 60_000 })
const RETRY = { retry: 1 }

const MIB = 1024 ** 2
const HEAD = `HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic()}\r\n`
/** A chunk of one byte costs its sender six, and would cost the gateway 600 if it were kept. */
const CRUMB = '1\r\n \r\n'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

/** The memory of this process, which includes the gateway, without garbage. The second collection frees what the first one finalizes. */
async function megabytes(): Promise<number> {
  gc()
  await new Promise(setImmediate)
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / MIB
}

const CRUMBS = 40_000
const CALLERS = 8
const ROUNDS = 50
/** If the parts were kept as received, JavaScript alone would use 60 MB or more. */
const FEW_MEGABYTES = 20

const crumbs = Buffer.from(CRUMB.repeat(CRUMBS))

/** Sends bodies of single bytes from several addresses. */
async function crumble(gateway: TestGateway, start: string): Promise<void> {
  const strangers = await atOnce(CALLERS, (i) => connectFrom(gateway, `127.0.1.${i + 1}`))
  for (const { write } of strangers) write(`${start} ${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
  for (const { write } of strangers) write(crumbs)
}

test('bodies of single bytes take no more memory than others', RETRY, async () => {
  const gateway = await startGateway()
  const before = await megabytes()
  await crumble(gateway, 'POST /createShipment.php')
  await held(gateway, ({ bodyBytes }) => bodyBytes >= CALLERS * CRUMBS)
  expect((await megabytes()) - before).toBeLessThan(FEW_MEGABYTES)
})

test('nor do they if a body has no meaning, however long the call takes', RETRY, async () => {
  const service = await openHoldingService()
  // The path is known, so no call waits for the first one.
  const env = { ...OWN, V2_SHIPMENT_PATH: '/v2/shipments' }
  const gateway = await startGateway({ env, serviceUrl: service.url })
  const before = await megabytes()
  await crumble(gateway, 'GET /getShipment.php?number=TL-1')
  await service.arrived(CALLERS)
  // Until the system has accepted all of it, or accepts no more.
  for (let i = 0; i < ROUNDS; i += 1) expect((await get(gateway, '/healthz')).status).toBe(200)
  expect((await megabytes()) - before).toBeLessThan(FEW_MEGABYTES)
  service.release({})
})

test(
  'a version-2 body takes the memory of its text while it waits, not thirty times as much for its values',
  RETRY,
  async () => {
    const service = await openHoldingService()
    const gateway = await startGateway({ env: OWN, serviceUrl: service.url })
    const body = `{"pickup":"10314","delivery":"33166","vehicles":[${'{},'.repeat(80_000)}{}]}`
    const before = await megabytes()
    const calls = 16
    for (let i = 0; i < calls; i += 1) {
      const { write } = await connectFrom(gateway, `127.0.1.${i + 1}`)
      write(`POST /getShippingQuote.php ${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
    }
    await service.arrived(calls)
    // Parsed, each is 7 MB.
    expect((await megabytes()) - before).toBeLessThan(FEW_MEGABYTES)
    service.release({ shipment_id: 'q', price: 1 })
  },
)

test('refused credentials of eight kilobytes each leave nothing behind', RETRY, async () => {
  const gateway = await startGateway()
  const long = 'x'.repeat(8_000)
  const flood = async (round: string) => {
    for (let i = 0; i < 6; i += 1) {
      const answers = await atOnce(100, (j) =>
        quote(gateway, { authorization: basic('owner', `wrong ${round} ${i} ${j} ${long}`) }),
      )
      expect(statuses(answers)).toEqual({ 401: 100 })
      gateway.sandbox.requests.length = 0
    }
  }
  await flood('warm')
  const before = await megabytes()
  await flood('hot')
  // If they were remembered, they would take at least twice as much.
  expect((await megabytes()) - before).toBeLessThan(5)
  // They do not displace accepted credentials.
  expect((await book(gateway, 'R-1', {})).status).toBe(200)
  expect(gateway.sandbox.requests.map(({ method }) => method)).toEqual(['POST'])
})

const SOURCES = 50
/** The gateway peaks at 201 to 231 MB. */
const MOST_MEGABYTES = 256

test(
  'two thousand large bodies from fifty addresses take no more memory than the gateway may have',
  RETRY,
  async () => {
    const gateway = await startGatewayProcess({ env: OWN })
    gateway.sandbox.fail({ kind: 'delay', ms: 2_000, times: 'always', on: { method: 'POST' } })
    const body = JSON.stringify({ ...quoteExample, Padding: ' '.repeat(250_000) })
    const head = `POST /getShippingQuote.php HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`
    const answers = await atOnce(2_000, async (i) => {
      const { socket, write, reply } = await connectFrom(gateway, `127.0.0.${2 + (i % SOURCES)}`)
      write(head + body)
      // The rest of a refused body is not read: its connection may end without a reply.
      const { status } = (await reply) ?? { status: 0 }
      socket.destroy()
      return { status }
    })
    const counts = statuses(answers)
    // On a slow machine, a body may take too long to arrive, or a call too long: 408, 504.
    expect(Object.keys(counts).filter((status) => !/^(200|408|429|503|504|0)$/.test(status))).toEqual([])
    expect(counts[200]).toBeGreaterThan(SOURCES)
    expect(gateway.measure().peakMegabytes).toBeLessThan(MOST_MEGABYTES)
  },
)
