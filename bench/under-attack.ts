import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quoteExample } from '../mappings/quote-rows.ts'
import { startGateway } from './compare/contenders.ts'
import { HOST, type Running, residentMegabytes } from './compare/processes.ts'

/*
 * Measures how long callers wait during attacks, and how long a refused call takes: node bench/under-attack.ts
 * It needs slowhttptest (Debian: slowhttptest) and the compiled gateway (npm run build).
 */

const ATTACKERS = 1_000
const SECONDS = 20
const PROBE_EVERY_MS = 10
const IN_FLIGHT = 50
const SHED = 2_000

const ATTACKS = [
  { what: 'no attack', words: undefined },
  { what: 'slow with their headers (-H)', words: ['-H', '-i', '2', '-x', '10'], path: '/healthz' },
  {
    what: 'slow with their body (-B)',
    words: ['-B', '-i', '2', '-x', '10', '-s', '8192'],
    path: '/createShipment.php',
  },
  {
    what: 'slow to read (-X)',
    words: ['-X', '-w', '1', '-y', '8', '-n', '5', '-z', '8', '-k', '3'],
    path: '/openapi.json',
  },
] as const

interface Answer {
  readonly status: number
  readonly ms: number
}

/** Asks for one quote over a connection of its own. */
function quote(port: number, number: string): Promise<Answer> {
  const body = JSON.stringify({ ...quoteExample, ShipmentNumber: number })
  const headers = {
    Authorization: `Basic ${Buffer.from('demo:demo-secret').toString('base64')}`,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  }
  const startedAt = performance.now()
  return new Promise((resolve, reject) => {
    const call = httpRequest({ host: HOST, port, path: '/getShippingQuote.php', method: 'POST', headers }, (reply) => {
      const ms = performance.now() - startedAt
      reply.resume().once('end', () => resolve({ status: reply.statusCode ?? 0, ms }))
    })
    call.once('error', reject).end(body)
  })
}

const at = (sorted: readonly Answer[], share: number) =>
  sorted[Math.floor(sorted.length * share)]?.ms.toFixed(1) ?? 'none'

/** Formats one row; every answer must have the expected status. */
function inWords(what: string, answers: readonly Answer[], status: number, pid: number): string {
  const wrong = answers.filter((answer) => answer.status !== status).length
  const sorted = answers.toSorted((one, other) => one.ms - other.ms)
  const figures = [
    answers.length,
    wrong,
    at(sorted, 0.5),
    at(sorted, 0.99),
    at(sorted, 0.9999),
    Math.round(residentMegabytes(pid)),
  ]
  if (wrong > 0) process.exitCode = 1
  return `| ${what} | ${figures.join(' | ')} |\n`
}

async function others(gateway: Running, attack: (typeof ATTACKS)[number]): Promise<string> {
  let over = false
  const attacker =
    attack.words &&
    spawn(
      'slowhttptest',
      [
        ...attack.words,
        ...['-c', String(ATTACKERS), '-r', '500', '-l', String(SECONDS), '-p', '3'],
        ...['-u', `http://${HOST}:${gateway.port}${attack.path}`],
      ],
      { stdio: 'ignore' },
    )
  const ended = attacker ? once(attacker, 'exit') : new Promise((resolve) => setTimeout(resolve, SECONDS * 1000))
  void ended.then(() => {
    over = true
  })
  const answers: Answer[] = []
  while (!over) {
    answers.push(await quote(gateway.port, `P-${answers.length}`))
    await new Promise((resolve) => setTimeout(resolve, PROBE_EVERY_MS))
  }
  return inWords(attack.what, answers, 200, gateway.pid)
}

/** Measures calls beyond MAX_IN_FLIGHT, while that many wait for a service that does not answer. */
async function shed(folder: string, servicePort: number): Promise<string> {
  const env = { MAX_IN_FLIGHT: String(IN_FLIGHT) }
  const gateway = await startGateway({ folder, servicePort }, { env, storeUrl: 'memory:', core: null })
  try {
    const waiting = Array.from({ length: IN_FLIGHT }, (_, i) => quote(gateway.port, `W-${i}`).catch(() => undefined))
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    const answers: Answer[] = []
    while (answers.length < SHED) answers.push(await quote(gateway.port, 'S'))
    const words = inWords(`shed: ${IN_FLIGHT} under way`, answers, 503, gateway.pid)
    await gateway.stop()
    await Promise.all(waiting)
    return words
  } finally {
    await gateway.stop()
  }
}

const folder = mkdtempSync(join(tmpdir(), 'transload-bench-'))
const body = JSON.stringify({ shipment_id: '6f1e4c1e-7a55-4b0c-9a3f-2f9d1c0b7e11', price: 1234.5 })
const service = createServer((incoming, reply) => void incoming.resume().once('end', () => reply.end(body)))
const silent = createServer((incoming) => void incoming.resume())
for (const server of [service, silent]) await once(server.listen(0, HOST), 'listening')
// Servers that listen on ports have addresses with ports.
const [answering, stalling] = [service, silent].map((server) => (server.address() as AddressInfo).port)
try {
  process.stdout.write(
    `Quotes one after the other, ${ATTACKERS} attackers for ${SECONDS} s, Node ${process.versions.node}\n\n`,
  )
  process.stdout.write(
    '| beside | answers | wrong | p50 ms | p99 ms | slowest ms | memory MB |\n|---|---:|---:|---:|---:|---:|---:|\n',
  )
  const place = { folder, servicePort: answering ?? 0 }
  const gateway = await startGateway(place, { env: { SOURCE_CONNECTIONS: '10000' }, core: null })
  try {
    for (const attack of ATTACKS) process.stdout.write(await others(gateway, attack))
  } finally {
    await gateway.stop()
  }
  process.stdout.write(await shed(folder, stalling ?? 0))
} finally {
  for (const server of [service, silent]) {
    server.close()
    server.closeAllConnections()
  }
  rmSync(folder, { recursive: true, force: true })
}
