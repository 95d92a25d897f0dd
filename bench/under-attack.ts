import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { scryptSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { quoteExample } from '../mappings/quote-rows.ts'
import { type Place, startGateway } from './compare/contenders.ts'
import { HOST, type Running, residentMegabytes } from './compare/processes.ts'

/*
 * Measures how long callers wait during attacks, and how long a refused call takes: node bench/under-attack.ts
 * It needs the compiled gateway (npm run build), Linux, which answers on every address of 127.0.0.0/8, and for the slow
 * callers slowhttptest (Debian: slowhttptest); without it, these rows are left out. Attacks whose names contain a word are
 * measured alone: node bench/under-attack.ts strangers
 */

const ATTACKERS = 1_000
const SECONDS = 20
const PROBE_EVERY_MS = 10
const IN_FLIGHT = 50
const SHED = 2_000

const ATTACKS = [
  { what: 'no attack', words: undefined, path: undefined },
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

/** Attackers of test/strangers/attackers.ts: what they do, from how many addresses, and the mode of the gateway. */
const STRANGERS = [
  { what: 'no attack, client mode', kinds: undefined, addresses: 0, mode: 'client' },
  { what: 'strangers: wrong secrets', kinds: 'wrong', addresses: 50, mode: 'client' },
  { what: 'strangers: credentials of 8 KB', kinds: 'long', addresses: 50, mode: 'client' },
  { what: 'strangers: large bodies that do not end', kinds: 'large', addresses: 50, mode: 'client' },
  { what: 'strangers: all of it', kinds: 'wrong,unknown,long,slow,large', addresses: 50, mode: 'client' },
  { what: 'no attack, tenants mode', kinds: undefined, addresses: 0, mode: 'tenants' },
  { what: 'strangers: unknown ids', kinds: 'unknown', addresses: 50, mode: 'tenants' },
  {
    what: 'strangers: all of it, tenants mode',
    kinds: 'wrong,unknown,long,slow,large',
    addresses: 50,
    mode: 'tenants',
  },
] as const

const ATTACKERS_PROGRAM = join(import.meta.dirname, '../test/strangers/attackers.ts')
const CREDENTIAL = `Basic ${Buffer.from('demo:demo-secret').toString('base64')}`

interface Answer {
  readonly status: number
  readonly ms: number
}

/** Asks for one quote over a new connection. */
function quote(port: number, number: string): Promise<Answer> {
  const body = JSON.stringify({ ...quoteExample, ShipmentNumber: number })
  const headers = {
    Authorization: CREDENTIAL,
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

/** Asks for quotes, one after the other, until an attack has ended. */
async function besides(what: string, gateway: Running, attacker: ChildProcess | undefined): Promise<string> {
  let over = false
  const ended = attacker ? once(attacker, 'exit') : pause(SECONDS * 1000)
  void ended.then(() => {
    over = true
  })
  const answers: Answer[] = []
  while (!over) {
    answers.push(await quote(gateway.port, `P-${answers.length}`))
    await pause(PROBE_EVERY_MS)
  }
  return inWords(what, answers, 200, gateway.pid)
}

function slowCallers({ port }: Running, { words, path }: { readonly words: readonly string[]; readonly path: string }) {
  const common = ['-c', String(ATTACKERS), '-r', '500', '-l', String(SECONDS), '-p', '3']
  return spawn('slowhttptest', [...words, ...common, '-u', `http://${HOST}:${port}${path}`], { stdio: 'ignore' })
}

/** Measures the attacks of strangers on a gateway with the default limits. */
async function strangers(place: Place, attack: (typeof STRANGERS)[number]): Promise<string> {
  const { what, kinds, addresses, mode } = attack
  const env = mode === 'tenants' ? { TENANTS_FILE: tenantsFile(place.folder), DEMO_SECRET: 'demo-secret' } : {}
  const gateway = await startGateway(place, { env, core: null })
  try {
    const words = [
      ATTACKERS_PROGRAM,
      `http://${HOST}:${gateway.port}`,
      String(SECONDS),
      'demo',
      String(addresses),
      kinds ?? '',
    ]
    return await besides(what, gateway, kinds && spawn(process.execPath, words, { stdio: 'ignore' }))
  } finally {
    await gateway.stop()
  }
}

/** Writes a tenants file with one tenant, whose credential is the same at the service. */
function tenantsFile(folder: string): string {
  const [salt, hash] = [
    'salt of the tenant',
    scryptSync('demo-secret', 'salt of the tenant', 32, { N: 2 ** 14, r: 8, p: 1 }),
  ]
  const plain = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const path = join(folder, 'tenants.json')
  const credentials = [{ id: 'demo', secret_hash: `$scrypt$ln=14,r=8,p=1$${plain(Buffer.from(salt))}$${plain(hash)}` }]
  const v2 = { client_id: 'demo', client_secret: { env: 'DEMO_SECRET' } }
  writeFileSync(path, JSON.stringify({ tenants: [{ name: 'demo', credentials, v2 }] }))
  return path
}

/** Measures calls beyond MAX_IN_FLIGHT, while that many wait for a service that does not answer. */
async function shed(folder: string, servicePort: number): Promise<string> {
  const env = { MAX_IN_FLIGHT: String(IN_FLIGHT) }
  const gateway = await startGateway({ folder, servicePort }, { env, storeUrl: 'memory:', core: null })
  try {
    const waiting = Array.from({ length: IN_FLIGHT }, (_, i) => quote(gateway.port, `W-${i}`).catch(() => undefined))
    await pause(1_000)
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
const service = createServer((incoming, reply) => {
  incoming.resume().once('end', () => {
    if (incoming.headers.authorization === CREDENTIAL) reply.end(body)
    else reply.writeHead(401, { 'www-authenticate': 'Basic' }).end()
  })
})
const silent = createServer((incoming) => void incoming.resume())
for (const server of [service, silent]) await once(server.listen(0, HOST), 'listening')
// Servers that listen on ports have addresses with ports.
const [answering, stalling] = [service, silent].map((server) => (server.address() as AddressInfo).port)
try {
  process.stdout.write(`Quotes one after the other, each attack for ${SECONDS} s, Node ${process.versions.node}\n\n`)
  process.stdout.write(
    '| beside | answers | wrong | p50 ms | p99 ms | slowest ms | memory MB |\n|---|---:|---:|---:|---:|---:|---:|\n',
  )
  const place = { folder, servicePort: answering ?? 0 }
  const [, , word = ''] = process.argv
  const isWanted = ({ what }: { readonly what: string }) => what.includes(word)
  const hasSlowCallers = spawnSync('slowhttptest', ['-h']).error === undefined
  const gateway = await startGateway(place, { env: { SOURCE_CONNECTIONS: '10000' }, core: null })
  try {
    for (const attack of ATTACKS.filter(isWanted)) {
      if (attack.words && !hasSlowCallers) continue
      process.stdout.write(await besides(attack.what, gateway, attack.words && slowCallers(gateway, attack)))
    }
  } finally {
    await gateway.stop()
  }
  for (const attack of STRANGERS.filter(isWanted)) process.stdout.write(await strangers(place, attack))
  if (isWanted({ what: 'shed' })) process.stdout.write(await shed(folder, stalling ?? 0))
} finally {
  for (const server of [service, silent]) {
    server.close()
    server.closeAllConnections()
  }
  rmSync(folder, { recursive: true, force: true })
}
