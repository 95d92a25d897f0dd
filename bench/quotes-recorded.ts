import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { quoteExample } from '../mappings/quote-rows.ts'

/*
 * Measures what storing a quote costs: node bench/quotes-recorded.ts [--callers 64] [--rounds 15] [--seconds 2] [--profile FOLDER]
 * Two gateways, one with `memory:` and one with the embedded store, take turns in front of a minimal service; each pair of
 * rounds gives a ratio, because a busy machine slows both down. Every quote has a new number. With
 * --profile, each gateway writes CPU profiles of all its threads to the folder.
 */

const { values } = parseArgs({
  options: {
    callers: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '15' },
    seconds: { type: 'string', default: '2' },
    profile: { type: 'string' },
  },
})
const CALLERS = Number(values.callers)
const ROUNDS = Number(values.rounds)
const ROUND_MS = Number(values.seconds) * 1_000
const HOST = '127.0.0.1'
const NUMBER_DIGITS = 12
const AUTHORIZATION = `Basic ${Buffer.from('bench:secret').toString('base64')}`
const HEAD_END = '\r\n\r\n'

interface Gateway {
  readonly child: ChildProcess
  readonly port: number
}

async function startGateway(storeUrl: string, serviceUrl: string): Promise<Gateway> {
  const profile = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`]
  const main = join(import.meta.dirname, '../src/main.ts')
  const env = { V2_BASE_URL: serviceUrl, STORE_URL: storeUrl, HOST, PORT: '0', ADMIN_PORT: '0' }
  const child = spawn(process.execPath, [...profile, main], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)
  for await (const line of lines) {
    const { msg, url } = JSON.parse(line)
    if (msg !== 'listening') continue
    // The log lines of the calls are discarded, but the pipe must not fill up.
    child.stdout.resume()
    return { child, port: Number(new URL(url).port) }
  }
  throw new Error('the gateway ended before it listened')
}

/** Starts a service that answers every call with the same price. */
async function startService() {
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    // A new id for every quote, because the store must grow as it does in production.
    const body = JSON.stringify({ shipment_id: randomUUID(), price: 1234.5 })
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
    request.resume().on('end', () => response.writeHead(200, headers).end(body))
  }).listen(0, HOST)
  await once(server, 'listening')
  // A server that listens on a port has an address with a port.
  return { server, url: `http://${HOST}:${(server.address() as AddressInfo).port}` }
}

let lastNumber = 0

function quoteRequest(): string {
  lastNumber += 1
  const number = String(lastNumber).padStart(NUMBER_DIGITS, '0')
  const body = JSON.stringify({ ...quoteExample, ShipmentNumber: `W${number}`, OrderRefNumber: `O${number}` })
  return (
    `POST /getShippingQuote.php HTTP/1.1\r\nHost: ${HOST}\r\nAuthorization: ${AUTHORIZATION}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}${HEAD_END}${body}`
  )
}

/** Calls over one connection, one call at a time, until `end`; returns the number of answers. */
function callOn(port: number, end: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: HOST, noDelay: true })
    let received = ''
    let answers = 0
    socket.once('connect', () => socket.write(quoteRequest())).once('error', reject)
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const head = received.indexOf(HEAD_END)
      const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
      if (head === -1 || received.length < head + HEAD_END.length + length) return
      if (!received.startsWith('HTTP/1.1 200')) reject(new Error(received))
      received = ''
      answers += 1
      if (performance.now() < end) socket.write(quoteRequest())
      else socket.end(() => resolve(answers))
    })
  })
}

interface Round {
  readonly perSecond: number
  /** Of all threads of the gateway's process; NaN without /proc. */
  readonly cpuMicros: number
}

async function round({ child, port }: Gateway): Promise<Round> {
  const begun = performance.now()
  const before = cpuMs(child.pid)
  const answers = await Promise.all(Array.from({ length: CALLERS }, () => callOn(port, begun + ROUND_MS)))
  const all = answers.reduce((sum, count) => sum + count, 0)
  return {
    perSecond: (all * 1_000) / (performance.now() - begun),
    cpuMicros: ((cpuMs(child.pid) - before) * 1_000) / all,
  }
}

const MS_PER_TICK = 10

/** Returns the CPU time of a process so far: fields 14 and 15 of `/proc/<pid>/stat` (proc(5)). */
function cpuMs(pid: number | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK
  } catch {
    return Number.NaN
  }
}

/** Formats the median with the lower and the upper quartile. */
function spread(figures: readonly number[], digits: number): string {
  const sorted = figures.toSorted((one, other) => one - other)
  const at = (share: number) => (sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN).toFixed(digits)
  return `${at(0.5)} (${at(0.25)} to ${at(0.75)})`
}

const folder = mkdtempSync(join(tmpdir(), 'transload-bench-'))
const service = await startService()
const gateways = [
  await startGateway('memory:', service.url),
  await startGateway(join(folder, 'bench.db'), service.url),
] as const
try {
  for (const gateway of gateways) await round(gateway)
  const pairs: { readonly memory: Round; readonly recorded: Round }[] = []
  for (let nth = 0; nth < ROUNDS; nth += 1) {
    // The order rotates too.
    const first = nth % 2
    const rounds = [await round(gateways[first === 0 ? 0 : 1]), await round(gateways[first === 0 ? 1 : 0])]
    const [memory, recorded] = first === 0 ? rounds : rounds.toReversed()
    if (memory && recorded) pairs.push({ memory, recorded })
  }
  const lines = [
    `${ROUNDS} pairs of rounds of ${ROUND_MS / 1_000} s, ${CALLERS} callers, Node ${process.versions.node}; median (quartiles)`,
    `memory:        ${spread(
      pairs.map(({ memory }) => memory.perSecond),
      0,
    )} quotes/s, ${spread(
      pairs.map(({ memory }) => memory.cpuMicros),
      0,
    )} µs of CPU each`,
    `embedded       ${spread(
      pairs.map(({ recorded }) => recorded.perSecond),
      0,
    )} quotes/s, ${spread(
      pairs.map(({ recorded }) => recorded.cpuMicros),
      0,
    )} µs of CPU each`,
    `embedded/memory: ${spread(
      pairs.map(({ memory, recorded }) => recorded.perSecond / memory.perSecond),
      3,
    )} of the throughput`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
} finally {
  for (const { child } of gateways) {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
  }
  service.server.closeAllConnections()
  service.server.close()
  rmSync(folder, { recursive: true, force: true })
}
