import { type Call, quote, version2Quote } from '../calls.ts'
import { check, type Kind } from '../check.ts'
import {
  type Contender,
  durable,
  forgetful,
  gateway,
  overPostgres,
  passers,
  startPostgres,
  translators,
} from '../contenders.ts'
import { type Line, STUB, summarize, tablesByConnections } from '../figures.ts'
import { startStub } from '../nginx.ts'
import type { Programs } from '../programs.ts'
import { type Case, measure, tell } from '../rounds.ts'
import type { Bench, Keep, Section } from '../section.ts'

const CONNECTIONS = [1, 32]

interface Comparison {
  readonly kind: Kind
  readonly call: () => Call
  readonly others: (programs: Programs, keep: Keep) => Promise<readonly Contender[]>
  /** True if the stub alone is measured, which is the limit of the measurement. */
  readonly hasStub: boolean
}

/** Measures the gateway and other contenders. */
const compare =
  ({ kind, others, call, hasStub }: Comparison) =>
  (bench: Bench): Promise<readonly Line[]> =>
    bench.using(async (keep) => {
      const peers = await others(bench.programs, keep)
      tell('checking that all of them do the same')
      await check(kind, gateway, peers, bench.newFolder)
      const stub = await keep(startStub(bench.newFolder()))
      const cases: Case[] = []
      const add = (one: Omit<Case, 'connections'>) => {
        for (const connections of CONNECTIONS) cases.push({ ...one, connections })
      }
      if (hasStub) add({ id: STUB, name: 'the stub alone: the limit of the load', running: stub, call: version2Quote })
      for (const { id, name, start } of [gateway, ...peers]) {
        add({ id, name, running: await keep(start({ folder: bench.newFolder(), servicePort: stub.port })), call })
      }
      return summarize(await measure(cases, bench.sizes), gateway.id)
    })

/** Quotes, translated in both directions. */
export const quotes: Section<readonly Line[]> = {
  title: 'Translated quotes',
  about:
    'A version-1 quote of 27 fields is translated, and so is the reply. Transload has its default settings: it identifies the ' +
    'caller, stores every quote before it responds, and logs each call. The other gateways only translate.',
  inRounds: true,
  measure: compare({
    kind: 'quotes',
    call: quote,
    others: async (programs) => [forgetful, ...translators(programs)],
    hasStub: true,
  }),
  markdown: (lines) => tablesByConnections(lines, gateway.id, 'quotes/s'),
}

/** Version-2 calls, passed through unchanged. */
export const passThrough: Section<readonly Line[]> = {
  title: 'Version-2 calls, passed through',
  about: 'A version-2 quote and its reply pass through unchanged.',
  inRounds: true,
  measure: compare({
    kind: 'pass-through',
    call: version2Quote,
    others: async (programs) => passers(programs),
    hasStub: true,
  }),
  markdown: (lines) => tablesByConnections(lines, gateway.id, 'calls/s'),
}

/** Quotes beside contenders that keep the same promise: what is answered is on the disk. */
export const durableQuotes: Section<readonly Line[]> = {
  title: 'Quotes, with the same promise',
  about:
    'Every contender responds only once the quote is on disk. Redis stores it for nginx (`appendfsync always`, two `SET`s in a ' +
    'pipeline). PostgreSQL stores it for express (a pool of 16), and `node:sqlite` for fastify (`synchronous=FULL`), in a ' +
    'transaction per quote. ' +
    'Redis and PostgreSQL share the contender’s core. The parts of Transload alone are Hono, undici’s lowest call and ' +
    '`node:sqlite` in a thread that commits in groups. They do not identify callers, check, retry, log or count, so no gateway ' +
    'made of these parts can be faster.',
  inRounds: true,
  measure: compare({
    kind: 'quotes',
    call: quote,
    others: async (programs, keep) => {
      const server = await keep(startPostgres())
      return [overPostgres(server), ...durable(programs, server)]
    },
    hasStub: false,
  }),
  markdown: (lines) => tablesByConnections(lines, gateway.id, 'quotes/s'),
}
