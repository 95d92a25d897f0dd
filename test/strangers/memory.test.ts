import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, get, OWN, startGateway } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { connectFrom, held, heldBy } from './sockets.ts'

const MIB = 1024 ** 2
const HEAD = `HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic()}\r\n`
/** A chunk of one byte costs its sender six, and would cost the gateway 600 if it were kept. */
const CRUMB = '1\r\n \r\n'

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

/** The memory of this process, which includes the gateway, after a full garbage collection. */
function megabytes(): number {
  gc()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return (heapUsed + arrayBuffers) / MIB
}

const CRUMBS = 40_000
const CALLERS = 8
const ROUNDS = 50
/** If the parts were kept as they came, it would be 60 MB or more of JavaScript alone. */
const FEW_MEGABYTES = 20

test('bodies of single bytes take no more memory than others', async () => {
  const gateway = await startGateway()
  const strangers = await Promise.all(
    Array.from({ length: CALLERS }, (_, i) => connectFrom(gateway, `127.0.1.${i + 1}`)),
  )
  const crumbs = Buffer.from(CRUMB.repeat(CRUMBS))
  const before = megabytes()
  for (const { write } of strangers) write(`POST /createShipment.php ${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
  for (const { write } of strangers) write(crumbs)
  await held(gateway, ({ bodyBytes }) => bodyBytes >= CALLERS * CRUMBS)
  expect(megabytes() - before).toBeLessThan(FEW_MEGABYTES)
})

test('nor do they where a body means nothing, as long as the call takes', async () => {
  const service = await openHoldingService()
  // The spelling is known, so no call waits for the first one.
  const env = { ...OWN, V2_SHIPMENT_PATH: '/v2/shipments' }
  const gateway = await startGateway({ env, serviceUrl: service.url })
  const strangers = await Promise.all(
    Array.from({ length: CALLERS }, (_, i) => connectFrom(gateway, `127.0.1.${i + 1}`)),
  )
  const crumbs = Buffer.from(CRUMB.repeat(CRUMBS))
  const before = megabytes()
  for (const { write } of strangers) {
    write(`GET /getShipment.php?number=TL-1 ${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
    write(crumbs)
  }
  await service.arrived(CALLERS)
  // Until the system has accepted all of it, or accepts no more.
  for (let i = 0; i < ROUNDS; i += 1) expect((await get(gateway, '/healthz')).status).toBe(200)
  expect(megabytes() - before).toBeLessThan(FEW_MEGABYTES)
  service.release({})
})

test('a version-2 body takes its text while it waits, and not the thirtyfold that it stands for', async () => {
  const service = await openHoldingService()
  const gateway = await startGateway({ env: OWN, serviceUrl: service.url })
  const body = `{"pickup":"10314","delivery":"33166","vehicles":[${'{},'.repeat(80_000)}{}]}`
  const before = megabytes()
  const calls = 16
  for (let i = 0; i < calls; i += 1) {
    const { write } = await connectFrom(gateway, `127.0.1.${i + 1}`)
    write(`POST /getShippingQuote.php ${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
  }
  await service.arrived(calls)
  // Parsed, each is 7 MB.
  expect(megabytes() - before).toBeLessThan(FEW_MEGABYTES)
  service.release({ shipment_id: 'q', price: 1 })
})

test('a body counts once while its call waits', async () => {
  const service = await openHoldingService()
  const gateway = await startGateway({ env: OWN, serviceUrl: service.url })
  const short = JSON.stringify(quoteExample)
  const body = `${short.slice(0, -1)},"Padding":"${' '.repeat(200_000)}"}`
  const calls = 60
  for (let i = 0; i < calls; i += 1) {
    const { write } = await connectFrom(gateway, '127.0.1.1')
    write(`POST /getShippingQuote.php ${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
  }
  await service.arrived(calls)
  const { bodyBytes } = await heldBy(gateway)
  expect(bodyBytes).toBe(calls * body.length)
  service.release({ shipment_id: 'q', price: 1 })
})

test('unread long answers take a share of the memory, too', async () => {
  const gateway = await startGateway()
  // Explained leaf by leaf, and larger than the system's buffers.
  const body = `{"pickup":"10314","delivery":"33166","vehicles":[${'{"a":1},'.repeat(30_000)}{}]}`
  const strangers = []
  for (let i = 0; i < 8; i += 1) {
    const one = await connectFrom(gateway, '127.0.1.1')
    one.socket.pause()
    one.write(`POST /dry-run/getShippingQuote.php ${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`)
    strangers.push(one)
  }
  const answered = () =>
    gateway
      .lines()
      .filter(({ msg }) => msg === 'call')
      .map(({ status }) => status)
  await held(gateway, () => answered().length === strangers.length)
  expect(new Set(answered())).toEqual(new Set([200, 429]))
  const { bodyBytes } = await heldBy(gateway)
  expect(bodyBytes).toBeGreaterThan(4 * MIB)
  expect(bodyBytes).toBeLessThanOrEqual(16 * MIB)
  // The answer to a disconnected reader takes no memory.
  for (const { socket } of strangers) socket.resetAndDestroy()
  await held(gateway, (now) => now.bodyBytes === 0 && now.connections === 0)
})
