import { bookBeforehand } from '../booked.ts'
import { newBooking, read, readById, replay } from '../calls.ts'
import { check } from '../check.ts'
import { forgetful, gateway, nodePeers, startStub } from '../contenders.ts'
import { caseTable, type Line, summarize } from '../figures.ts'
import { type Case, measure, tell } from '../rounds.ts'
import type { Section } from '../section.ts'

const CONNECTIONS = 32

/** What the others do as well. */
const shared = [
  { kind: 'bookings', title: 'Bookings, each with a reference number of its own', call: newBooking },
  {
    kind: 'reads-by-id',
    title: 'Reads of a shipment by the service’s id, which Transload looks for in its store first',
    call: readById,
  },
] as const

/** What takes a memory. */
const remembered = [
  { kind: 'reads', title: 'Reads of a shipment by the caller’s number (Transload alone)', call: () => read() },
  {
    kind: 'replays',
    title: 'Bookings that were made already, answered from their record (Transload alone)',
    call: replay,
  },
] as const

const kinds = [...shared, ...remembered]

/** Ids are those of the contenders, so that each kind is a table of its own. */
type Data = Readonly<Record<string, readonly Line[]>>

/** The other kinds of calls, beside others as far as those can do them. */
export const calls: Section<Data> = {
  title: 'Bookings, reads and replays',
  about:
    'Over 32 connections. Transload claims a booking durably, sends it over a connection of its own, and records it durably ' +
    'before it answers. The others have to ask and answer exactly the same here as well, but they only translate: no claim, ' +
    'no record, none of the caller’s numbers, and nothing against a booking that is sent twice. nginx and HAProxy take part ' +
    'in quotes and passed-through calls alone.',
  inRounds: true,
  measure: async (bench) => {
    tell('checking that all of them do the same')
    for (const { kind } of shared) await check(kind, gateway, [forgetful, ...nodePeers], bench.newFolder)
    return bench.using(async (keep) => {
      const stub = await keep(startStub(bench.newFolder(), bench.programs))
      const cases: (Case & { readonly kind: string })[] = []
      for (const { id, name, start } of [gateway, forgetful, ...nodePeers]) {
        const running = await keep(start({ folder: bench.newFolder(), servicePort: stub.port }))
        const remembers = id === gateway.id || id === forgetful.id
        if (remembers) await bookBeforehand(running)
        for (const { kind, call } of remembers ? kinds : shared) {
          cases.push({ kind, id, name, connections: CONNECTIONS, running, call })
        }
      }
      const rows = await measure(cases, bench.plan)
      const linesOf = (kind: string) =>
        summarize(
          rows.filter((_, i) => cases[i]?.kind === kind),
          gateway.id,
        )
      return Object.fromEntries(kinds.map(({ kind }) => [kind, linesOf(kind)]))
    })
  },
  markdown: (data) =>
    kinds
      .flatMap(({ kind, title }) => {
        const lines = data[kind] ?? []
        return lines.length > 0 ? [`${title}:\n\n${caseTable(lines, gateway.id, 'calls/s')}`] : []
      })
      .join('\n\n'),
}
