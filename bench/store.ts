import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openStore } from '../src/store/open.ts'
import type { Link, NewClaim, Store } from '../src/store/store.ts'
import { idOf, scattered } from './ids.ts'

/*
 * Measures the store with many rows: node bench/store.ts [--rows 1000000] [--url postgres://…] [--folder /tmp]
 * [--shuffled]. Rows are loaded in the order of their names, as in most files, or shuffled, the worst order.
 * Prints one line of JSON for each figure.
 */
const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    url: { type: 'string' },
    folder: { type: 'string', default: tmpdir() },
    shuffled: { type: 'boolean', default: false },
  },
})
const ROWS = Number(values.rows)
const LOAD_BATCH = 5_000
const LOOKUPS = 20_000
const WARM_NAMES = 5_000
const PUT_SECONDS = 3
const SECOND_MS = 1_000
const MIB = 1024 * 1024

const folder = mkdtempSync(join(values.folder, 'transload-bench-'))
const url = values.url ?? `sqlite:${join(folder, 'store.db')}`

function report(what: string, figures: Record<string, number>): void {
  const rounded = Object.entries(figures).map(([name, value]) => [name, Math.round(value * 100) / 100])
  process.stdout.write(`${JSON.stringify({ what, ...Object.fromEntries(rounded) })}\n`)
}

function memory(): Record<string, number> {
  const { rss, heapUsed, external } = process.memoryUsage()
  return { rss_mib: rss / MIB, heap_mib: heapUsed / MIB, external_mib: external / MIB }
}

function linkAt(index: number): Link {
  const tenant = `tenant-${index % 20}`
  const name = values.shuffled ? `REF-${scattered(index).toString(36)}-${index}` : `REF-${100_000_000 + index}`
  const vin = `1HGCM8263${String(index).padStart(8, '0')}`
  const shipment = index % 2 === 0
  return {
    tenant,
    kind: shipment ? 'shipment' : 'quote',
    name,
    vin: shipment ? vin : '',
    id: idOf(index),
    givenBy: 'caller',
    at: 1_760_000_000_000 + index,
  }
}

function quoteAt(index: number): Parameters<Store['put']>[0] {
  const id = idOf(index)
  const tenant = `tenant-${index % 20}`
  const link = { tenant, kind: 'quote', vin: '', id, givenBy: 'caller' } as const
  const facts = {
    equipment: 'open',
    vehicle: 'car',
    address: '12 Some Street, Boston MA 02134',
    name: 'Jane Q. Customer',
    phone: '+1 617 555 0100',
    email: 'jane@example.com',
  }
  const own = `Q-${index}`
  return {
    links: [
      { ...link, name: own },
      { ...link, name: `ORDER-${index}` },
    ],
    thing: { tenant, id, own, facts },
  }
}

function claimAt(index: number): NewClaim {
  const key = `K-${index}`
  const handle = `bk_${index.toString(16).padStart(12, '0')}`
  const rest = { body: 'h'.repeat(43), instance: 'bench', reference: key, vin: '' }
  return { tenant: 'tenant-1', key, handle, ...rest }
}

function percentiles(millis: number[]): Record<string, number> {
  const sorted = millis.toSorted((one, other) => one - other)
  const at = (share: number): number =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 1_000
  return { p50_us: at(0.5), p99_us: at(0.99), p999_us: at(0.999) }
}

async function lookUps(store: Store, indexes: readonly number[]): Promise<number[]> {
  const took: number[] = []
  for (const [nth, index] of indexes.entries()) {
    const { tenant, name } = linkAt(index)
    const begun = performance.now()
    const found = await store.links(tenant, name)
    took.push(performance.now() - begun)
    if (found.length !== 1) throw new Error(`${name} was found ${found.length} times`)
    // Let other work run, as in a gateway.
    if (nth % 100 === 0) await new Promise(setImmediate)
  }
  return took
}

async function writes(what: string, callers: number, write: (index: number) => Promise<unknown>): Promise<void> {
  const took: number[] = []
  const begun = performance.now()
  const cpu = process.cpuUsage()
  const threadCpu = process.threadCpuUsage()
  let longest = 0
  let last = performance.now()
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last - 1)
    last = performance.now()
  }, 1)
  const caller = async (): Promise<void> => {
    while (performance.now() - begun < PUT_SECONDS * SECOND_MS) {
      const start = performance.now()
      nextIndex += 1
      await write(nextIndex)
      took.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  clearInterval(watch)
  const seconds = (performance.now() - begun) / SECOND_MS
  const [both, own] = [process.cpuUsage(cpu), process.threadCpuUsage(threadCpu)]
  const cpuEach = { cpu_us: (both.user + both.system) / took.length, loop_us: (own.user + own.system) / took.length }
  report(what, {
    callers,
    per_second: took.length / seconds,
    ...percentiles(took),
    ...cpuEach,
    loop_held_ms: longest,
  })
}

let nextIndex = 1_000_000_000
const anywhere = (): number => Math.floor(Math.random() * ROWS)

try {
  let store = await openStore(url)
  const begun = performance.now()
  for (let from = 0; from < ROWS; from += LOAD_BATCH) {
    const size = Math.min(LOAD_BATCH, ROWS - from)
    const batch = Array.from({ length: size }, (_, index) => linkAt(from + index))
    await store.load(batch, { replace: false })
  }
  const loadSeconds = (performance.now() - begun) / SECOND_MS
  report('load', { rows: ROWS, per_second: ROWS / loadSeconds, ...memory() })
  await store.close()
  const bytes = readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
  if (bytes > 0) report('size', { mib: bytes / MIB, bytes_per_row: bytes / ROWS })

  // Drop the file from the page cache, where `dd` can do that.
  for (const file of readdirSync(folder)) {
    spawnSync('dd', [`of=${join(folder, file)}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'])
  }
  const opening = performance.now()
  store = await openStore(url)
  report('open', { ms: performance.now() - opening })

  report('cold look-up', percentiles(await lookUps(store, Array.from({ length: LOOKUPS }, anywhere))))
  const warm = Array.from({ length: WARM_NAMES }, anywhere)
  await lookUps(store, warm)
  report('warm look-up', percentiles(await lookUps(store, [...warm, ...warm, ...warm, ...warm])))

  const put = (index: number): Promise<void> => store.put(quoteAt(index))
  await writes('quote', 1, put)
  await writes('quote', 64, put)
  await writes('claim', 64, (index) => store.claim(claimAt(index)))
  const scanning = performance.now()
  let rows = 0
  for await (const page of store.scan({})) rows += page.length
  report('scan', { rows, per_second: rows / ((performance.now() - scanning) / SECOND_MS), ...memory() })
  report('memory', memory())
  await store.close()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
