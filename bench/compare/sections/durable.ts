import { quote } from '../calls.ts'
import { check } from '../check.ts'
import { durable, gateway, overPostgres, startPostgres, startStub } from '../contenders.ts'
import { type Line, summarize, tablesByConnections } from '../figures.ts'
import { type Case, measure, tell } from '../rounds.ts'
import type { Section } from '../section.ts'

const CONNECTIONS = [1, 32]

/** Quotes beside contenders that keep the same promise: what is answered is on the disk. */
export const durableQuotes: Section<readonly Line[]> = {
  title: 'Quotes, with the same promise',
  about:
    'Every contender responds only once the quote is on disk. Redis stores it for nginx (`appendfsync always`, two `SET`s in a ' +
    'pipeline). PostgreSQL stores it for express (a pool of 16), and `node:sqlite` for fastify (`synchronous=FULL`), in a ' +
    'transaction per quote. ' +
    'Redis and PostgreSQL share the contender’s core. The parts of Transload alone are Hono, undici’s lowest call and ' +
    '`node:sqlite` in a thread that commits in groups. They do not identify callers, check, retry, log or count, so no gateway ' +
    'of these parts can be faster.',
  inRounds: true,
  measure: (bench) =>
    bench.using(async (keep) => {
      const server = await keep(startPostgres())
      const peers = durable(bench.programs, server)
      tell('checking that all of them do the same')
      await check('quotes', gateway, peers, bench.newFolder)
      const stub = await keep(startStub(bench.newFolder(), bench.programs))
      const cases: Case[] = []
      for (const { id, name, start } of [gateway, overPostgres(server), ...peers]) {
        const running = await keep(start({ folder: bench.newFolder(), servicePort: stub.port }))
        for (const connections of CONNECTIONS) cases.push({ id, name, connections, running, call: quote })
      }
      return summarize(await measure(cases, bench.plan), gateway.id)
    }),
  markdown: (lines) => tablesByConnections(lines, gateway.id, 'quotes/s'),
}
