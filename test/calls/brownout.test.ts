/** Promise: a brownout survives a restart, and a tenant can have its own (contract, section 9). */

import { expect, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { createMemoryStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { post, startGateway, type TestGateway } from '../gateway.ts'

const START = Date.UTC(2027, 0, 12, 15)
const HOUR = 3_600_000
const BROWNOUTS = '2027-01-12T15:00Z/1h'

const quote = (gateway: Pick<TestGateway, 'url'>, headers = {}) =>
  post(gateway, '/getShippingQuote.php', quoteExample, headers)

test('a brownout survives a restart', async () => {
  const env = { BROWNOUTS }
  const store = createMemoryStore({ now: () => START + HOUR / 2 })
  const first = await startGateway({ env, store, proven: false })
  expect((await quote(first)).headers.get('retry-after')).toBe('1800')
  await first.gateway.close()
  const second = await startGateway({ env, store, proven: false })
  expect((await quote(second)).headers.get('retry-after')).toBe('1800')
  expect(second.lines()).toContainEqual(
    expect.objectContaining({ msg: 'a brownout has begun: legacy calls are refused', level: 'warn' }),
  )
})
