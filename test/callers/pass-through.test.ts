/** Promise: what the service answers to a passed-through call proves a credential, or refuses it (contract, section 5). */

import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { CredentialsDeps } from '../../src/callers/caller.ts'
import { clientCredentials } from '../../src/callers/client.ts'
import { readConfig } from '../../src/config/config.ts'
import { unlimitedShare } from '../../src/observe/call.ts'

/** Passes a call with this credential on, whose reply has this status; tells whether the credential is proven then. */
async function provenBy(method: string, url: string, status: number, before = false) {
  const config = readConfig({ V2_BASE_URL: 'http://service.invalid/edge' })
  // A call that is not streamed needs no proof, and its credential no token.
  const { passThrough } = clientCredentials({ config } as CredentialsDeps)
  const incoming = { headers: { authorization: 'Basic YTpi' }, socket: new Socket() } as unknown as IncomingMessage
  const passed = await passThrough(incoming, false, unlimitedShare)
  expect(passed).toMatchObject({ origin: 'http://service.invalid', prefix: '/edge', tenant: 'a' })
  expect(passed.authorization?.(0)).toBe('Basic YTpi')
  if (before) passed.acceptance?.accepted()
  passed.learn?.('Basic YTpi', { status, headers: {} }, { method, url })
  return passed.acceptance?.isProven()
}

test.each([
  ['GET', '/v2/shipments/S', 200, true],
  ['GET', '/v2/shipments/S?x=/y', 200, true],
  ['GET', '/v2/shipment', 200, true],
  ['POST', '/v2/quote', 200, true],
  ['OPTIONS', '/v2/quote', 200, false],
  ['GET', '/v2/quotes', 200, false],
  ['GET', '/v2/status', 200, false],
  ['GET', '/x/v2/quote', 200, false],
  ['GET', '/v2/shipments/S', 401, false],
  ['GET', '/v2/shipments/S', 500, false],
])('%s %s with %i shows that the service accepts the credential: %s', async (method, url, status, shows) => {
  expect(await provenBy(method, url, status)).toBe(shows)
})

test('a refusal takes the proof back, and nothing else does', async () => {
  expect(await provenBy('GET', '/v2/status', 401, true)).toBe(false)
  expect(await provenBy('GET', '/v2/status', 403, true)).toBe(true)
})

test('a call without a credential is passed on without one', async () => {
  const config = readConfig({ V2_BASE_URL: 'http://service.invalid' })
  const passed = await clientCredentials({ config } as CredentialsDeps).passThrough(
    { headers: {} } as IncomingMessage,
    true,
    unlimitedShare,
  )
  expect(passed).toMatchObject({ origin: 'http://service.invalid', prefix: '', authorization: undefined })
  expect(passed.pool()).toBe('')
  expect(passed).not.toHaveProperty('tenant')
})
