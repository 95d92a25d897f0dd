import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseArgs } from 'node:util'
import { backupStore, inspectSqlite } from '../src/store/sqlite/backup.ts'
import { restoreStore } from '../src/store/sqlite/restore.ts'
import { createSession, type Session, WRITES } from '../src/store/sqlite/session.ts'
import { openSqliteStore } from '../src/store/sqlite/sqlite.ts'
import type { Store } from '../src/store/store.ts'
import { idOf } from './ids.ts'

/*
 * Measures backups and restores of the embedded store: node bench/backup.ts [--bookings 1000000] [--folder /tmp]. Each booking has its
 * quote: four links, one quote with facts, one claim and two entries of the audit trail. Prints one line of JSON for each figure.
 */
const { values } = parseArgs({
  options: { bookings: { type: 'string', default: '1000000' }, folder: { type: 'string', default: tmpdir() } },
})
const BOOKINGS = Number(values.bookings)
const BATCH = 10_000
const MIB = 1024 * 1024
const SECOND_MS = 1_000
const QUIET_SECONDS = 5
const HALF = 0.5
const P99 = 0.99

const folder = mkdtempSync(join(values.folder, 'transload-bench-'))
const path = join(folder, 'store.db')
const file = join(folder, 'backup.db')

function report(what: string, figures: Record<string, number>): void {
  const rounded = Object.entries(figures).map(([name, value]) => [name, Math.round(value * 100) / 100])
  process.stdout.write(`${JSON.stringify({ what, ...Object.fromEntries(rounded) })}\n`)
}

async function timed<T>(what: string, work: () => Promise<T> | T): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  report(what, { seconds: (performance.now() - startedAt) / SECOND_MS })
  return result
}

const FACTS = {
  equipment: 'open',
  vehicle: 'car',
  address: '12 Some Street, Boston MA 02134',
  name: 'Jane Q. Customer',
  phone: '+1 617 555 0100',
  email: 'jane@example.com',
}

function bookOne(session: Session, index: number): void {
  const at = 1_760_000_000_000 + index
  const tenant = `tenant-${index % 20}`
  const [quote, shipment] = [idOf(index), idOf(index + BOOKINGS)]
  const [reference, number] = [`REF-${100_000_000 + index}`, `TL-${100_000 + index}`]
  const vin = `1HGCM8263${String(index).padStart(8, '0')}`
  const given = { tenant, vin: '', givenBy: 'caller' } as const
  const ofQuote = { ...given, kind: 'quote', id: quote } as const
  session.run(
    WRITES.put({
      links: [
        { ...ofQuote, name: `WTS${index}` },
        { ...ofQuote, name: reference },
      ],
      thing: { tenant, id: quote, own: `WTS${index}`, facts: FACTS },
    }),
    at,
  )
  const { claim } = session.run(
    WRITES.claim({
      tenant,
      key: `${quote.replaceAll('-', '')}${vin}`.slice(0, 43),
      handle: `bk_${index.toString(16).padStart(12, '0')}`,
      body: shipment.replaceAll('-', '').padEnd(43, '0'),
      instance: 'gateway-1/4711/123456/abcdefgh',
      reference,
      vin,
    }),
    at,
  )
  const ofShipment = { ...given, kind: 'shipment', vin, id: shipment } as const
  const links = [
    { ...ofShipment, name: reference },
    { ...ofShipment, name: number, givenBy: 'service' },
  ] as const
  const reply = JSON.stringify({
    status: 200,
    headers: { 'Transload-Shipment-Id': shipment, 'Transload-Shipment-Number': number },
    body: `{"Message":"Transportation booked: shipment ${number}.","TransportationBooked":"Yes"}`,
  })
  const change = { state: 'booked', instance: claim.instance, shipment, reply, why: 'made' } as const
  session.run(WRITES.change(claim, change, { links }), at)
}

async function fill(): Promise<void> {
  await (await openSqliteStore({ path })).close()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA synchronous = OFF')
  const session = createSession(db, Date.now())
  for (let from = 0; from < BOOKINGS; from += BATCH) {
    db.exec('BEGIN')
    for (let index = from; index < Math.min(from + BATCH, BOOKINGS); index += 1) bookOne(session, index)
    db.exec('COMMIT')
  }
  db.close()
}

/** Writes one quote after the other until the work is over, and reports how long each took. */
async function writeDuring(what: string, store: Store, work: Promise<unknown>): Promise<void> {
  let over = false
  const done = work.finally(() => {
    over = true
  })
  const took: number[] = []
  while (!over) {
    const startedAt = performance.now()
    const id = crypto.randomUUID()
    const link = { tenant: 'tenant-1', kind: 'quote', name: id, vin: '', id, givenBy: 'caller' } as const
    await store.put({ links: [link], thing: { tenant: 'tenant-1', id, own: id, facts: FACTS } })
    took.push(performance.now() - startedAt)
  }
  await done
  const sorted = took.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.floor(share * sorted.length)] ?? 0
  report(what, { writes: took.length, p50_ms: at(HALF), p99_ms: at(P99) })
}

try {
  await timed('fill', fill)
  report('store', { mib: statSync(path).size / MIB, bytes_per_booking: statSync(path).size / BOOKINGS })
  await timed('backup', () => backupStore(path, file))
  report('file of the backup', { mib: statSync(file).size / MIB })
  await timed('verify', () => inspectSqlite(file))
  const store = await openSqliteStore({ path })
  const quiet = new Promise((resolve) => setTimeout(resolve, QUIET_SECONDS * SECOND_MS))
  await writeDuring('writes without a backup', store, quiet)
  await writeDuring(
    'writes during a backup',
    store,
    timed('backup beside writes', () => backupStore(path, file)),
  )
  await store.close()
  await timed('restore', () => restoreStore(path, file, { doubt: { since: 1, until: 0 } }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
