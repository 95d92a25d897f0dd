import { quote } from '../calls.ts'
import { startGateway, startStub } from '../contenders.ts'
import { caseTable, type Line, summarize } from '../figures.ts'
import { type Case, measure } from '../rounds.ts'
import type { Section } from '../section.ts'

const CONNECTIONS = [32, 128] as const
/** The id of the case with one worker. */
const BASE = '1'

/** One process, and two that share the port and the store. */
export const workers: Section<readonly Line[]> = {
  title: 'One worker and two',
  about:
    'Quotes over 32 and over 128 connections; the gateway may use every core. On a machine with two cores, the load and the ' +
    'stub of the service need much of one of them.',
  inRounds: true,
  measure: (bench) =>
    bench.using(async (keep) => {
      const stub = await keep(startStub(bench.newFolder(), bench.programs))
      const cases: Case[] = []
      for (const number of [1, 2]) {
        const options = { core: null, env: { WORKERS: String(number) } }
        const running = await keep(startGateway({ folder: bench.newFolder(), servicePort: stub.port }, options))
        const name = number === 1 ? 'one worker' : `\`WORKERS=${number}\``
        for (const connections of CONNECTIONS) {
          cases.push({ id: String(number), name, connections, running, call: quote })
        }
      }
      return summarize(await measure(cases, bench.plan), BASE)
    }),
  markdown: (lines) =>
    CONNECTIONS.flatMap((connections) => {
      const some = lines.filter((line) => line.connections === connections)
      return some.length > 0 ? [`${connections} connections:\n\n${caseTable(some, BASE, 'quotes/s')}`] : []
    }).join('\n\n'),
}
