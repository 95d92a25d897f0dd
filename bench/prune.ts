import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { pruneTable } from '../src/pruning/pruning.ts'
import { openStore } from '../src/store/open.ts'
import { PRUNED_TABLES } from '../src/store/pruning.ts'
import type { NewClaim, Store } from '../src/store/store.ts'
import { idOf } from './ids.ts'

/*
 * Measures the size of rows and the cost of pruning: node bench/prune.ts [--quotes 100000] [--bookings 20000] [--old 0.1]
 * [--rate 5000] [--seconds 10] [--url postgres://…] [--folder /tmp]. `--old` is the share of the rows that goes. Prints one line of JSON for each figure.
 */
const { values } = parseArgs({
  options: {
    quotes: { type: 'string', default: '100000' },
    bookings: { type: 'string', default: '20000' },
    old: { type: 'string', default: '0.1' },
    rate: { type: 'string', default: '5000' },
    seconds: { type: 'string', default: '10' },
    url: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
  },
})
const QUOTES = Number(values.quotes)
const BOOKINGS = Number(values.bookings)
const OLD_SHARE = Number(values.old)
const PER_SECOND = Number(values.rate)
const LOAD_SECONDS = Number(values.seconds)
const AT_ONCE = 500
const SECOND_MS = 1_000
const TICK_MS = 10

const folder = mkdtempSync(join(values.folder, 'transload-prune-'))
const file = join(folder, 'store.db')
/** The clock of the embedded store: what is written first is a year older than the rest. PostgreSQL has its own. */
const clock = { at: Date.UTC(2025, 0, 1) }
const now = () => clock.at
const DAY_MS = 86_400_000
const YEAR_DAYS = 365
const YEAR_MS = YEAR_DAYS * DAY_MS
const AGE_MS = YEAR_MS / 2
const url = values.url ?? file

function report(what: string, figures: Readonly<Record<string, number>>): void {
  const rounded = Object.entries(figures).map(([name, value]) => [name, Math.round(value * 100) / 100])
  process.stdout.write(`${JSON.stringify({ what, ...Object.fromEntries(rounded) })}\n`)
}

const tenantOf = (index: number) => `tenant-${index % 20}`

/** Writes what a quote with two numbers leaves. */
function putQuote(store: Store, index: number): Promise<void> {
  const [id, tenant] = [idOf(index), tenantOf(index)]
  const own = `WTS2025021619${String(index).padStart(8, '0')}`
  const link = { tenant, kind: 'quote', vin: '', id, givenBy: 'caller' } as const
  const facts = {
    pickup: '10314',
    delivery: '33166',
    vehicle_type: 'truck_ext',
    transport_type: 'open',
    contact_name: 'Pat Example',
    contact_phone: '2145550000',
    contact_email: 'pat@example.com',
    address: '1 Test Dr',
    city: 'Dallas',
    state: 'TX',
    zipcode: 75_234,
  }
  const order = `1FDXE4FN9${String(index).padStart(8, '0')}`
  const links = [
    { ...link, name: order },
    { ...link, name: own },
  ]
  return store.put({ links, thing: { tenant, id, own, facts } })
}

/** Writes what a booking leaves. */
async function book(store: Store, index: number): Promise<void> {
  const [id, tenant, number] = [idOf(index + QUOTES), tenantOf(index), `TL-${100_000 + index}`]
  const reference = `WTS2025021619${String(index).padStart(8, '0')}`
  const vin = `1FDXE4FN9${String(index).padStart(8, '0')}`
  const wanted: NewClaim = {
    tenant,
    key: Buffer.from(`${idOf(index)}`)
      .toString('base64url')
      .slice(0, 43),
    handle: `bk_${index.toString(16).padStart(12, '0')}`,
    body: 'NJdymN-O_Z9N45EJ330t6bx97YwleG_8-zsfM1dcqoo',
    instance: 'gateway-1/30138/408216/657abc8a',
    reference,
    vin,
  }
  const { claim } = await store.claim(wanted)
  const body = { Message: `Transportation booked: shipment number ${number}.`, TransportationBooked: 'Yes' }
  const headers = { 'Transload-Shipment-Id': id, 'Transload-Shipment-Number': number }
  const reply = JSON.stringify({ status: 200, headers, body: JSON.stringify(body) })
  await store.change(claim, { state: 'booked', instance: wanted.instance, shipment: id, reply, why: 'made' })
  const link = { tenant, kind: 'shipment', vin, id } as const
  const links = [
    { ...link, name: number, givenBy: 'service' },
    { ...link, name: reference, givenBy: 'caller' },
  ] as const
  await store.put({ links })
}

/** Does work for each of many indexes, some at a time. */
async function each(from: number, to: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let index = from; index < to; index += AT_ONCE) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, to - index) }, (_, nth) => work(index + nth)))
  }
}

/** Returns the size without the log; that of the embedded store after VACUUM, if it is to be packed. */
async function sizeOf(store: Store, packed = true): Promise<{ readonly store: Store; readonly bytes: number }> {
  if (values.url !== undefined) return { store, bytes: (await store.size()).bytes }
  await store.close()
  const db = new DatabaseSync(file)
  if (packed) db.exec('VACUUM')
  db.close()
  const opened = await openStore(url, { now })
  const { bytes, freeBytes } = await opened.size()
  return { store: opened, bytes: bytes - freeBytes }
}

/** Puts quotes at a rate, and returns how long they took. */
async function load(store: Store, from: number): Promise<number[]> {
  const took: number[] = []
  const waiting: Promise<unknown>[] = []
  const begun = performance.now()
  let sent = 0
  while (performance.now() - begun < LOAD_SECONDS * SECOND_MS) {
    const due = Math.floor(((performance.now() - begun) / SECOND_MS) * PER_SECOND)
    for (; sent < due; sent += 1) {
      const at = performance.now()
      waiting.push(putQuote(store, from + sent).then(() => took.push(performance.now() - at)))
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS))
  }
  await Promise.all(waiting)
  return took
}

function percentiles(millis: readonly number[]): Record<string, number> {
  const sorted = millis.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
  return { calls: sorted.length, p50_ms: at(0.5), p99_ms: at(0.99), p999_ms: at(0.999) }
}

let store = await openStore(url, { now })

async function bytesOf(packed = true): Promise<number> {
  const measured = await sizeOf(store, packed)
  store = measured.store
  return measured.bytes
}

/** Lets a year pass, and the calendar of the store turn. */
async function passYear(): Promise<void> {
  for (let day = 0; day < YEAR_DAYS; day += 1) {
    clock.at += DAY_MS
    await store.turnDay(DAY_MS)
  }
}

/** Prunes every table, and returns how many rows went. */
async function prune(options: Partial<Parameters<typeof pruneTable>[2]>): Promise<number> {
  let pruned = 0
  for (const table of PRUNED_TABLES) {
    pruned += await pruneTable(store, table, { olderThanMs: AGE_MS, pause: async () => {}, ...options })
  }
  return pruned
}

/** Measures the pruning of all rows of the first year, alone and beside calls. */
async function measurePruning(oldQuotes: number, oldBookings: number): Promise<void> {
  const remembered = await bytesOf()
  await pruneTable(store, 'facts', { olderThanMs: AGE_MS, pause: async () => {} })
  report('bytes of the facts of a quote', { bytes: (remembered - (await bytesOf())) / oldQuotes })

  // Everything that was written first, now that nothing else runs.
  const steps: number[] = []
  const cpu = process.cpuUsage()
  const startedAt = performance.now()
  const dry = await prune({ dryRun: true })
  const dryMs = performance.now() - startedAt
  const pruned = await prune({
    pause: async (tookMs) => {
      steps.push(tookMs)
    },
  })
  const { user, system } = process.cpuUsage(cpu)
  report('dry run', { ms: dryMs, pruned: dry })
  report('round', {
    old_quotes: oldQuotes,
    old_bookings: oldBookings,
    pruned,
    steps: steps.length,
    ms: performance.now() - startedAt - dryMs,
    cpu_ms_with_dry_run: (user + system) / SECOND_MS,
    longest_step_ms: Math.max(...steps),
    median_step_ms: steps.toSorted((one, other) => one - other)[Math.floor(steps.length / 2)] ?? 0,
  })
  // A second year of old rows, to prune beside the load.
  await passYear()
  const control = await load(store, QUOTES)
  report(`quotes at ${PER_SECOND} per second`, percentiles(control))
  let goesOn = true
  const pruning = prune({ pause: (tookMs) => delay(Math.max(20, 10 * tookMs)), mayGoOn: () => goesOn })
  const beside = await load(store, QUOTES + PER_SECOND * LOAD_SECONDS)
  report('the same beside pruning', percentiles(beside))
  goesOn = false
  await pruning
}

try {
  const oldQuotes = Math.floor(QUOTES * OLD_SHARE)
  const oldBookings = Math.floor(BOOKINGS * OLD_SHARE)
  const begun = performance.now()
  await each(0, oldQuotes, (index) => putQuote(store, index))
  if (values.url === undefined) await each(0, oldBookings, (index) => book(store, index))
  const firstBytes = await bytesOf()
  await passYear()
  await each(oldQuotes, QUOTES, (index) => putQuote(store, index))
  report('written', { quotes: QUOTES, per_second: QUOTES / ((performance.now() - begun) / SECOND_MS) })
  report('bytes per quote as written', { bytes: ((await bytesOf(false)) - firstBytes) / (QUOTES - oldQuotes) })
  report('bytes per quote', { bytes: ((await bytesOf()) - firstBytes) / (QUOTES - oldQuotes) })
  const before = await bytesOf()
  await each(oldBookings, BOOKINGS, (index) => book(store, index))
  report('bytes per booking as written', { bytes: ((await bytesOf(false)) - before) / (BOOKINGS - oldBookings) })
  report('bytes per booking', { bytes: ((await bytesOf()) - before) / (BOOKINGS - oldBookings) })
  if (values.url === undefined) await measurePruning(oldQuotes, oldBookings)
} finally {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
}
