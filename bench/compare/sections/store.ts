import { quote } from '../calls.ts'
import { gateway, startGateway, startStub } from '../contenders.ts'
import { caseTable, type Line, summarize } from '../figures.ts'
import { type Case, measure } from '../rounds.ts'
import type { Section } from '../section.ts'

const CONNECTIONS = 32
const QUIET = { LOG_LEVEL: 'warn' }
const MEMORY = { storeUrl: 'memory:' }

const variants = [
  { id: gateway.id, name: 'embedded store, a log line per call (the default)', options: {} },
  { id: 'quiet', name: 'embedded store, no log', options: { env: QUIET } },
  { id: 'memory', name: '`STORE_URL=memory:`, a log line per call', options: MEMORY },
  { id: 'memory-quiet', name: '`STORE_URL=memory:`, no log', options: { ...MEMORY, env: QUIET } },
] as const

/** Cost of durability and of the log. */
export const store: Section<readonly Line[]> = {
  title: 'Cost of the store and of the log',
  about: 'Quotes over 32 connections; each one writes a new row.',
  inRounds: true,
  measure: (bench) =>
    bench.using(async (keep) => {
      const stub = await keep(startStub(bench.newFolder(), bench.programs))
      const cases: Case[] = []
      for (const { id, name, options } of variants) {
        const running = await keep(startGateway({ folder: bench.newFolder(), servicePort: stub.port }, options))
        cases.push({ id, name, connections: CONNECTIONS, running, call: quote })
      }
      return summarize(await measure(cases, bench.plan), gateway.id)
    }),
  markdown: (lines) => caseTable(lines, gateway.id, 'quotes/s'),
}
