import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { serve } from '../callers/commands.ts'
import { newFolder } from '../command.ts'
import { freePort } from '../free-port.ts'
import { OWN, post } from '../gateway.ts'
import { startSandbox } from '../stand-in/stand-in.ts'

test('the metrics are those of all workers: what they count adds up, what they all see does not', async () => {
  const folder = newFolder('metrics')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const sandbox = await startSandbox({ credentials: { demo: 'demo-secret' } })
  onTestFinished(() => sandbox.close())
  const BROWNOUTS = '2091-01-12T15:00Z/1h'
  const env = { ...OWN, V2_BASE_URL: sandbox.url, STORE_URL: join(folder, 'test.db') }
  const gateway = await serve(folder, { ...env, WORKERS: '2', BROWNOUTS, ADMIN_PORT: String(await freePort()) })
  await gateway.says(/("msg":"listening"[\s\S]*){2}/)
  const calls = 40
  // A connection of its own for each call spreads them over the workers.
  for (let i = 0; i < calls; i += 1) {
    await post(gateway, '/getShippingQuote.php', quoteExample, { connection: 'close' })
  }
  const lines = (await (await fetch(`${gateway.adminUrl}/metrics`)).text()).split('\n')
  const readSeries = (series: string) =>
    Number(
      lines
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')
        .at(-1),
    )
  expect(readSeries('transload_service_seconds_count{operation="POST /v2/quote",status="2xx"}')).toBe(calls)
  expect(readSeries('transload_gateway_seconds_count{action="quote.get"}')).toBe(calls)
  expect(readSeries('transload_store_seconds_count{operation="put"}')).toBe(calls)
  expect(readSeries('transload_service_connections')).toBeGreaterThan(0)
  expect(readSeries('transload_brownout_start_timestamp_seconds{tenant=""}')).toBe(Date.UTC(2091, 0, 12, 15) / 1000)
  expect(lines.filter((line) => /^transload_build_info\{.*\} 1$/.test(line))).toHaveLength(1)
  expect(readSeries('process_start_time_seconds')).toBeGreaterThan(1_700_000_000)
  expect(readSeries('process_start_time_seconds')).toBeLessThan(Date.now() / 1000)
  expect(lines.filter((line) => / nan$/i.test(line))).toEqual([])
})
