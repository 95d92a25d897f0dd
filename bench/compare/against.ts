import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { bookBeforehand } from './booked.ts'
import { type Call, newBooking, quote, read, readById, replay, version2Quote } from './calls.ts'
import { gateway, nodePeers, postgresUrl, startGateway, startPostgres } from './contenders.ts'
import { caseTable, summarize } from './figures.ts'
import { startStub } from './nginx.ts'
import { findPrograms } from './programs.ts'
import { measure } from './rounds.ts'
import { createBench } from './section.ts'

/*
 * Measures this checkout against another one of the gateway, which is built already, in interleaved rounds:
 *
 * node bench/compare/against.ts FOLDER [--only quotes,…] [--connections 32] [--seconds 5] [--rounds 5] [--warm-up 10] [--postgres]
 */

const kinds = new Map<string, () => Call>([
  ['quotes', quote],
  ['pass-through', version2Quote],
  ['reads', () => read()],
  ['reads-by-id', readById],
  ['bookings', newBooking],
  ['replays', replay],
])

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: 'string', default: [...kinds.keys()].join(',') },
    connections: { type: 'string', default: '32' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '5' },
    'warm-up': { type: 'string', default: '10' },
    postgres: { type: 'boolean', default: false },
  },
})
const [other] = positionals
if (other === undefined) throw new Error('name the folder of the other checkout')
const ROOT = join(import.meta.dirname, '../..')
spawnSync('npm', ['run', '--silent', 'build'], { cwd: ROOT, stdio: 'inherit' })

const programs = findPrograms()
const folder = mkdtempSync(join(tmpdir(), 'transload-against-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const bench = createBench(folder, programs, {
  warmUpSeconds: Number(values['warm-up']),
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  starts: 0,
})
const fastify = nodePeers.find(({ id }) => id === 'fastify')
const gateways = [
  { id: gateway.id, name: gateway.name, root: ROOT },
  { id: 'other', name: other, root: resolve(other) },
]

for (const kind of values.only.split(',')) {
  const call = kinds.get(kind)
  if (!call) throw new Error(`there is no ${kind}, only ${[...kinds.keys()]}`)
  const lines = await bench.using(async (keep) => {
    const stub = await keep(startStub(bench.newFolder()))
    const cases = []
    const place = () => ({ folder: bench.newFolder(), servicePort: stub.port })
    const connections = Number(values.connections)
    for (const { id, name, root } of gateways) {
      const storeUrl = values.postgres ? postgresUrl(await keep(startPostgres())) : undefined
      const running = await keep(startGateway(place(), { root, ...(storeUrl && { storeUrl }) }))
      if (kind === 'reads' || kind === 'replays') await bookBeforehand(running)
      cases.push({ id, name, connections, running, call })
    }
    if (kind === 'pass-through' && fastify) {
      cases.push({ id: fastify.id, name: fastify.name, connections, running: await keep(fastify.start(place())), call })
    }
    return summarize(await measure(cases, bench.sizes), gateway.id)
  })
  process.stdout.write(`\n${kind}\n\n${caseTable(lines, gateway.id, 'calls/s')}\n`)
}
