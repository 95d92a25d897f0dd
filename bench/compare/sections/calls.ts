import { bookBeforehand } from '../booked.ts'
import { newBooking, read, replay } from '../calls.ts'
import { forgetful, gateway, startStub } from '../contenders.ts'
import { caseTable } from '../figures.ts'
import { type Case, measure, type Row } from '../rounds.ts'
import type { Section } from '../section.ts'

const CONNECTIONS = 32

const kinds = [
  { kind: 'bookings', title: 'Bookings, each with a reference number of its own', call: newBooking },
  { kind: 'reads', title: 'Reads of a shipment by the caller’s number', call: () => read() },
  { kind: 'replays', title: 'Bookings that were made already, answered from their record', call: replay },
] as const

/** Ids are those of the gateways, so that each kind is a table of its own. */
type Data = Readonly<Record<string, readonly Row[]>>

/** The other kinds of calls, which nothing else here can do. */
export const calls: Section<Data> = {
  title: 'Bookings, reads and replays',
  about:
    'Over 32 connections. A booking is claimed durably, sent over a connection of its own, and recorded durably before it ' +
    'is answered.',
  inRounds: true,
  measure: (bench) =>
    bench.using(async (keep) => {
      const stub = await keep(startStub(bench.newFolder(), bench.programs))
      const cases: (Case & { readonly kind: string })[] = []
      for (const { id, name, start } of [gateway, forgetful]) {
        const running = await keep(start({ folder: bench.newFolder(), servicePort: stub.port }))
        await bookBeforehand(running)
        for (const { kind, call } of kinds) {
          cases.push({ kind, id, name, connections: CONNECTIONS, running, call })
        }
      }
      const rows = await measure(cases, bench.plan)
      return Object.fromEntries(kinds.map(({ kind }) => [kind, rows.filter((_, i) => cases[i]?.kind === kind)]))
    }),
  markdown: (data) =>
    kinds.map(({ kind, title }) => `${title}:\n\n${caseTable(data[kind] ?? [], gateway.id, 'calls/s')}`).join('\n\n'),
}
