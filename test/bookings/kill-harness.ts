import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { openStore } from '../../src/store/open.ts'
import type { ClaimState } from '../../src/store/store.ts'
import { basic } from '../gateway.ts'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'

/** The options of the kills, and the number of callers. */
export interface KillOptions {
  /** The most kills, unless `untilUnknown`. */
  readonly kills: number
  /** Kill no more once the service has booked a reference twice. */
  readonly untilDuplicate?: boolean
  /** Kills further, up to four times as often, until a call was cut short: on a busy machine each kill may come between two. */
  readonly untilUnknown?: boolean
  /** The program itself, or the one without claims that must fail. */
  readonly build: 'claiming' | 'unclaimed'
  /** @default 16 */
  readonly callers?: number
  /**
   * A kill comes so long after the gateway listens, at most.
   * @default 800 ms
   */
  readonly longestLifeMs?: number
  /** Told after every kill. */
  readonly onKill?: (kills: number) => void
}

/** The result. */
export interface KillReport {
  readonly kills: number
  /** References that callers wanted booked, each until it was answered for good. */
  readonly references: number
  readonly acknowledged: number
  /** References whose callers got an unknown outcome. */
  readonly unknown: number
  /** Those among them that the service had booked. */
  readonly unknownButBooked: number
  readonly shipments: number
  /** Shipments beyond the first of a reference. */
  readonly duplicates: number
  /** Acknowledged bookings that the service, the store or the cross-reference does not have. */
  readonly lost: number
  readonly states: Readonly<Partial<Record<ClaimState, number>>>
}

const MOST_PATIENCE_MS = 300_000
const SERVICE_TAKES_MS = 8
const RETRY_PAUSE_MS = 20
/** How many times more kills there may be than wanted. */
const MOST_TIMES = 4
/** The share of gateways that are killed while they start. */
const KILLED_EARLY = 0.1
const START_TAKES_MS = 600

const SCRIPTS = {
  claiming: [join(import.meta.dirname, '../../src/main.ts'), 'serve'],
  unclaimed: [join(import.meta.dirname, 'unclaimed-child.ts')],
}

/** Lets callers book through a gateway that is killed and started again, and counts what the service has at the end. */
export async function killUnderLoad({
  kills,
  build,
  untilDuplicate = false,
  untilUnknown = false,
  callers = 16,
  longestLifeMs = 800,
  onKill,
}: KillOptions): Promise<KillReport> {
  const folder = mkdtempSync(join(tmpdir(), 'transload-kills-'))
  const sandbox = await startSandbox()
  sandbox.fail({ kind: 'delay', ms: SERVICE_TAKES_MS, times: 'always', on: { method: 'POST' } })
  const storeUrl = join(folder, 'store.db')
  const env = {
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    PATH: process.env['PATH'] ?? '',
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    V2_BASE_URL: sandbox.url,
    STORE_URL: storeUrl,
    EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
  }
  let address = Promise.withResolvers<string>()
  let isListening = false
  let child: ChildProcess | undefined
  const start = () => {
    const started = spawn(process.execPath, SCRIPTS[build], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface(started.stdout).on('line', (line) => {
      if (!line.includes('"listening"')) return
      isListening = true
      address.resolve(JSON.parse(line).url)
    })
    child = started
    return started
  }

  const acknowledged = new Map<string, string>()
  const unknown = new Set<string>()
  let wanted = 0
  let killed = 0
  let over = false
  const bookUntilAnswered = async (reference: string) => {
    for (;;) {
      const answer = await book(await address.promise, reference)
      if (answer?.word === 'Yes') return void acknowledged.set(reference, answer.id)
      if (answer?.word === 'Unknown') return void unknown.add(reference)
      await pause(RETRY_PAUSE_MS)
    }
  }
  const caller = async () => {
    while (!over) {
      wanted += 1
      await bookUntilAnswered(`REF-${wanted}`)
    }
  }

  try {
    const calling = Array.from({ length: callers }, caller)
    const isEnough = () =>
      (untilDuplicate && duplicates(sandbox) > 0) ||
      (killed >= kills && (!untilUnknown || unknown.size > 0 || killed >= kills * MOST_TIMES))
    while (!isEnough()) {
      const victim = start()
      if (Math.random() < KILLED_EARLY) {
        await pause(Math.random() * START_TAKES_MS)
      } else {
        await address.promise
        await pause(Math.random() * longestLifeMs)
      }
      const gone = once(victim, 'close')
      victim.kill('SIGKILL')
      await gone
      // Callers wait until the next one listens.
      if (isListening) address = Promise.withResolvers()
      isListening = false
      killed += 1
      onKill?.(killed)
    }
    over = true
    const last = start()
    await Promise.all(calling)
    const gone = once(last, 'close')
    last.kill('SIGTERM')
    await gone
    await sandbox.idle()

    return { kills: killed, references: wanted, ...(await countUp(sandbox, storeUrl, { acknowledged, unknown })) }
  } finally {
    over = true
    child?.kill('SIGKILL')
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The reference of each shipment that the service has booked. */
function references(sandbox: Sandbox): string[] {
  return [...sandbox.shipments.values()].map(({ external_id: reference = '' }) => reference)
}

/** Shipments beyond the first of their reference. */
function duplicates(sandbox: Sandbox): number {
  return sandbox.shipments.size - new Set(references(sandbox)).size
}

/** The answers to callers, by reference. */
export interface Told {
  /** With the id of the shipment. */
  readonly acknowledged: ReadonlyMap<string, string>
  readonly unknown: ReadonlySet<string>
}

/** Compares the answers to callers with the service and the store. */
export async function countUp(
  sandbox: Sandbox,
  storeUrl: string,
  { acknowledged, unknown }: Told,
): Promise<Omit<KillReport, 'kills' | 'references'>> {
  const made = new Set(references(sandbox))
  const store = await openStore(storeUrl)
  const claims = await store.listClaims({ limit: Number.MAX_SAFE_INTEGER })
  const claimed = new Map(claims.map((claim) => [claim.reference, claim]))
  let lost = 0
  for (const [reference, id] of acknowledged) {
    const links = await store.links('demo', reference)
    const kept = links.some((link) => link.id === id)
    const claim = claimed.get(reference)
    if (!sandbox.shipments.has(id) || !kept || claim?.state !== 'booked' || claim.shipment !== id) lost += 1
  }
  await store.close()
  const states: Partial<Record<ClaimState, number>> = {}
  for (const { state } of claims) states[state] = (states[state] ?? 0) + 1
  return {
    acknowledged: acknowledged.size,
    unknown: unknown.size,
    unknownButBooked: [...unknown].filter((reference) => made.has(reference)).length,
    shipments: sandbox.shipments.size,
    duplicates: duplicates(sandbox),
    lost,
    states,
  }
}

/** One try; undefined where the connection broke, or the answer did not come in time. */
export async function book(
  url: string,
  reference: string,
  patienceMs = MOST_PATIENCE_MS,
): Promise<{ word: string; id: string } | undefined> {
  try {
    const response = await fetch(`${url}/createShipment.php`, {
      method: 'POST',
      headers: { authorization: basic() },
      signal: AbortSignal.timeout(patienceMs),
      body: JSON.stringify({ ...bookingExample, ReferenceNumber: reference }),
    })
    const body: { TransportationBooked?: string } = JSON.parse(await response.text())
    return { word: body.TransportationBooked ?? '', id: response.headers.get('transload-shipment-id') ?? '' }
  } catch {
    return undefined
  }
}

/** The report in one line. */
export function inWords({ kills, references, shipments, ...rest }: KillReport): string {
  const { acknowledged, unknown, unknownButBooked, duplicates, lost, states } = rest
  const share = ((100 * unknown) / references).toFixed(2)
  return `${kills} kills, ${references} references, ${shipments} shipments, ${acknowledged} acknowledged, ${unknown} unknown (${share} %, ${unknownButBooked} of them booked), ${duplicates} duplicates, ${lost} lost, claims ${JSON.stringify(states)}`
}
