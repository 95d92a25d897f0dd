import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { openStore } from '../../src/store/open.ts'
import { cleanEnv, newFolder, ROOT, start } from '../command.ts'
import { basic } from '../gateway.ts'

const QUOTES = 200
const LONG_MS = 120_000
/** Differences are stored at most this long after a call. */
const STORED_AFTER_MS = 30_000

interface Line {
  readonly msg: string
  readonly pid?: number
  readonly url?: string
}

const linesOf = (out: string): readonly Line[] =>
  out
    .split('\n')
    .slice(0, -1)
    .map((line): Line => JSON.parse(line))
const toldIn = (out: string) => linesOf(out).filter(({ msg }) => /differs from what the gateway knows/.test(msg)).length

async function sendQuotes(url: string): Promise<void> {
  for (let i = 0; i < QUOTES; i += 1) {
    const headers = { authorization: basic(), connection: 'close' }
    const { body } = await request(`${url}/getShippingQuote.php`, {
      method: 'POST',
      body: JSON.stringify(quoteExample),
      headers,
    })
    await body.dump()
  }
}

test('two workers, a SIGKILL and a restart tell a difference once', { timeout: LONG_MS }, async () => {
  const folder = newFolder('drift')
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'store.db')
  const sandbox = await startSandbox({ deviations: ['price-is-number'] })
  onTestFinished(() => sandbox.close())
  const env = cleanEnv({
    V2_BASE_URL: sandbox.url,
    V2_CLIENT_ID: 'demo',
    V2_CLIENT_SECRET: 'demo-secret',
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    WORKERS: '2',
    STORE_URL: path,
  })
  const serve = async () => {
    const program = start(process.execPath, [join(ROOT, 'src/main.ts'), 'serve'], { env })
    const said = await program.says(/("msg":"listening"[\s\S]*?){2}/)
    const workers = linesOf(said).filter(({ msg }) => msg === 'listening')
    return { ...program, url: workers[0]?.url ?? '', worker: workers[0]?.pid ?? 0 }
  }
  const stored = async () => {
    const store = await openStore(path)
    const [drift] = await store.listDrift()
    await store.close()
    return drift?.count ?? 0
  }

  const first = await serve()
  await sendQuotes(first.url)
  await expect.poll(stored, { timeout: STORED_AFTER_MS, interval: 500 }).toBe(QUOTES)
  process.kill(first.worker, 'SIGKILL')
  await first.says(/("msg":"listening"[\s\S]*?){3}/)
  await sendQuotes(first.url)
  first.signal('SIGTERM')
  const one = await first.ended
  expect(one.code).toBe(0)
  expect(await stored()).toBe(2 * QUOTES)

  const second = await serve()
  await sendQuotes(second.url)
  second.signal('SIGTERM')
  const two = await second.ended
  expect(await stored()).toBe(3 * QUOTES)
  expect([toldIn(one.out), toldIn(two.out)]).toEqual([1, 0])
})
