import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { openStore } from '../../src/outside/store/open.ts'
import type { ClaimState } from '../../src/outside/store/store.ts'
import { basic } from '../gateway.ts'
import type { Sandbox } from '../stand-in/stand-in.ts'
import { openSandbox, testFolder } from './desk.ts'
import { end, type GatewayProcessOptions, launchGateway } from './gateway-process.ts'

/** The options of the kills. */
export interface KillOptions extends Pick<GatewayProcessOptions, 'env' | 'imports'> {
  /** The most kills, unless `until` wants more. */
  readonly kills: number
  /**
   * `duplicate`: kills no more once the service has booked a reference twice. `unknown`: kills further, up to four times as often,
   * until a call was cut short: on a busy machine each kill may come between two.
   */
  readonly until: 'duplicate' | 'unknown'
}

/** The result. */
export interface KillReport extends Awaited<ReturnType<typeof countUp>> {
  readonly kills: number
  /** References that callers wanted booked, each until it was answered for good. */
  readonly references: number
}

const CALLERS = 16
const MOST_PATIENCE_MS = 300_000
const SERVICE_TAKES_MS = 8
const RETRY_PAUSE_MS = 20
/** How many times more kills there may be than wanted. */
const MOST_TIMES = 4
/** The share of gateways that are killed while they start. */
const KILLED_EARLY = 0.1
const START_TAKES_MS = 600
/** A kill comes so long after the gateway listens, at most. */
const LONGEST_LIFE_MS = 800

/** Lets callers book through a gateway that is killed and started again, and counts what the service has at the end. */
export async function killUnderLoad({ kills, until, env = {}, ...options }: KillOptions): Promise<KillReport> {
  const storeUrl = join(testFolder(), 'store.db')
  const sandbox = await openSandbox()
  sandbox.fail({ kind: 'delay', ms: SERVICE_TAKES_MS, times: 'always', on: { method: 'POST' } })
  const launch = () => {
    const launched = launchGateway({ ...options, storeUrl, serviceUrl: sandbox.url, env })
    // It may be killed before it listens.
    launched.url.catch(() => undefined)
    return launched
  }

  const acknowledged = new Map<string, string>()
  const unknown = new Set<string>()
  let gateway = launch()
  const stop = startCallers(CALLERS, async (reference) => {
    const answer = await book(gateway.url, reference)
    if (answer?.word === 'Yes') acknowledged.set(reference, answer.id)
    if (answer?.word === 'Unknown') unknown.add(reference)
    return answer?.word === 'Yes' || answer?.word === 'Unknown'
  })
  let killed = 0
  const isEnough = () => {
    if (until === 'duplicate') return killed >= kills || duplicates(sandbox) > 0
    return killed >= kills && (unknown.size > 0 || killed >= kills * MOST_TIMES)
  }
  while (!isEnough()) {
    if (Math.random() < KILLED_EARLY) {
      await pause(Math.random() * START_TAKES_MS)
    } else {
      await gateway.url
      await pause(Math.random() * LONGEST_LIFE_MS)
    }
    await end(gateway.child)
    killed += 1
    gateway = launch()
  }
  const references = await stop()
  await end(gateway.child, 'SIGTERM')
  await sandbox.idle()
  return { kills: killed, references, ...(await countUp(sandbox, storeUrl, { acknowledged, unknown })) }
}

/**
 * Starts callers that book one reference after another, each again and again until an attempt is answered for good. Returns the
 * function that stops them, and returns the number of references.
 */
export function startCallers(
  callers: number,
  attempt: (reference: string, tries: number) => Promise<boolean>,
): () => Promise<number> {
  let references = 0
  let isOver = false
  const calling = Array.from({ length: callers }, async () => {
    while (!isOver) {
      references += 1
      const nth = references
      for (let tries = nth; !(await attempt(`REF-${nth}`, tries)); tries += 1) await pause(RETRY_PAUSE_MS)
    }
  })
  return async () => {
    isOver = true
    await Promise.all(calling)
    return references
  }
}

/** Shipments beyond the first of their reference. */
export function duplicates({ shipments }: Pick<Sandbox, 'shipments'>): number {
  return shipments.size - new Set([...shipments.values()].map(({ external_id: reference }) => reference)).size
}

/** The answers to callers, by reference. */
export interface Told {
  /** With the id of the shipment. */
  readonly acknowledged: ReadonlyMap<string, string>
  readonly unknown: ReadonlySet<string>
}

/** Compares the answers to callers with the service and the store. */
export async function countUp(sandbox: Sandbox, storeUrl: string, { acknowledged, unknown }: Told) {
  const store = await openStore(storeUrl)
  const claims = await store.listClaims({ limit: Number.MAX_SAFE_INTEGER })
  const claimed = new Map(claims.map((claim) => [claim.reference, claim]))
  /** Acknowledged bookings that the service, the store or the cross-reference does not have. */
  let lost = 0
  for (const [reference, id] of acknowledged) {
    const isLinked = (await store.named('demo', reference)).some((bearer) => bearer.id === id)
    const claim = claimed.get(reference)
    if (!sandbox.shipments.has(id) || !isLinked || claim?.state !== 'booked' || claim.shipment !== id) lost += 1
  }
  await store.close()
  const states: Partial<Record<ClaimState, number>> = {}
  for (const { state } of claims) states[state] = (states[state] ?? 0) + 1
  return {
    acknowledged: acknowledged.size,
    unknown: unknown.size,
    shipments: sandbox.shipments.size,
    duplicates: duplicates(sandbox),
    lost,
    states,
  }
}

/** One try; undefined where the connection broke, or the answer did not come in time. */
export async function book(url: string | Promise<string>, reference: string, patienceMs = MOST_PATIENCE_MS) {
  try {
    const response = await fetch(`${await url}/createShipment.php`, {
      method: 'POST',
      headers: { authorization: basic() },
      signal: AbortSignal.timeout(patienceMs),
      body: JSON.stringify({ ...bookingExample, ReferenceNumber: reference }),
    })
    const { TransportationBooked: word }: { TransportationBooked?: string } = JSON.parse(await response.text())
    return { word, id: response.headers.get('transload-shipment-id') ?? '' }
  } catch {
    return undefined
  }
}
