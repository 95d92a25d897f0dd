import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { cleanEnv, newFolder, ROOT, run, start } from '../command.ts'
import { get, post } from '../house.ts'
import { openHoldingService } from '../http/service.ts'

interface Line {
  readonly msg: string
  readonly pid?: number
  readonly url?: string
}

const SERVE = [join(ROOT, 'src/main.ts'), 'serve']
const envOf = (V2_BASE_URL: string, more: Readonly<Record<string, string>>) => {
  const folder = newFolder('workers')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const files = { STORE_URL: join(folder, 'test.db'), EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson') }
  return cleanEnv({ V2_BASE_URL, HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', ...files, ...more })
}

const linesOf = (out: string): Line[] =>
  out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** So many lines that say that somebody listens. */
const listening = (times: number) => new RegExp(`("msg":"listening"[\\s\\S]*?){${times}}`)

/** Starts the program as it is started in earnest, with so many workers, and waits until all of them listen. */
async function serve(service: { readonly url: string }, workers: number, more: Readonly<Record<string, string>> = {}) {
  const env = envOf(service.url, { WORKERS: String(workers), ...more })
  const program = start(process.execPath, SERVE, { cwd: ROOT, env })
  const out = await program.says(listening(workers))
  return { ...program, url: linesOf(out).find(({ msg }) => msg === 'listening')?.url ?? '' }
}

describe.each([1, 2])('with %i workers', (workers) => {
  test('SIGTERM to every process at once, under load, loses no call', async () => {
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    const gateway = await serve(sandbox, workers)
    // Slow enough for calls to be under way at any time.
    sandbox.fail({ kind: 'delay', ms: 40, times: 'always' })
    let answered = 0
    let over = false
    const odd: unknown[] = []
    const caller = async (name: number) => {
      for (let i = 0; !over; i += 1) {
        try {
          const { status, json } = await post(gateway, '/createShipment.php', {
            ...bookingExample,
            ReferenceNumber: `R-${name}-${i}`,
          })
          // A caller that comes late is told so; everybody else is answered.
          if (status === 200) answered += 1
          else if (!/shutting down/.test(json.Message)) odd.push([status, json])
        } catch {
          // Nobody listens any more.
          over = true
        }
      }
    }
    const callers = Array.from({ length: 16 }, (_, name) => caller(name))
    while (answered < 100) await sandbox.next()
    gateway.signal('SIGTERM')
    const { code, err } = await gateway.ended
    await Promise.all(callers)
    expect(odd).toEqual([])
    expect(err).toBe('')
    expect(code).toBe(0)
    // Whatever the service has done, the caller has been told.
    expect(sandbox.requests).toHaveLength(answered)
  })

  test('a second SIGTERM ends it at once', async () => {
    const service = await openHoldingService()
    const gateway = await serve(service, workers)
    const lost = post(gateway, '/getShippingQuote.php', quoteExample).catch((error: unknown) => error)
    await service.arrived(1)
    gateway.signal('SIGTERM')
    await gateway.says(/"msg":"draining"/)
    gateway.signal('SIGTERM')
    expect((await gateway.ended).code).not.toBe(0)
    expect(await lost).toBeInstanceOf(Error)
  })

  test('mistakes in the configuration end it with 78, also those that only a worker can see', async () => {
    const obvious = await run(process.execPath, SERVE, {
      cwd: ROOT,
      env: envOf('http://127.0.0.1:1', { WORKERS: String(workers), PORT: 'x' }),
    })
    expect([obvious.code, obvious.err]).toEqual([78, expect.stringMatching(/PORT must/)])
    const hidden = await run(process.execPath, SERVE, {
      cwd: ROOT,
      env: envOf('http://127.0.0.1:1', { WORKERS: String(workers), STORE_URL: join(ROOT, 'package.json') }),
    })
    expect([hidden.code, hidden.err]).toEqual([78, expect.stringMatching(/STORE_URL/)])
  })
})

test('a worker that dies is replaced, and the others go on meanwhile', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const gateway = await serve(sandbox, 2)
  const [pid] = linesOf(await gateway.says(/listening/))
    .filter(({ msg }) => msg === 'listening')
    .map((line) => line.pid)
  if (pid === undefined) throw new Error('a log line says which process wrote it')
  process.kill(pid, 'SIGKILL')
  await gateway.says(/a worker ended and is replaced/)
  expect((await get(gateway, '/readyz')).status).toBe(200)
  await gateway.says(listening(3))
  for (let i = 0; i < 20; i += 1) {
    const answer = await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: `N-${i}` })
    expect(answer.status).toBe(200)
  }
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
})
