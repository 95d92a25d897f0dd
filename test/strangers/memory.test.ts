/** Promise: bodies and unread answers count while they are held (contract, section 5). */

import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { basic, OWN, startGateway } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { connectFrom, held, heldBy } from './sockets.ts'

const MIB = 1024 ** 2
const HEAD = `HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic()}\r\n`
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
