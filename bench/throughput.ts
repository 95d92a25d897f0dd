import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { quoteExample } from '../mappings/quote-rows.ts'

/*
 * How many legacy quotes a second one gateway answers: node bench/throughput.ts [--seconds 5] [--rounds 3]
 * The gateway runs as a process of its own on the first core, a minimal service and the load on the second. Each figure
 * is the median of rounds that take turns. Every quote has a number of its own, so that the store writes every one.
 */

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    role: { type: 'string', default: 'load' },
  },
})
const SECONDS = Number(values.seconds)
const ROUNDS = Number(values.rounds)
const WARM_UP_SECONDS = 2
const CONNECTIONS = [1, 32]
const MS = 1_000
const GATEWAY_CORE = '0'
const OTHER_CORE = '1'
const HOST = '127.0.0.1'
const pinning = spawnSync('taskset', ['-c', OTHER_CORE, 'true']).status === 0

/** Answers every call like a service that knows the price by heart. */
async function stub(): Promise<void> {
  const body = JSON.stringify({ shipment_id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11', price: 1234.5 })
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    request.resume().on('end', () => response.writeHead(200, headers).end(body))
  })
  server.listen(0, HOST)
  await once(server, 'listening')
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
}

/** Starts a script of this repository on a core of its own. */
function start(
  core: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  stdout: 'pipe' | 'ignore',
): ChildProcess {
  const [command = '', ...rest] = [...(pinning ? ['taskset', '-c', core] : []), process.execPath, ...words]
  return spawn(command, rest, { env: { ...process.env, ...env }, stdio: ['ignore', stdout, 'inherit'] })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  await gone
}

async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

async function answers(port: number): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const ok = await fetch(`http://${HOST}:${port}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (ok) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`nothing answers on port ${port}`)
}

const NUMBER_DIGITS = 14
let lastNumber = 0

interface Server {
  readonly port: number
  readonly pid: number
}

interface Contender extends Server {
  readonly what: string
}

/** One quote, each with a number of its own. */
function quoteRequest(path: string): Buffer {
  lastNumber += 1
  const number = `WTS${String(lastNumber).padStart(NUMBER_DIGITS, '0')}`
  const body = JSON.stringify({ ...quoteExample, ShipmentNumber: number, OrderRefNumber: '' })
  const credential = Buffer.from('demo:demo-secret').toString('base64')
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: ${HOST}\r\nAuthorization: Basic ${credential}\r\n` +
      `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

interface Run {
  readonly perSecond: number
  /** Of the server's process, all its threads; unknown where there is no /proc. */
  readonly cpuMicroseconds: number
  readonly p50: number
  readonly p99: number
}

/** Sends over so many connections, one call at a time on each, for so long. */
async function load({ port, pid }: Server, connections: number, seconds: number): Promise<Run> {
  const times: number[] = []
  const cpuBefore = cpuMilliseconds(pid)
  const path = '/getShippingQuote.php'
  const end = performance.now() + seconds * MS
  await Promise.all(
    Array.from({ length: connections }, () => {
      return new Promise<void>((resolve, reject) => {
        const socket = connect({ port, host: HOST, noDelay: true })
        let received = ''
        let sentAt = 0
        const send = () => {
          const request = quoteRequest(path)
          sentAt = performance.now()
          socket.write(request)
        }
        socket.once('connect', send).once('error', reject)
        socket.on('data', (chunk) => {
          received += chunk.toString('latin1')
          const head = received.indexOf('\r\n\r\n')
          if (head === -1) return
          const length = Number(/content-length: (\d+)/i.exec(received)?.[1])
          if (received.length < head + 4 + length) return
          const now = performance.now()
          times.push(now - sentAt)
          if (!received.startsWith('HTTP/1.1 200')) return reject(new Error(received))
          received = ''
          if (now < end) return send()
          socket.end()
          resolve()
        })
      })
    }),
  )
  times.sort((one, other) => one - other)
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN
  const cpuMicroseconds = ((cpuMilliseconds(pid) - cpuBefore) * MS) / times.length
  return { perSecond: times.length / seconds, cpuMicroseconds, p50: at(0.5), p99: at(0.99) }
}

const MS_PER_TICK = 10

/** What a process has computed so far: fields 14 and 15 of `/proc/<pid>/stat` (proc(5)). */
function cpuMilliseconds(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
    return (Number(user) + Number(system)) * MS_PER_TICK
  } catch {
    return Number.NaN
  }
}

const median = (figures: readonly number[]) =>
  [...figures].sort((one, other) => one - other)[Math.floor(figures.length / 2)] ?? Number.NaN

async function measure(): Promise<void> {
  if (pinning) spawnSync('taskset', ['-a', '-cp', OTHER_CORE, String(process.pid)])
  const folder = mkdtempSync(join(tmpdir(), 'transload-bench-'))
  const children: ChildProcess[] = []
  try {
    const service = start(OTHER_CORE, [import.meta.filename, '--role', 'stub'], {}, 'pipe')
    children.push(service)
    const [said] = service.stdout ? await once(service.stdout, 'data') : ['']
    const servicePort = Number(said)

    const gateway = async (what: string, env: NodeJS.ProcessEnv): Promise<Contender> => {
      const port = await freePort()
      const given = { V2_BASE_URL: `http://${HOST}:${servicePort}`, HOST, PORT: String(port), ADMIN_PORT: '0', ...env }
      const child = start(GATEWAY_CORE, [join(import.meta.dirname, '../src/main.ts')], given, 'ignore')
      children.push(child)
      await answers(port)
      return { what, port, pid: child.pid ?? 0 }
    }
    const contenders: readonly Contender[] = [
      { what: 'straight to the stub: the limit of the load', port: servicePort, pid: service.pid ?? 0 },
      await gateway('gateway, memory:, no log', { STORE_URL: 'memory:', LOG_LEVEL: 'warn' }),
      await gateway('gateway, memory:, a log line per call', { STORE_URL: 'memory:' }),
      await gateway('gateway, embedded store, a log line per call', { STORE_URL: join(folder, 'bench.db') }),
    ]
    const runs = contenders.flatMap((contender) =>
      CONNECTIONS.map((connections) => ({ contender, connections, rounds: [] as Run[] })),
    )
    for (const { contender, connections } of runs) await load(contender, connections, WARM_UP_SECONDS)
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const { contender, connections, rounds } of runs) rounds.push(await load(contender, connections, SECONDS))
    }

    const where = pinning ? 'the gateway on one core, stub and load on another' : 'nothing pinned: taskset is missing'
    process.stdout.write(`Medians of ${ROUNDS} rounds of ${SECONDS} s, Node ${process.versions.node}, ${where}\n\n`)
    process.stdout.write(
      '| What | connections | quotes/s | p50 ms | p99 ms | CPU µs per call |\n|---|---:|---:|---:|---:|---:|\n',
    )
    for (const { contender, connections, rounds } of runs) {
      const perSecond = Math.round(median(rounds.map((run) => run.perSecond)))
      const [p50, p99] = [median(rounds.map((run) => run.p50)), median(rounds.map((run) => run.p99))]
      const cpu = Math.round(median(rounds.map((run) => run.cpuMicroseconds)))
      const figures = [perSecond, p50.toFixed(2), p99.toFixed(2), cpu].join(' | ')
      process.stdout.write(`| ${contender.what} | ${connections} | ${figures} |\n`)
    }
  } finally {
    await Promise.all(children.map(stop))
    rmSync(folder, { recursive: true, force: true })
  }
}

await (values.role === 'stub' ? stub() : measure())
