import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { settle } from '../../src/bookings/settlement.ts'
import { readConfig } from '../../src/config/config.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { translationSettings } from '../../src/config/translation-settings.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres.ts'
import type { AuditEntry, Store } from '../../src/store/store.ts'
import { COMPILED_ONCE } from '../command.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { holdService, TRUSTS_HELD_SERVICE } from './held-service.ts'
import { countUp } from './kill-harness.ts'

/** The options of the pauses. */
export interface PauseOptions {
  /** The address of an empty PostgreSQL database. */
  readonly storeUrl: string
  /** The most pauses of each gateway. */
  readonly pauses: number
  readonly shortestMs: number
  readonly longestMs: number
  /** Pauses no more once the service has booked a reference twice. */
  readonly untilDuplicate?: boolean
  /** Modules that are imported before both gateways. */
  readonly imports?: readonly string[]
}

export interface PauseReport {
  readonly pauses: number
  /** References that callers wanted booked, and of which all were in the end. */
  readonly references: number
  readonly settled: number
  /** Shipments beyond the first of a reference. */
  readonly duplicates: number
  /** Acknowledged bookings that the service, the store or the cross-reference does not have. */
  readonly lost: number
  /** Settled bookings that were changed afterwards. */
  readonly overwritten: number
}

const CALLERS = 12
/** A caller that gets no answer in this time tries again. */
const CALLER_PATIENCE_MS = 3_000
const RETRY_PAUSE_MS = 50
const SETTLE_EVERY_MS = 300
/** The longest handshake: bookings have a claim and no request for so long. */
const HANDSHAKE_MS = 2_000
const LONGEST_LIFE_MS = 3_000
const HOUR_AHEAD = join(import.meta.dirname, 'hour-ahead.ts')

/** Lets callers book through two gateways that are paused at random, one with a clock an hour ahead, while an operator settles. */
export async function pauseUnderLoad(options: PauseOptions): Promise<PauseReport> {
  const { storeUrl, imports = [] } = options
  const folder = mkdtempSync(join(tmpdir(), 'transload-pauses-'))
  const sandbox = await startSandbox()
  const service = await holdService(sandbox.url, (letThrough) => setTimeout(letThrough, Math.random() * HANDSHAKE_MS))
  const store = await openPostgresStore({ url: storeUrl })
  const children: ChildProcess[] = []
  const duplicates = () => {
    const references = [...sandbox.shipments.values()].map(({ external_id }) => external_id)
    return references.length - new Set(references).size
  }
  try {
    const start = async (index: number) => {
      const modules = [...imports, ...(index === 0 ? [HOUR_AHEAD] : [])].flatMap((file) => ['--import', file])
      const env = {
        ...COMPILED_ONCE,
        ...TRUSTS_HELD_SERVICE,
        PATH: process.env['PATH'] ?? '',
        HOST: '127.0.0.1',
        PORT: '0',
        ADMIN_PORT: '0',
        V2_BASE_URL: service.url,
        V2_CLIENT_ID: 'demo',
        V2_CLIENT_SECRET: 'demo-secret',
        STORE_URL: storeUrl,
        // Longer than any pause: it is not the time-out that keeps a request from being sent.
        UPSTREAM_TIMEOUT_MS: '30000',
        EMERGENCY_LOG_FILE: join(folder, `emergency-${index}.ndjson`),
      }
      const main = join(import.meta.dirname, '../../src/main.ts')
      const child = spawn(process.execPath, [...modules, main, 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
      children.push(child)
      for await (const line of createInterface(child.stdout)) {
        if (!line.includes('"listening"')) continue
        child.stdout.resume()
        return { child, url: String(JSON.parse(line).url) }
      }
      throw new Error('the gateway ended before it listened')
    }
    const gateways = await Promise.all([start(0), start(1)])

    let isOver = false
    let wanted = 0
    const acknowledged = new Map<string, string>()
    const caller = async () => {
      while (!isOver) {
        wanted += 1
        const reference = `REF-${wanted}`
        for (let tries = 0; !acknowledged.has(reference); tries += 1) {
          const gateway = gateways[(wanted + tries) % gateways.length]
          const id = gateway && (await book(gateway.url, reference))
          if (id) acknowledged.set(reference, id)
          else await pause(RETRY_PAUSE_MS)
        }
      }
    }
    const calling = Array.from({ length: CALLERS }, caller)
    const operator = operate(store, (reference) =>
      [...sandbox.shipments.values()].find(({ external_id }) => external_id === reference),
    )

    let pauses = 0
    const pauser = async ({ child }: { readonly child: ChildProcess }) => {
      for (let nth = 0; nth < options.pauses && !(options.untilDuplicate && duplicates() > 0); nth += 1) {
        await pause(Math.random() * LONGEST_LIFE_MS)
        child.kill('SIGSTOP')
        await pause(options.shortestMs + Math.random() * (options.longestMs - options.shortestMs))
        child.kill('SIGCONT')
        pauses += 1
      }
    }
    await Promise.all(gateways.map(pauser))
    isOver = true
    await Promise.all(calling)
    const settled = await operator.stop()
    await sandbox.idle()
    const told = { acknowledged, unknown: new Set<string>() }
    const { lost } = await countUp(sandbox, storeUrl, told)
    const trails = await Promise.all(settled.map((handle) => store.audit(handle)))
    const overwritten = trails.filter(isChangedAfterwards).length
    return { pauses, references: wanted, settled: settled.length, duplicates: duplicates(), lost, overwritten }
  } finally {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const gone = once(child, 'exit')
      child.kill('SIGKILL')
      await gone
    }
    await store.close()
    service.close()
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Settles unknown bookings at once, by the shipments of the service. */
function operate(
  store: Store,
  find: (reference: string) => { readonly id: string; readonly number: string } | undefined,
) {
  const settled: string[] = []
  let isOver = false
  const work = async () => {
    const catalog = await loadMappings(undefined, undefined)
    const settings = translationSettings(readConfig({ V2_BASE_URL: 'http://service.invalid' }))
    while (!isOver) {
      for (const claim of await store.listClaims({ state: 'unknown' })) {
        const found = find(claim.reference)
        const settlement = found ? { shipment: found.id, number: found.number } : 'not-booked'
        const result = await settle(claim, settlement, { store, catalog, settings, instance: 'operator' })
        if (result.outcome === 'changed') settled.push(claim.handle)
      }
      await pause(SETTLE_EVERY_MS)
    }
  }
  const working = work()
  return {
    async stop(): Promise<readonly string[]> {
      isOver = true
      await working
      return settled
    },
  }
}

/** Tells if anything happened to a claim after it was settled. */
function isChangedAfterwards(trail: readonly AuditEntry[]): boolean {
  const settled = trail.findIndex(({ why }) => why.startsWith('settled'))
  return settled === -1 || settled < trail.length - 1
}

/** Books once; undefined where there is no answer that says `Yes`. */
async function book(url: string, reference: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/createShipment.php`, {
      method: 'POST',
      body: JSON.stringify({ ...bookingExample, ReferenceNumber: reference }),
      signal: AbortSignal.timeout(CALLER_PATIENCE_MS),
    })
    const body: { TransportationBooked?: string } = JSON.parse(await response.text())
    if (body.TransportationBooked !== 'Yes') return undefined
    return response.headers.get('transload-shipment-id') ?? undefined
  } catch {
    return undefined
  }
}
