import { bookBeforehand } from '../booked.ts'
import { newBooking, read, readById, replay } from '../calls.ts'
import { check } from '../check.ts'
import { forgetful, gateway, nodePeers, parts } from '../contenders.ts'
import { caseTable, type Line, summarize } from '../figures.ts'
import { startStub } from '../nginx.ts'
import { type Case, measure, tell } from '../rounds.ts'
import type { Section } from '../section.ts'

const CONNECTIONS = 32

/** Calls that the other contenders make as well. */
const shared = [
  { kind: 'bookings', title: 'Bookings, each with a reference number of its own', call: newBooking },
  {
    kind: 'reads-by-id',
    title: 'Reads of a shipment by the service’s id, which Transload first looks up in its store',
    call: readById,
  },
] as const

/** Calls that need a store. */
const remembered = [
  { kind: 'reads', title: 'Reads of a shipment by the caller’s number (Transload only)', call: () => read() },
  {
    kind: 'replays',
    title: 'Repeated bookings, answered from their record (Transload only)',
    call: replay,
  },
] as const

const kinds = [...shared, ...remembered]

/** The lines of each kind of call. */
type Data = Readonly<Record<string, readonly Line[]>>

/** Bookings, reads and replays, beside contenders that can make them. */
export const calls: Section<Data> = {
  title: 'Bookings, reads and replays',
  about:
    'Over 32 connections. Transload stores a claim, sends the booking over its own connection, and stores the result before it ' +
    'responds. So do the parts of Transload alone. The other gateways store nothing, and do not prevent a second booking.',
  inRounds: true,
  measure: async (bench) => {
    tell('checking that all of them do the same')
    for (const { kind } of shared) {
      await check(kind, gateway, [forgetful, ...nodePeers, ...(kind === 'bookings' ? [parts] : [])], bench.newFolder)
    }
    return bench.using(async (keep) => {
      const stub = await keep(startStub(bench.newFolder()))
      const cases: (Case & { readonly kind: string })[] = []
      for (const { id, name, start } of [gateway, forgetful, parts, ...nodePeers]) {
        const running = await keep(start({ folder: bench.newFolder(), servicePort: stub.port }))
        const remembers = id === gateway.id || id === forgetful.id
        if (remembers) await bookBeforehand(running)
        const made = remembers ? kinds : shared.filter(({ kind }) => id !== parts.id || kind === 'bookings')
        for (const { kind, call } of made) {
          cases.push({ kind, id, name, connections: CONNECTIONS, running, call })
        }
      }
      const rows = await measure(cases, bench.sizes)
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
