/** Promise: workers share ports, metrics and turns, and one that dies is replaced (contract, section 11). */

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { isCreation } from '../bookings/desk.ts'
import { slowHash } from '../callers/edge.ts'
import { cleanEnv, newFolder, ROOT, start } from '../command.ts'
import { freePort } from '../free-port.ts'
import { basic, get, post } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { startSandbox } from '../stand-in/stand-in.ts'

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

/** Matches several `listening` lines. */
const listening = (times: number) => new RegExp(`("msg":"listening"[\\s\\S]*?){${times}}`)

const pidsIn = (lines: readonly Line[]) => lines.map(({ pid }) => pid).filter((pid) => pid !== undefined)

/** Starts the program with several workers, and waits until all of them listen. */
async function serve(service: { readonly url: string }, workers: number, more: Readonly<Record<string, string>> = {}) {
  const env = envOf(service.url, { WORKERS: String(workers), ...more })
  const program = start(process.execPath, SERVE, { cwd: ROOT, env })
  const out = await program.says(listening(workers))
  const listeners = linesOf(out).filter(({ msg }) => msg === 'listening')
  return { ...program, url: listeners[0]?.url ?? '', admin: listeners[0]?.admin ?? '', pids: pidsIn(listeners) }
}

describe.each([1, 2])('with %i workers', (workers) => {
  test('SIGHUP to every process ends none, and SIGTERM to all at once, under load, loses no call', async () => {
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    const gateway = await serve(sandbox, workers)
    // There is no tenants file to be read again.
    gateway.signal('SIGHUP')
    expect((await post(gateway, '/getShippingQuote.php', quoteExample)).status).toBe(200)
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
          // A late caller gets 503; all others are answered.
          if (status === 200) answered += 1
          else if (!/shutting down/.test(json.Message)) odd.push([status, json])
        } catch {
          // The listener is closed.
          over = true
        }
      }
    }
    const callers = Array.from({ length: 16 }, (_, name) => caller(name))
    while (answered < 100) await sandbox.next()
    gateway.signal('SIGTERM')
    const { code, out, err } = await gateway.ended
    await Promise.all(callers)
    expect(odd).toEqual([])
    expect(out).not.toMatch(/a worker ended/)
    expect(err).toBe('')
    expect(code).toBe(0)
    // Every caller has its answer.
    expect(sandbox.requests.filter(isCreation)).toHaveLength(answered)
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

test('whichever is asked, the metrics are those of all workers together', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const gateway = await serve(sandbox, 2, { ADMIN_PORT: String(await freePort()) })
  const scrape = async () => {
    // Separate connections, which the workers take in turn.
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
  // Nothing has changed: only the signal makes them read.
  const out = await gateway.says(/("msg":"the tenants file was read again"[\s\S]*?){2}/)
  expect(out).not.toMatch(/a worker ended/)
  expect((await get(gateway, '/readyz')).status).toBe(200)
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
})

test('a worker that is replaced makes no store anew, if its file is gone', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const folder = newFolder('gone')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'gone.db')
  const gateway = await serve(sandbox, 2, { STORE_URL: file })
  expect((await post(gateway, '/createShipment.php', bookingExample)).status).toBe(200)
  rmSync(file)
  const [pid = 0] = gateway.pids
  process.kill(pid, 'SIGKILL')
  await gateway.says(listening(3))
  for (let i = 0; i < 10; i += 1) {
    const answer = await post(gateway, '/createShipment.php', bookingExample, { connection: 'close' })
    expect(answer.status).toBe(503)
  }
  expect(existsSync(file)).toBe(false)
  expect(sandbox.requests.filter(isCreation)).toHaveLength(1)
})

test('a worker that dies is replaced after a pause, and the others go on meanwhile', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const gateway = await serve(sandbox, 2)
  const [pid = 0] = gateway.pids
  process.kill(pid, 'SIGKILL')
  await gateway.says(/a worker ended and is replaced/)
  expect((await get(gateway, '/readyz')).status).toBe(200)
  const lines = linesOf(await gateway.says(listening(3)))
  const died = lines.find(({ msg }) => /is replaced/.test(msg))?.time ?? Number.NaN
  const back = lines.filter(({ msg }) => msg === 'listening').at(-1)?.time ?? Number.NaN
  // One that dies soon after its start may do so again.
  expect(back - died).toBeGreaterThanOrEqual(1_000)
  for (let i = 0; i < 20; i += 1) {
    const answer = await post(gateway, '/getShippingQuote.php', { ...quoteExample, ShipmentNumber: `N-${i}` })
    expect(answer.status).toBe(200)
  }
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
})

test('what one worker has verified needs no slow hash at another, nor at one that replaces it', async () => {
  const folder = newFolder('proofs')
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const TENANTS_FILE = join(folder, 'tenants.json')
  const v2 = { client_id: 'demo', client_secret: { env: 'SECRET' } }
  const credentials = [{ id: 'acme', secret_hash: slowHash('right') }]
  writeFileSync(TENANTS_FILE, JSON.stringify({ tenants: [{ name: 'acme', credentials, v2 }] }))
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const gateway = await serve(sandbox, 2, { TENANTS_FILE, SECRET: 'demo-secret' })
  const quote = async (secret: string) => {
    const headers = { authorization: basic('acme', secret), connection: 'close' }
    return (await post(gateway, '/getShippingQuote.php', quoteExample, headers)).status
  }
  expect(await quote('right')).toBe(200)
  process.kill(gateway.pids[0] ?? 0, 'SIGKILL')
  await gateway.says(listening(3))
  // After so many guesses from its address, a secret that would have to be hashed is refused unchecked.
  const statuses = new Set<number>()
  for (let i = 0; i < 60; i += 1) statuses.add(await quote(`wrong ${i}`))
  expect(statuses).toEqual(new Set([401, 429]))
  for (let i = 0; i < 20; i += 1) expect(await quote('right')).toBe(200)
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
})

describe('updates of one shipment', () => {
  /** A gateway with a shipment, before a service without ETags. */
  async function booked(workers: number) {
    const sandbox = await startSandbox()
    onTestFinished(() => sandbox.close())
    const gateway = await serve(sandbox, workers, { ADMIN_PORT: String(await freePort()) })
    const { status, headers } = await post(gateway, '/createShipment.php', bookingExample)
    expect(status).toBe(200)
    const id = headers.get('transload-shipment-id') ?? ''
    sandbox.requests.length = 0
    return {
      gateway,
      sandbox,
      shipment: () => sandbox.shipments.get(id),
      /** The requests for the shipment, in order. */
      done: () => sandbox.requests.filter(({ path }) => path.endsWith(id)).map(({ method }) => method),
    }
  }

  const changeOf = (change: object) => ({ ReferenceNumber: bookingExample.ReferenceNumber, ...change })

  /** Updates over a connection that is there already; gives the status. */
  async function update(connection: Client, change: object): Promise<number> {
    const { statusCode, body } = await connection.request({
      method: 'POST',
      path: '/updateShipment.php',
      headers: { authorization: basic() },
      body: JSON.stringify(changeOf(change)),
    })
    await body.dump()
    return statusCode
  }

  /**
   * Resolves when updates that were sent before wait for their turn. A scrape passes through every worker and the first
   * process, behind what the workers had to tell it before.
   */
  async function queued({ admin }: { readonly admin: string }): Promise<void> {
    for (let scrapes = 0; scrapes < 5; scrapes += 1) await (await fetch(`${admin}/metrics`)).text()
  }

  /** A connection to each worker, in the order of their ids. */
  async function connectionsTo({ url, pids }: { readonly url: string; readonly pids: readonly number[] }) {
    const all = pids.map(() => new Client(url))
    onTestFinished(async () => void (await Promise.all(all.map((connection) => connection.destroy()))))
    const ask = async (connection: Client) => {
      await (await connection.request({ method: 'GET', path: '/readyz' })).body.dump()
      return connection
    }
    // One after the other: each goes to another worker.
    for (const connection of all) await ask(connection)
    const found: Client[] = []
    for (const pid of pids) {
      const others = pids.filter((other) => other !== pid)
      for (const other of others) process.kill(other, 'SIGSTOP')
      const asked = all.map(ask)
      // Only one of the workers is able to answer.
      found.push(await Promise.any(asked))
      for (const other of others) process.kill(other, 'SIGCONT')
      await Promise.all(asked)
    }
    expect(new Set(found).size).toBe(pids.length)
    return found
  }

  test('go on when the worker whose turn it is dies, and one that waits', async () => {
    const { gateway, sandbox, shipment, done } = await booked(3)
    const [holder, waiter, other] = await connectionsTo(gateway)
    if (!holder || !waiter || !other) throw new Error('there is a connection to each')
    sandbox.fail({ kind: 'timeout-unprocessed', on: { method: 'PUT' } })
    const stuck = sandbox.next(({ method }) => method === 'PUT')
    const lost = [update(holder, { PickupName: 'Lost' }).catch((error: unknown) => error)]
    await stuck
    lost.push(update(waiter, { PickupCity: 'Lost' }).catch((error: unknown) => error))
    await queued(gateway)
    const kept = update(other, { DeliveryName: 'Kept' })
    await queued(gateway)
    expect(done()).toEqual(['GET', 'PUT'])
    for (const pid of gateway.pids.slice(0, 2).reverse()) process.kill(pid, 'SIGKILL')
    expect(await kept).toBe(200)
    for (const error of await Promise.all(lost)) expect(error).toBeInstanceOf(Error)
    expect(await update(other, { DeliveryCity: 'After' })).toBe(200)
    expect(shipment()).toMatchObject({
      pickup: { contact_name: bookingExample.PickupName, city: bookingExample.PickupCity },
      delivery: { contact_name: 'Kept', city: 'After' },
    })
    expect(done()).toEqual(['GET', 'PUT', 'GET', 'PUT', 'GET', 'PUT'])
  })
})
