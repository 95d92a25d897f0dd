/** Promise: large bodies of many strangers take no more memory than there is (contract, section 5). */

import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { atOnce, statuses } from '../callers/tenants-gateway.ts'
import { OWN } from '../gateway.ts'
import { startGatewayProcess } from './gateway-process.ts'
import { connectFrom } from './sockets.ts'

const CALLS = 2_000
const SOURCES = 50
const BODY_BYTES = 250_000
const SERVICE_TAKES_MS = 2_000
/** The gateway peaks at 201 to 231 MB. */
const MOST_MEGABYTES = 256
const LONG_MS = 60_000

test('two thousand large bodies from fifty addresses take no more memory than the gateway may have', {
  timeout: LONG_MS,
}, async () => {
  const gateway = await startGatewayProcess({ env: OWN, credentials: { [OWN.V2_CLIENT_ID]: OWN.V2_CLIENT_SECRET } })
  const on = { method: 'POST' } as const
  gateway.sandbox.fail({ kind: 'delay', ms: SERVICE_TAKES_MS, times: 'always', on })
  const short = JSON.stringify(quoteExample).slice(0, -1)
  const body = `${short},"Padding":"${' '.repeat(BODY_BYTES - short.length)}"}`
  const head = `POST /getShippingQuote.php HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`
  const answers = await atOnce(CALLS, async (i) => {
    const { socket, write, reply } = await connectFrom(gateway, `127.0.0.${2 + (i % SOURCES)}`)
    write(head + body)
    // The rest of a refused body is not read: its connection may end without a reply.
    const { status } = (await reply) ?? { status: 0 }
    socket.destroy()
    return { status }
  })
  const counts = statuses(answers)
  // On a slow machine a body may take too long to come: 408.
  expect(Object.keys(counts).filter((status) => !/^(200|408|429|503|0)$/.test(status))).toEqual([])
  expect(counts[200]).toBeGreaterThan(SOURCES)
  expect(gateway.measure().peakMegabytes).toBeLessThan(MOST_MEGABYTES)
})
