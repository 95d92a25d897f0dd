import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { book, countUp, inWords } from '../test/bookings/kill-harness.ts'
import { startSandbox } from '../test/stand-in/stand-in.ts'
import { startPostgres } from '../test/store/postgres-server.ts'

/*
 * Lets the store of a booking gateway fail, and counts the shipments: node bench/storage-faults.ts
 * [--fault fsync|postgres|paused] [--times 50] [--callers 16]. It fails if anything was booked twice or lost.
 *
 * fsync: strace lets syncs of the embedded store end with EIO (Debian: strace). postgres: the server is stopped
 * without warning, like `pg_ctl stop -m immediate`, and started again. paused: it does not answer for 30 seconds.
 */

const { values } = parseArgs({
  options: {
    fault: { type: 'string', default: 'fsync' },
    times: { type: 'string', default: '50' },
    callers: { type: 'string', default: '16' },
  },
})
const TIMES = Number(values.times)
const EIO = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'trace=fsync,fdatasync']
const EVERY_SYNCS = 40
const BETWEEN_MS = 400
const PAUSED_MS = 30_000

const folder = mkdtempSync(join(tmpdir(), 'transload-faults-'))
const sandbox = await startSandbox()
const postgres = values.fault === 'fsync' ? undefined : await startPostgres()
const storeUrl = postgres ? await postgres.createDatabase() : join(folder, 'store.db')

/** Starts the gateway; `words` precede its command. */
async function start(words: readonly string[]): Promise<{ url: string; pid: number; child: ChildProcess }> {
  const [command = '', ...rest] = [...words, process.execPath, join(import.meta.dirname, '../src/main.ts'), 'serve']
  const env = {
    ...{ PATH: process.env['PATH'] ?? '', HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0' },
    ...{ V2_BASE_URL: sandbox.url, STORE_URL: storeUrl, EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson') },
  }
  const child = spawn(command, rest, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const said = await new Promise<{ url: string; pid: number }>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      if (line.includes('"listening"')) resolve(JSON.parse(line))
    })
  })
  return { url: said.url, pid: said.pid, child }
}

/** Ends the gateway itself, because strace would swallow the signal. */
async function stop({ pid, child }: { readonly pid: number; readonly child: ChildProcess }): Promise<void> {
  const gone = once(child, 'close')
  process.kill(pid, 'SIGTERM')
  await gone
}

const FAULTS: Readonly<Record<string, () => Promise<void>>> = {
  fsync: () => pause(TIMES * BETWEEN_MS),
  postgres: async () => {
    for (let time = 0; time < TIMES; time += 1) {
      await pause(BETWEEN_MS)
      await postgres?.crash()
      await postgres?.start()
    }
  },
  paused: async () => {
    await pause(BETWEEN_MS)
    await postgres?.stop()
    await pause(PAUSED_MS)
    await postgres?.start()
  },
}
const fault = FAULTS[values.fault]
if (!fault) throw new Error(`there is no fault ${values.fault}`)

const acknowledged = new Map<string, string>()
const unknown = new Set<string>()
let references = 0
let refused = 0
let over = false
let url: string
const caller = async () => {
  while (!over) {
    references += 1
    const reference = `REF-${references}`
    for (;;) {
      const answer = await book(url, reference)
      if (answer?.word === 'Yes') acknowledged.set(reference, answer.id)
      else if (answer?.word === 'Unknown') unknown.add(reference)
      else {
        // The answer says that nothing was booked, or there is none: try again, like callers do.
        refused += 1
        await pause(20)
        continue
      }
      break
    }
  }
}

try {
  const words =
    values.fault === 'fsync' ? [...EIO, '-e', `inject=fsync,fdatasync:error=EIO:when=20+${EVERY_SYNCS}`] : []
  const failing = await start(words)
  url = failing.url
  const calling = Array.from({ length: Number(values.callers) }, caller)
  await fault()
  over = true
  // The remaining bookings are made by a gateway whose store works.
  const whole = await start([])
  url = whole.url
  await Promise.all(calling)
  await stop(failing)
  await stop(whole)
  const report = { kills: 0, references, ...(await countUp(sandbox, storeUrl, { acknowledged, unknown })) }
  process.stdout.write(`${values.fault}: ${refused} answers that nothing was booked; ${inWords(report)}\n`)
  process.exitCode = report.duplicates + report.lost > 0 ? 1 : 0
} finally {
  over = true
  await sandbox.close()
  await postgres?.remove()
  rmSync(folder, { recursive: true, force: true })
}
