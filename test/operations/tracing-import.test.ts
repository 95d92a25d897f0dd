/** Promise: an SDK loaded with `--import` traces every process (contract, section 11). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openSandbox } from '../bookings/desk.ts'
import { serve } from '../callers/commands.ts'
import { newFolder, ROOT } from '../command.ts'
import { OWN, post } from '../gateway.ts'

const SDK = pathToFileURL(join(ROOT, 'test/operations/sdk.ts')).href

test('an SDK that `node --import` loads traces the gateway', async () => {
  const folder = newFolder('tracing')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const sandbox = await openSandbox({ credentials: { demo: 'demo-secret' } })
  const env = { ...OWN, V2_BASE_URL: sandbox.url, STORE_URL: join(folder, 'test.db') }
  const gateway = await serve(folder, { ...env, NODE_OPTIONS: `--import=${SDK}` })
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`
  expect((await post(gateway, '/getShippingQuote.php', quoteExample, { traceparent })).status).toBe(200)
  const sent = sandbox.requests.map(({ headers }) => String(headers['traceparent']))
  expect(sent).toEqual([expect.stringMatching(new RegExp(`^00-${traceId}-[\\da-f]{16}-01$`))])
  expect(sent).not.toContain(traceparent)
})
