import { type Call, quote, version2Quote } from '../calls.ts'
import { check, type Kind } from '../check.ts'
import { type Contender, forgetful, gateway, passers, startStub, translators } from '../contenders.ts'
import { type Line, STUB, summarize, tablesByConnections } from '../figures.ts'
import type { Programs } from '../programs.ts'
import { type Case, measure, tell } from '../rounds.ts'
import type { Bench, Section } from '../section.ts'

const CONNECTIONS = [1, 32]

interface Comparison {
  readonly kind: Kind
  readonly others: (programs: Programs) => readonly Contender[]
  readonly call: () => Call
}

/** Measures the gateway, other contenders, and the stub alone, which is the limit of the measurement. */
async function compare({ kind, others, call }: Comparison, bench: Bench): Promise<readonly Line[]> {
  const peers = others(bench.programs)
  tell('checking that all of them do the same')
  await check(kind, gateway, peers, bench.newFolder)
  return bench.using(async (keep) => {
    const stub = await keep(startStub(bench.newFolder(), bench.programs))
    const cases: Case[] = []
    const add = (one: Omit<Case, 'connections'>) => {
      for (const connections of CONNECTIONS) cases.push({ ...one, connections })
    }
    add({ id: STUB, name: 'the stub alone: the limit of the load', running: stub, call: version2Quote })
    for (const { id, name, start } of [gateway, ...peers]) {
      const running = await keep(start({ folder: bench.newFolder(), servicePort: stub.port }))
      add({ id, name, running, call })
    }
    return summarize(await measure(cases, bench.plan), gateway.id)
  })
}

/** Quotes, translated in both directions. */
export const quotes: Section<readonly Line[]> = {
  title: 'Translated quotes',
  about:
    'A version-1 quote of 27 fields is translated, and so is the reply. Transload has its default settings: it identifies the ' +
    'caller, stores every quote before it responds, and logs each call. The other gateways only translate.',
  inRounds: true,
  measure: (bench) =>
    compare({ kind: 'quotes', others: (programs) => [forgetful, ...translators(programs)], call: quote }, bench),
  markdown: (lines) => tablesByConnections(lines, gateway.id, 'quotes/s'),
}

/** Version-2 calls, passed through unchanged. */
export const passThrough: Section<readonly Line[]> = {
  title: 'Version-2 calls, passed through',
  about: 'A version-2 quote and its reply pass through unchanged.',
  inRounds: true,
  measure: (bench) => compare({ kind: 'pass-through', others: passers, call: version2Quote }, bench),
  markdown: (lines) => tablesByConnections(lines, gateway.id, 'calls/s'),
}
