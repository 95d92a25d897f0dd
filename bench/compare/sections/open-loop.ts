import { quote, version2Quote } from '../calls.ts'
import { durable, gateway, nodePeers, startPostgres } from '../contenders.ts'
import { median, roundTo, STUB, table, whole } from '../figures.ts'
import { load, type OpenLoad, openLoop } from '../load.ts'
import { startStub } from '../nginx.ts'
import { tell } from '../rounds.ts'
import type { Bench, Section } from '../section.ts'

/** Shares of the gateway's capacity at 32 connections. */
const SHARES = [0.25, 0.5, 0.75]
const CONNECTIONS = 32
const DIGITS = 2

interface OpenLine {
  readonly id: string
  readonly name: string
  /** Calls per second. */
  readonly rate: number
  readonly share: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
}

async function measure(bench: Bench): Promise<readonly OpenLine[]> {
  const { seconds, rounds, warmUpSeconds } = bench.sizes
  return bench.using(async (keep) => {
    const stub = await keep(startStub(bench.newFolder()))
    const server = await keep(startPostgres())
    const fastify = nodePeers.filter(({ id }) => id === 'fastify')
    const running = [{ id: STUB, name: 'the stub alone', running: stub, call: version2Quote }]
    for (const { id, name, start } of [gateway, ...durable(bench.programs, server), ...fastify]) {
      const place = { folder: bench.newFolder(), servicePort: stub.port }
      running.push({ id, name, running: await keep(start(place)), call: quote })
    }
    let capacity = 0
    for (const one of running) {
      const { port } = one.running
      await load({ port, call: one.call(), connections: CONNECTIONS, seconds: warmUpSeconds })
      if (one.id !== gateway.id) continue
      capacity = (await load({ port, call: quote(), connections: CONNECTIONS, seconds })).perSecond
    }
    const lines: OpenLine[] = []
    for (const share of SHARES) {
      const rate = Math.round(capacity * share)
      const found = running.map((one) => ({ one, loads: [] as OpenLoad[] }))
      for (let round = 0; round < rounds; round += 1) {
        tell(`${whole(rate)} calls/s, round ${round + 1} of ${rounds}`)
        for (const { one, loads } of found) {
          loads.push(await openLoop({ port: one.running.port, call: one.call(), seconds }, rate))
        }
      }
      const middle = (loads: readonly OpenLoad[], of: (load: OpenLoad) => number) =>
        roundTo(median(loads.map(of)), DIGITS)
      for (const { one, loads } of found) {
        lines.push({
          id: one.id,
          name: one.name,
          rate,
          share,
          p50Ms: middle(loads, ({ p50 }) => p50),
          p99Ms: middle(loads, ({ p99 }) => p99),
          p999Ms: middle(loads, ({ p999 }) => p999),
        })
      }
    }
    return lines
  })
}

/** Quotes at a constant rate, and the time that each contender adds to the service's own. */
export const openLoopQuotes: Section<readonly OpenLine[]> = {
  title: 'Quotes at a constant rate',
  about:
    'Shares of Transload’s rate at 32 connections, sent at a constant rate over at most 512 connections. A latency counts from ' +
    'the time at which a call was due, so it includes every wait. “Added” is the latency beyond that of the stub alone. fastify ' +
    'without a store only translates.',
  inRounds: true,
  measure,
  markdown: (lines) =>
    SHARES.map((share) => {
      const some = lines.filter((line) => line.share === share)
      const stub = some.find(({ id }) => id === STUB)
      const added = (ms: number, own: number | undefined) => (own === undefined ? '' : (ms - own).toFixed(DIGITS))
      const rows = some.map((line) => [
        line.id === gateway.id ? `**${line.name}**` : line.name,
        line.p50Ms.toFixed(DIGITS),
        line.p99Ms.toFixed(DIGITS),
        line.p999Ms.toFixed(DIGITS),
        line.id === STUB ? '' : added(line.p50Ms, stub?.p50Ms),
        line.id === STUB ? '' : added(line.p99Ms, stub?.p99Ms),
      ])
      const heads = ['', 'p50 ms', 'p99 ms', 'p99.9 ms', 'added p50 ms', 'added p99 ms']
      return `${share * 100} % of the capacity, ${whole(some[0]?.rate ?? 0)} calls/s:\n\n${table(heads, rows)}`
    }).join('\n\n'),
}
