/** Promise: workers share ports, metrics and turns, and one that dies is replaced (contract, section 11). */

import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { quoteExample } from '../../mappings/quote-rows.ts'
import { isCreation } from '../bookings/desk.ts'
import { type Served, serve } from '../callers/commands.ts'
import { folder, slowHash } from '../callers/edge.ts'
import { freePort } from '../free-port.ts'
import { basic, get, post } from '../gateway.ts'
import { openHoldingService } from '../http/service.ts'
import { startSandbox } from '../stand-in/stand-in.ts'

/** Matches several `listening` lines. */
const listening = (times: number) => new RegExp(`("msg":"listening"[\\s\\S]*?){${times}}`)

const linesOf = (out: string) =>
  out
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** Starts the program with several workers in front of a stand-in, and waits until all of them listen. */
async function serveWith(workers: number, more: Readonly<Record<string, string>> = {}) {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const place = folder()
  const gateway = await serve(place, {
    V2_BASE_URL: sandbox.url,
    WORKERS: String(workers),
    STORE_URL: 'test.db',
    ...more,
  })
  const out = await gateway.says(listening(workers))
  const pids: readonly number[] = linesOf(out).flatMap(({ msg, pid }) => (msg === 'listening' && pid ? [pid] : []))
  const [first = 0] = pids
  return { sandbox, place, gateway, pids, signalFirst: (signal: NodeJS.Signals) => process.kill(first, signal) }
}

/** Writes a tenants file, and returns the settings for it. */
function writeTenant(tenant: object) {
  const TENANTS_FILE = join(folder(), 'tenants.json')
  const v2 = { client_id: 'demo', client_secret: { env: 'SECRET' } }
  writeFileSync(TENANTS_FILE, JSON.stringify({ tenants: [{ name: 'acme', v2, ...tenant }] }))
  return { TENANTS_FILE, SECRET: 'demo-secret' }
}

// Separate connections, which the workers take in turn.
const book = (gateway: Served) => post(gateway, '/createShipment.php', bookingExample, { connection: 'close' })
const quote = (gateway: Served, headers: Readonly<Record<string, string>> = {}) =>
  post(gateway, '/getShippingQuote.php', quoteExample, { connection: 'close', ...headers })

describe.each([1, 2])('with %i workers', (workers) => {
  test('SIGHUP to every process ends none, and SIGTERM to all at once, under load, loses no call', async () => {
    const { sandbox, gateway } = await serveWith(workers)
    // There is no tenants file to be read again.
    gateway.signal('SIGHUP')
    expect((await quote(gateway)).status).toBe(200)
    // Slow enough for calls to be under way at any time.
    sandbox.fail({ kind: 'delay', ms: 40, times: 'always' })
    let answered = 0
    let over = false
    const odd: unknown[] = []
    const caller = async (name: number) => {
      for (let i = 0; !over; i += 1) {
        try {
          const booking = { ...bookingExample, ReferenceNumber: `R-${name}-${i}` }
          const { status, json } = await post(gateway, '/createShipment.php', booking)
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
  const { gateway, pids } = await serveWith(2, { V2_BASE_URL: service.url })
  const lost = quote(gateway).catch((error: unknown) => error)
  await service.arrived(1)
  process.kill(gateway.pid, 'SIGTERM')
  await gateway.says(/"msg":"draining"/)
  process.kill(gateway.pid, 'SIGTERM')
  expect((await gateway.ended).code).toBe(1)
  expect(await lost).toBeInstanceOf(Error)
  for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/)
})

test('whichever is asked, the metrics are those of all workers together', async () => {
  const { gateway, signalFirst } = await serveWith(2, { ADMIN_PORT: String(await freePort()) })
  const scrape = async () => {
    const response = await fetch(`${gateway.adminUrl}/metrics`, { headers: { connection: 'close' } })
    return (await response.text()).split('\n')
  }
  for (let i = 0; i < 20; i += 1) expect((await quote(gateway)).status).toBe(200)
  const count = 'transload_call_seconds_count{action="quote.get"} 20'
  const all = await Promise.all(Array.from({ length: 8 }, scrape))
  for (const lines of all) expect(lines).toContain(count)
  // One that is gone is not waited for, nor is one that does not answer waited for long.
  signalFirst('SIGSTOP')
  const left = await Promise.all(Array.from({ length: 2 }, () => Promise.race([scrape(), scrape()])))
  for (const lines of left) expect(lines.join('\n')).toMatch(/transload_call_seconds_count\{action="quote.get"\} \d+/)
  signalFirst('SIGCONT')
})

test('SIGHUP to the first process makes every worker read the tenants file again, and ends none', async () => {
  const { gateway } = await serveWith(2, writeTenant({ networks: ['127.0.0.0/8'] }))
  process.kill(gateway.pid, 'SIGHUP')
  // Nothing has changed: only the signal makes them read.
  const out = await gateway.says(/("msg":"the tenants file was read again"[\s\S]*?){2}/)
  expect(out).not.toMatch(/a worker ended/)
  expect((await get(gateway, '/readyz')).status).toBe(200)
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
})

test('a worker that is replaced makes no store anew, if its file is gone', async () => {
  const { gateway, sandbox, place, signalFirst } = await serveWith(2)
  expect((await book(gateway)).status).toBe(200)
  rmSync(join(place, 'test.db'))
  signalFirst('SIGKILL')
  await gateway.says(listening(3))
  for (let i = 0; i < 10; i += 1) expect((await book(gateway)).status).toBe(503)
  expect(existsSync(join(place, 'test.db'))).toBe(false)
  expect(sandbox.requests.filter(isCreation)).toHaveLength(1)
})

test('a worker that dies is replaced after a pause, and the others go on meanwhile', async () => {
  const { gateway, signalFirst } = await serveWith(2)
  signalFirst('SIGKILL')
  await gateway.says(/a worker ended and is replaced/)
  expect((await get(gateway, '/readyz')).status).toBe(200)
  const lines = linesOf(await gateway.says(listening(3)))
  const died = lines.find(({ msg }) => /is replaced/.test(msg))
  const back = lines.findLast(({ msg }) => msg === 'listening')
  // One that dies soon after its start may do so again.
  expect(back.time - died.time).toBeGreaterThanOrEqual(1_000)
  for (let i = 0; i < 20; i += 1) expect((await quote(gateway)).status).toBe(200)
  gateway.signal('SIGTERM')
  expect((await gateway.ended).code).toBe(0)
})

test('what one worker has verified needs no slow hash at another, nor at one that replaces it', async () => {
  const credentials = [{ id: 'acme', secret_hash: slowHash('right') }]
  const { gateway, signalFirst } = await serveWith(2, writeTenant({ credentials }))
  const status = async (secret: string) => (await quote(gateway, { authorization: basic('acme', secret) })).status
  expect(await status('right')).toBe(200)
  signalFirst('SIGKILL')
  await gateway.says(listening(3))
  // After so many guesses from its address, a secret that would have to be hashed is refused unchecked.
  const statuses = new Set<number>()
  for (let i = 0; i < 60; i += 1) statuses.add(await status(`wrong ${i}`))
  expect(statuses).toEqual(new Set([401, 429]))
  for (let i = 0; i < 20; i += 1) expect(await status('right')).toBe(200)
})

describe('updates of one shipment', () => {
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

  /** A connection to each worker, in the order of their ids. */
  async function connectionsTo({ url }: Served, pids: readonly number[]) {
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
    // The service sends no ETags.
    const { gateway, sandbox, pids } = await serveWith(3, { ADMIN_PORT: String(await freePort()) })
    const id = (await book(gateway)).headers.get('transload-shipment-id') ?? expect.fail('not booked')
    /** The requests for the shipment, in order. */
    const done = () => sandbox.requests.filter(({ path }) => path.endsWith(id)).map(({ method }) => method)
    /**
     * Resolves when updates that were sent before wait for their turn. A scrape passes through every worker and the first
     * process, behind what the workers had to tell it before.
     */
    const queued = async () => {
      for (let scrapes = 0; scrapes < 5; scrapes += 1) await (await fetch(`${gateway.adminUrl}/metrics`)).text()
    }
    const [holder, waiter, other] = await connectionsTo(gateway, pids)
    if (!holder || !waiter || !other) throw new Error('there is a connection to each')
    sandbox.fail({ kind: 'timeout-unprocessed', on: { method: 'PUT' } })
    const stuck = sandbox.next(({ method }) => method === 'PUT')
    const lost = [update(holder, { PickupName: 'Lost' }).catch((error: unknown) => error)]
    await stuck
    lost.push(update(waiter, { PickupCity: 'Lost' }).catch((error: unknown) => error))
    await queued()
    const kept = update(other, { DeliveryName: 'Kept' })
    await queued()
    expect(done()).toEqual(['GET', 'PUT'])
    for (const pid of pids.slice(0, 2).reverse()) process.kill(pid, 'SIGKILL')
    expect(await kept).toBe(200)
    for (const error of await Promise.all(lost)) expect(error).toBeInstanceOf(Error)
    expect(await update(other, { DeliveryCity: 'After' })).toBe(200)
    expect(sandbox.shipments.get(id)).toMatchObject({
      pickup: { contact_name: bookingExample.PickupName, city: bookingExample.PickupCity },
      delivery: { contact_name: 'Kept', city: 'After' },
    })
    expect(done()).toEqual(['GET', 'PUT', 'GET', 'PUT', 'GET', 'PUT'])
  })
})
