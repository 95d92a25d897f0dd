/** Promise: workers that end lose few counts, or none (contract, section 1). */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { openStore } from '../../src/store/open.ts'
import { cleanEnv, newFolder, ROOT, start } from '../command.ts'
import { basic, OWN } from '../gateway.ts'
import { size, WHOLE } from '../size.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { startPostgres } from '../store/postgres-server.ts'

const LONG_MS = 300_000
const AT_ONCE = 16
const KILLS = size(1, 5)
/** Calls of each round: one before each kill, and one after the last. */
const CALLS = size(300, 2_000)
/** Counts are stored at most this long after a call. */
const STORED_AFTER_MS = 15_000

interface Line {
  readonly msg: string
  readonly pid?: number
  readonly url?: string
}

/** Starts two workers on a store, in front of a stand-in of the service. */
async function startWorkers(storeUrl: string, folder: string) {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const env = cleanEnv({
    V2_BASE_URL: sandbox.url,
    ...OWN,
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    WORKERS: '2',
    STORE_URL: storeUrl,
    EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
  })
  const program = start(process.execPath, [join(ROOT, 'src/main.ts'), 'serve'], { env })
  const afterStarts = async (count: number) => {
    const out = await program.says(new RegExp(`("msg":"listening"[\\s\\S]*?){${count}}`))
    const lines = out.split('\n').slice(0, -1)
    return lines.map((line): Line => JSON.parse(line)).filter(({ msg }) => msg === 'listening')
  }
  const [first] = await afterStarts(2)
  return { ...program, url: first?.url ?? '', afterStarts }
}

/** Sends quotes; returns how many were answered. */
async function sendQuotes(url: string, count: number) {
  const agent = new Agent({ connections: AT_ONCE })
  const body = JSON.stringify(quoteExample)
  const headers = { authorization: basic(), 'user-agent': 'Mix/1' }
  let left = count
  let answered = 0
  const callers = Array.from({ length: AT_ONCE }, async () => {
    while (left > 0) {
      left -= 1
      const sent = request(`${url}/getShippingQuote.php`, { method: 'POST', body, headers, dispatcher: agent })
      const { statusCode, body: reply } = await sent
      await reply.dump()
      if (statusCode === 200) answered += 1
    }
  })
  await Promise.all(callers)
  await agent.close()
  return answered
}

async function storedCalls(storeUrl: string): Promise<number> {
  const store = await openStore(storeUrl)
  const calls = await store.callCounts(['demo'], 0)
  await store.close()
  return calls.reduce((all, count) => all + count.calls, 0)
}

const ENGINES = WHOLE ? (['sqlite', 'postgres'] as const) : (['sqlite'] as const)

describe.each(ENGINES)('two workers on %s', (engine) => {
  test('lose at most ten seconds of counts at a SIGKILL, and none at a SIGTERM', { timeout: LONG_MS }, async () => {
    const folder = newFolder('counts')
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    let storeUrl = join(folder, 'store.db')
    if (engine === 'postgres') {
      const server = await startPostgres()
      onTestFinished(() => server.remove())
      storeUrl = await server.createDatabase()
    }
    const program = await startWorkers(storeUrl, folder)
    let answered = 0
    let mayBeLost = 0
    for (let kill = 1; kill <= KILLS; kill += 1) {
      answered += await sendQuotes(program.url, CALLS)
      // Stored without any end of a process.
      await expect
        .poll(() => storedCalls(storeUrl), { timeout: STORED_AFTER_MS, interval: 500 })
        .toBeGreaterThanOrEqual(answered - mayBeLost)
      const recent = await sendQuotes(program.url, CALLS / 10)
      answered += recent
      mayBeLost += recent
      const lines = await program.afterStarts(1 + kill)
      process.kill(lines.at(-1)?.pid ?? 0, 'SIGKILL')
      await program.afterStarts(2 + kill)
    }
    answered += await sendQuotes(program.url, CALLS)
    program.signal('SIGTERM')
    expect((await program.ended).code).toBe(0)
    const stored = await storedCalls(storeUrl)
    expect(stored).toBeGreaterThanOrEqual(answered - mayBeLost)
    expect(stored).toBeLessThanOrEqual(answered)
  })
})
