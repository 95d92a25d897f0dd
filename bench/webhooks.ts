import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { quoteExample } from '../mappings/quote-rows.ts'

/*
 * Measures events beside quotes: node bench/webhooks.ts [--seconds 8] [--callers 16] [--rates 50,200]
 * One gateway with the embedded store, a service that answers at once, and a receiver of callbacks. First quotes alone, then
 * quotes beside events at each rate, then events alone, as many as 4 senders can.
 */

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '8' },
    callers: { type: 'string', default: '16' },
    rates: { type: 'string', default: '50,200' },
  },
})
const SECONDS = Number(values.seconds)
const CALLERS = Number(values.callers)
const RATES = values.rates.split(',').map(Number)
const SENDERS = 4
const WARM_UP_SECONDS = 4
/** The longest wait for the last deliveries. */
const PATIENCE_MS = 60_000
const HOST = '127.0.0.1'
const SECRET = 'bench-webhook-secret-0123456789'

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, handler).listen(0, HOST)
  await once(server, 'listening')
  server.unref()
  // A server that listens on a port has an address with a port.
  return `http://${HOST}:${(server.address() as AddressInfo).port}`
}

/** Answers quotes, and reads of any shipment. */
const service: RequestListener = (request, response) => {
  const id = request.url?.match(/^\/v2\/shipments\/([^/?]+)$/)?.[1]
  const body = JSON.stringify(
    id === undefined ? { shipment_id: randomUUID(), price: 1234.5 } : { id, number: `N-${id}`, status: 'posted' },
  )
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  request.resume().on('end', () => response.writeHead(200, headers).end(body))
}

/** When each event was sent, and how long each took to its delivery, in milliseconds. */
const sentAt = new Map<string, number>()
const arrivedAt = new Map<string, number>()

const receiver: RequestListener = (request, response) => {
  arrivedAt.set(String(request.headers['webhook-id']), performance.now())
  request.resume().on('end', () => response.writeHead(204).end())
}

async function startGateway(folder: string, serviceUrl: string, callbackUrl: string): Promise<[ChildProcess, string]> {
  const tenants = join(folder, 'tenants.json')
  const tenant = {
    name: 'acme',
    networks: ['127.0.0.0/8'],
    v2: { client_id: 'acme-v2', client_secret: { env: 'V2_SECRET' } },
    webhook_secret: { env: 'HOOK_SECRET' },
    callback_url: callbackUrl,
    callback_allow_http: true,
    callback_networks: ['127.0.0.0/8'],
  }
  writeFileSync(tenants, JSON.stringify({ tenants: [tenant] }))
  const env = {
    V2_BASE_URL: serviceUrl,
    STORE_URL: join(folder, 'store.db'),
    TENANTS_FILE: tenants,
    V2_SECRET: 'bench',
    HOOK_SECRET: SECRET,
    HOST,
    PORT: '0',
    ADMIN_PORT: '0',
    // One source may send 1,000 events in a second.
    TRUST_PROXY: HOST,
  }
  const main = join(import.meta.dirname, '../src/main.ts')
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface(child.stdout)) {
    const { msg, url } = JSON.parse(line)
    if (msg !== 'listening') continue
    // The log lines of the calls are discarded, but the pipe must not fill up.
    child.stdout.resume()
    return [child, url]
  }
  throw new Error('the gateway ended before it listened')
}

async function post(
  pool: Pool,
  path: string,
  body: object,
): Promise<{ readonly status: number; readonly text: string }> {
  const source = `10.0.0.${Math.floor(performance.now()) % 250}`
  const headers = { 'content-type': 'application/json', 'x-forwarded-for': source }
  const reply = await pool.request({ method: 'POST', path, headers, body: JSON.stringify(body) })
  return { status: reply.statusCode, text: await reply.body.text() }
}

let lastNumber = 0

/** Asks for quotes until the time is over; returns the time of each, in milliseconds. */
async function quotes(pool: Pool, until: number): Promise<readonly number[]> {
  const times: number[] = []
  const caller = async () => {
    while (performance.now() < until) {
      lastNumber += 1
      const startedAt = performance.now()
      const { status } = await post(pool, '/getShippingQuote.php', {
        ...quoteExample,
        ShipmentNumber: `B${lastNumber}`,
      })
      if (status !== 200) throw new Error(`a quote got ${status}`)
      times.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return times
}

async function sendEvent(pool: Pool): Promise<void> {
  const event = { shipment_id: randomUUID(), event: 'shipment.picked_up', event_date: '2024-08-10T08:00:00+0000' }
  const startedAt = performance.now()
  const { status, text } = await post(pool, `/webhooks/${SECRET}`, event)
  if (status !== 200) throw new Error(`an event got ${status}: ${text}`)
  sentAt.set(JSON.parse(text).id, startedAt)
}

/** Sends events at a rate until the time is over. */
async function events(pool: Pool, perSecond: number, until: number): Promise<void> {
  const startedAt = performance.now()
  const sent: Promise<void>[] = []
  while (performance.now() < until) {
    const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond)
    while (sent.length < due) sent.push(sendEvent(pool))
    await pause(5)
  }
  await Promise.all(sent)
}

/** Waits for the deliveries of everything that was sent; returns how long each took. */
async function deliveries(): Promise<readonly number[]> {
  const giveUpAt = performance.now() + PATIENCE_MS
  while (arrivedAt.size < sentAt.size && performance.now() < giveUpAt) await pause(20)
  const times = [...sentAt].map(([id, at]) => (arrivedAt.get(id) ?? Number.POSITIVE_INFINITY) - at)
  sentAt.clear()
  arrivedAt.clear()
  return times
}

function percentile(times: readonly number[], share: number): string {
  const sorted = times.toSorted((one, other) => one - other)
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN).toFixed(1)
}

const row = (...cells: readonly (string | number)[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`)
const perSecond = (count: number, seconds: number) => Math.round(count / seconds).toLocaleString('en-US')
const inSeconds = (seconds: number) => performance.now() + seconds * 1_000

const folder = mkdtempSync(join(tmpdir(), 'transload-webhooks-'))
const [child, url] = await startGateway(folder, await listen(service), await listen(receiver))
const pool = new Pool(url, { connections: CALLERS + SENDERS })
try {
  await Promise.all([quotes(pool, inSeconds(WARM_UP_SECONDS)), events(pool, 20, inSeconds(WARM_UP_SECONDS))])
  await deliveries()
  row('', 'quotes/s', 'p50 ms', 'p99 ms', 'events/s', 'to delivery p50 ms', 'p99 ms')
  row(...Array.from({ length: 7 }, () => '---'))
  for (const rate of [0, ...RATES, 0]) {
    const until = inSeconds(SECONDS)
    const [times] = await Promise.all([quotes(pool, until), events(pool, rate, until)])
    const sent = sentAt.size
    const took = await deliveries()
    row(
      rate === 0 ? 'quotes alone' : `beside ${rate} events/s`,
      perSecond(times.length, SECONDS),
      percentile(times, 0.5),
      percentile(times, 0.99),
      perSecond(sent, SECONDS),
      ...(sent === 0 ? ['', ''] : [percentile(took, 0.5), percentile(took, 0.99)]),
    )
  }
  const until = inSeconds(SECONDS)
  const sender = async () => {
    while (performance.now() < until) await sendEvent(pool)
  }
  await Promise.all(Array.from({ length: SENDERS }, sender))
  const sent = sentAt.size
  const took = await deliveries()
  row('events alone', '', '', '', perSecond(sent, SECONDS), percentile(took, 0.5), percentile(took, 0.99))
} finally {
  await pool.close()
  child.kill('SIGTERM')
  await once(child, 'exit')
  rmSync(folder, { recursive: true, force: true })
}
