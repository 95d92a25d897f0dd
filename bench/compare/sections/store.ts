import { quote } from '../calls.ts'
import { gateway, startGateway, startStub } from '../contenders.ts'
import { caseTable, type Line, summarize } from '../figures.ts'
import { type Case, measure } from '../rounds.ts'
import type { Section } from '../section.ts'

const CONNECTIONS = 32
const QUIET = { LOG_LEVEL: 'warn' }
const MEMORY = { storeUrl: 'memory:' }

const variants = [
  { id: gateway.id, name: 'durable store, a log line per call (as shipped)', options: {} },
  { id: 'quiet', name: 'durable store, no log', options: { env: QUIET } },
  { id: 'memory', name: '`STORE_URL=memory:`, a log line per call', options: MEMORY },
  { id: 'memory-quiet', name: '`STORE_URL=memory:`, no log', options: { ...MEMORY, env: QUIET } },
] as const

/** What durability and the log cost. */
export const store: Section<readonly Line[]> = {
  title: 'What the store and the log cost',
  about: 'Quotes over 32 connections; every one is a new row in the store.',
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
