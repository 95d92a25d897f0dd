import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
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
  readonly time: number
  readonly pid?: number
  readonly url?: string
  readonly admin?: string
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

const pidsIn = (lines: readonly Line[]) => lines.map(({ pid }) => pid).filter((pid) => pid !== undefined)

/** A port that nobody listened on a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address ? address.port : 0
}

/** Starts the program as it is started in earnest, with so many workers, and waits until all of them listen. */
async function serve(service: { readonly url: string }, workers: number, more: Readonly<Record<string, string>> = {}) {
  const env = envOf(service.url, { WORKERS: String(workers), ...more })
  const program = start(process.execPath, SERVE, { cwd: ROOT, env })
  const out = await program.says(listening(workers))
  const listeners = linesOf(out).filter(({ msg }) => msg === 'listening')
  return { ...program, url: listeners[0]?.url ?? '', admin: listeners[0]?.admin ?? '', pids: pidsIn(listeners) }
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

test('a second SIGTERM to the first process alone ends all of them at once', async () => {
  const service = await openHoldingService()
  const gateway = await serve(service, 2)
  const lost = post(gateway, '/getShippingQuote.php', quoteExample).catch((error: unknown) => error)
  await service.arrived(1)
  process.kill(gateway.pid, 'SIGTERM')
  await gateway.says(/"msg":"draining"/)
  process.kill(gateway.pid, 'SIGTERM')
  expect((await gateway.ended).code).toBe(1)
  expect(await lost).toBeInstanceOf(Error)
  for (const pid of gateway.pids) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/)
})

test('a store in memory is refused, for workers would not share it', async () => {
  const env = { WORKERS: '2', STORE_URL: 'memory:' }
  const refused = await run(process.execPath, SERVE, { cwd: ROOT, env: envOf('http://127.0.0.1:1', env) })
  expect([refused.code, refused.err]).toEqual([78, expect.stringMatching(/^ {2}STORE_URL .*WORKERS/m)])
})

test.each(['PORT', 'ADMIN_PORT'])('a %s that is taken ends all of them with 1', async (name) => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  onTestFinished(() => void holder.close())
  const address = holder.address()
  const failed = await run(process.execPath, SERVE, {
    cwd: ROOT,
    env: envOf('http://127.0.0.1:1', {
      WORKERS: '2',
      [name]: String(typeof address === 'object' && address?.port),
    }),
  })
  expect([failed.code, failed.err]).toEqual([1, expect.stringMatching(/EADDRINUSE/)])
})

test('whichever is asked, the metrics are those of all workers together', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const gateway = await serve(sandbox, 2, { ADMIN_PORT: String(await freePort()) })
  const scrape = async () => {
    // A connection of its own for each, which go to the workers in turns.
    const response = await fetch(`${gateway.admin}/metrics`, { headers: { connection: 'close' } })
    return (await response.text()).split('\n')
  }
  for (let i = 0; i < 20; i += 1) {
    const sent = { ...quoteExample, ShipmentNumber: `N-${i}` }
    expect((await post(gateway, '/getShippingQuote.php', sent, { connection: 'close' })).status).toBe(200)
  }
  const count = 'transload_call_seconds_count{action="quote.get"} 20'
  const all = await Promise.all(Array.from({ length: 8 }, scrape))
  for (const lines of all) expect(lines).toContain(count)
  // One that is gone is not waited for, nor is one that does not answer waited for long.
  const [stopped = 0] = gateway.pids
  process.kill(stopped, 'SIGSTOP')
  const left = await Promise.all(Array.from({ length: 2 }, () => Promise.race([scrape(), scrape()])))
  for (const lines of left) expect(lines.join('\n')).toMatch(/transload_call_seconds_count\{action="quote.get"\} \d+/)
  process.kill(stopped, 'SIGCONT')
})

test('SIGHUP to the first process makes every worker read the tenants file again, and ends none', async () => {
  const folder = newFolder('hangup')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const TENANTS_FILE = join(folder, 'tenants.json')
  const write = (name: string) => {
    const v2 = { client_id: 'demo', client_secret: { env: 'SECRET' } }
    writeFileSync(TENANTS_FILE, JSON.stringify({ tenants: [{ name, networks: ['127.0.0.0/8'], v2 }] }))
  }
  write('first')
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const gateway = await serve(sandbox, 2, { TENANTS_FILE, SECRET: 'demo-secret' })
  process.kill(gateway.pid, 'SIGHUP')
  // Nothing has changed, so that it is the signal alone that makes them read.
  const out = await gateway.says(/("msg":"the tenants file was read again"[\s\S]*?){2}/)
  expect(out).not.toMatch(/a worker ended/)
  expect((await get(gateway, '/readyz')).status).toBe(200)
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
})

test.each([1, 2])('SIGHUP to every process of %i ends none of them, without a tenants file too', async (workers) => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const gateway = await serve(sandbox, workers)
  gateway.signal('SIGHUP')
  expect((await post(gateway, '/getShippingQuote.php', quoteExample)).status).toBe(200)
  gateway.signal('SIGTERM')
  expect(await gateway.ended).toMatchObject({ code: 0, err: '', out: expect.not.stringMatching(/a worker ended/) })
})

test('a worker that dies soon after its start is started anew only after a pause', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const gateway = await serve(sandbox, 2)
  const [victim = 0] = gateway.pids
  process.kill(victim, 'SIGKILL')
  const lines = linesOf(await gateway.says(listening(3)))
  const died = lines.find(({ msg }) => /is replaced/.test(msg))?.time ?? Number.NaN
  const back = lines.filter(({ msg }) => msg === 'listening').at(-1)?.time ?? Number.NaN
  expect(back - died).toBeGreaterThanOrEqual(1_000)
})

test('a worker that dies is replaced, and the others go on meanwhile', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const gateway = await serve(sandbox, 2)
  const [pid = 0] = gateway.pids
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
