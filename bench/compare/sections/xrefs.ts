import { join } from 'node:path'
import { openStore } from '../../../src/outside/store/open.ts'
import type { LoadedName } from '../../../src/outside/store/store.ts'
import { bookBeforehand } from '../booked.ts'
import { type Names, nameAt, quote, read, TENANT } from '../calls.ts'
import { gateway, startGateway, startStub } from '../contenders.ts'
import { caseTable, type Line, summarize, whole } from '../figures.ts'
import { type Case, measure, type Row, tell } from '../rounds.ts'
import type { Section } from '../section.ts'

/** Returns a number that is spread over 32 bits: neighbors of an index lie far apart. */
function scattered(index: number): number {
  return Math.imul(index, 2_654_435_761) >>> 0
}

/** Returns an id in the form of the service's, spread over the key space and the same in every run. */
function idOf(index: number): string {
  const hex = scattered(index).toString(16).padStart(8, '0')
  return `${hex}-${hex.slice(0, 4)}-4${hex.slice(1, 4)}-8${hex.slice(2, 5)}-${hex}${hex.slice(0, 4)}`
}

const CONNECTIONS = 32
const BATCH = 5_000
const TELL_EVERY = 1_000_000
/** Reads are spread over the store: a prime, which divides no round number. */
const STRIDE = 104_729
const DIGITS = 14

interface Data {
  readonly links: number
  readonly loadSeconds: number
  readonly quotes: readonly Line[]
  readonly reads: readonly Line[]
}

const loaded = (count: number): Names => ({ prefix: 'OLD', digits: DIGITS, first: 0, count })

/** Fills a store like an import of old numbers. */
async function fill(file: string, count: number): Promise<void> {
  const store = await openStore(`sqlite:${file}`)
  const names = loaded(count)
  const linkAt = (index: number): LoadedName => {
    const kind = index % 2 === 0 ? 'shipment' : 'quote'
    const at = 1_760_000_000_000 + index
    return { tenant: TENANT, kind, name: nameAt(names, index), vin: '', id: idOf(index), givenBy: 'caller', at }
  }
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from)
    await store.load(
      Array.from({ length: size }, (_, i) => linkAt(from + i)),
      { replace: false },
    )
    if ((from + size) % TELL_EVERY === 0) tell(`${whole(from + size)} cross-references`)
  }
  await store.close()
}

/** Cost of a full cross-reference. */
export const xrefs: Section<Data> = {
  title: 'With a full cross-reference',
  about:
    'Over 32 connections. Quotes add to both stores. Reads of the full store are spread over all shipments; reads of the other ' +
    'repeat a few thousand.',
  inRounds: true,
  measure: (bench) =>
    bench.using(async (keep) => {
      const count = bench.sizes.xrefs
      const stub = await keep(startStub(bench.newFolder()))
      const [full, empty] = [bench.newFolder(), bench.newFolder()]
      const begun = performance.now()
      await fill(join(full, 'transload.db'), count)
      const loadSeconds = Math.round((performance.now() - begun) / 1_000)
      const one = await keep(startGateway({ folder: empty, servicePort: stub.port }))
      const many = await keep(startGateway({ folder: full, servicePort: stub.port }))
      await bookBeforehand(one)
      // Every second name is a shipment's.
      const everywhere = { ...loaded(count), stride: STRIDE * 2 }
      const base = { id: gateway.id, name: 'a store that started empty', connections: CONNECTIONS, running: one }
      const filled = { id: 'full', name: `${whole(count)} cross-references`, connections: CONNECTIONS, running: many }
      const cases: readonly Case[] = [
        { ...base, call: quote },
        { ...filled, call: quote },
        { ...base, call: () => read() },
        { ...filled, call: () => read(everywhere) },
      ]
      const [a, b, c, d] = await measure(cases, bench.sizes)
      const lines = (...some: (Row | undefined)[]) =>
        summarize(
          some.filter((row) => row !== undefined),
          gateway.id,
        )
      return { links: count, loadSeconds, quotes: lines(a, b), reads: lines(c, d) }
    }),
  markdown: ({ links, loadSeconds, quotes, reads }) =>
    `Loading ${whole(links)} cross-references took ${whole(loadSeconds)} s.\n\n` +
    `Quotes:\n\n${caseTable(quotes, gateway.id, 'quotes/s')}\n\nReads:\n\n${caseTable(reads, gateway.id, 'reads/s')}`,
}
