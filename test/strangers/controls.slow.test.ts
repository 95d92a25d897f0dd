/** Promise: each control against strangers is needed: without it, its attack works (contract, section 5). */

import { describe, expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { atOnce, booking } from '../callers/edge.ts'
import { basic, OWN } from '../gateway.ts'
import { callFrom } from './call.ts'
import { type GatewayProcess, type GatewayProcessOptions, startGatewayProcess } from './gateway-process.ts'
import { connectFrom } from './sockets.ts'
import type { Defense } from './weakened.ts'

/*
 * Runs each attack on the gateway and on one without the defense. It gets through the second only, which shows that the
 * attack works.
 */

const CREDENTIALS = { demo: 'demo-secret' }
const OWNER = { authorization: basic() }
/** Calls with new credentials that one address may have under way at the service. */
const AT_ONCE_OF_SOURCE = 8
const STRANGER = { authorization: basic('demo', 'wrong') }

interface Control {
  readonly defense: Defense
  readonly what: string
  readonly env?: GatewayProcessOptions['env']
  /** Returns whether the attack got through. */
  readonly attack: (gateway: GatewayProcess) => Promise<boolean>
}

const CONTROLS: readonly Control[] = [
  {
    defense: 'proof',
    what: 'a wrong secret is claimed nothing',
    attack: async (gateway) => {
      await callFrom(gateway.url, { path: '/createShipment.php', headers: STRANGER, body: booking('R-1') })
      return (await gateway.stop()).claims.length > 0
    },
  },
  {
    defense: 'shares',
    what: 'unfinished calls from one address keep nobody out',
    env: { MAX_CONNECTIONS: '100', SOURCE_CONNECTIONS: '25' },
    attack: async ({ url }) => {
      const strangers = await atOnce(150, () => connectFrom({ url }, '127.0.0.2'))
      for (const { write } of strangers) write('POST /createShipment.php HTTP/1.1\r\n')
      const { status } = await callFrom(url, { path: '/getShippingQuote.php', headers: OWNER, body: quoteExample })
      return status !== 200
    },
  },
  {
    defense: 'queue',
    what: 'new credentials do not come to the service all at once',
    attack: async ({ url, sandbox }) => {
      sandbox.fail({ kind: 'delay', ms: 1_000, times: 'always' })
      const calls = Array.from({ length: 100 }, (_, i) => {
        const headers = { authorization: basic('demo', `wrong ${i}`) }
        return callFrom(url, { path: '/createShipment.php', headers, body: booking('R-1') })
      })
      await Promise.race(calls)
      const atOnce = sandbox.requests.length
      sandbox.clearFaults()
      await Promise.all(calls)
      return atOnce > 2 * AT_ONCE_OF_SOURCE
    },
  },
  {
    defense: 'browsers',
    what: 'a page of another site books nothing',
    env: OWN,
    attack: async ({ url, sandbox }) => {
      const headers = { origin: 'https://evil.example', host: 'evil.example' }
      await callFrom(url, { path: '/createShipment.php', headers, body: booking('R-1') })
      return sandbox.shipments.size > 0
    },
  },
  {
    defense: 'paths',
    what: 'a path that leads out of /v2/ is not sent on',
    env: OWN,
    attack: async ({ url, sandbox }) => {
      await callFrom(url, { method: 'GET', path: '/v2/a%2fb/../../x' })
      return sandbox.requests.length > 0
    },
  },
]

describe.each(CONTROLS)('$what', ({ defense, env, attack }) => {
  const start = (without?: Defense) => startGatewayProcess({ credentials: CREDENTIALS, ...(env && { env }), without })

  test('by a gateway as it is', async () => {
    expect(await attack(await start())).toBe(false)
  })

  test(`but is without its defense: ${defense}`, async () => {
    expect(await attack(await start(defense))).toBe(true)
  })
})
