import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { countUp, end } from '../../src/operator/commands/harness.ts'
import { startGatewayProcess } from '../bookings/gateway-process.ts'
import type { KillReport } from '../bookings/kill-harness.ts'
import { newFolder } from '../command.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { startCallers } from './booking-callers.ts'
import { startMovingAddress } from './moving-address.ts'
import { addressOf, startServer, startStandby } from './postgres-servers.ts'

/**
 * How a primary ends: `killed`, and the address leads to a standby that takes no writes for a moment; `cut` off from the address
 * alone; or it `goes on`, and connections that are open still reach it.
 */
type Ending = 'killed' | 'cut' | 'goes on'
const ENDINGS: readonly Ending[] = ['killed', 'goes on', 'cut', 'goes on']

/** Seconds from the end of a primary. */
export interface FailoverTimes {
  readonly ending: Ending
  readonly promoted: number
  /** Until all gateways were ready, and had left the old primary. */
  readonly ready: number
  /** Until a booking that was asked for after the promotion was accepted. */
  readonly booked: number
}

/** The counts of the kill harness, and the times of each fail-over. */
export interface FailoverReport extends Omit<KillReport, 'kills'> {
  readonly times: readonly FailoverTimes[]
  /** Acknowledged bookings that were asked for again at the end, and not answered as before. */
  readonly forgotten: number
}

const GATEWAYS = 2
const SERVICE_TAKES_MS = 8
const LONGEST_LIFE_MS = 1_500
const POLL_MS = 10

/**
 * Lets callers book through two gateways over one address that moves from a primary to its promoted synchronous standby, again and
 * again, and counts what the service and the store have at the end. Each old primary becomes the next standby.
 */
export async function failOverUnderLoad(failovers: number): Promise<FailoverReport> {
  const folder = newFolder('failover')
  const sandbox = await startSandbox()
  sandbox.fail({ kind: 'delay', ms: SERVICE_TAKES_MS, times: 'always', on: { method: 'POST' } })
  let primary = await startServer()
  let standby = await startStandby(primary)
  const address = await startMovingAddress(primary.port)
  const storeUrl = addressOf(address)
  const secure = async () => {
    await primary.set('synchronous_standby_names', '*')
    await primary.until("SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'")
  }

  try {
    await secure()
    const gateways = await Promise.all(
      Array.from({ length: GATEWAYS }, (_, index) =>
        startGatewayProcess({
          storeUrl,
          serviceUrl: sandbox.url,
          // A call that meets the claim of a lost call comes again soon.
          env: { UPSTREAM_TIMEOUT_MS: '2000', EMERGENCY_LOG_FILE: join(folder, `emergency-${index}.ndjson`) },
        }),
      ),
    )
    const urlOf = (nth: number): string => gateways[nth % gateways.length]?.url ?? ''
    const callers = startCallers(urlOf)

    const times: FailoverTimes[] = []
    for (let nth = 0; nth < failovers; nth += 1) {
      await pause(Math.random() * LONGEST_LIFE_MS)
      const ending = ENDINGS[nth % ENDINGS.length] ?? 'killed'
      const endedAt = performance.now()
      const elapsed = () => (performance.now() - endedAt) / 1_000
      if (ending === 'killed') {
        await primary.kill()
        address.moveTo(standby.port)
      }
      await standby.promote()
      if (ending !== 'killed') address.moveTo(standby.port)
      if (ending === 'cut') address.cut(primary.port)
      const promoted = elapsed()
      const promotedAt = performance.now()
      const [ready, booked] = await Promise.all([
        (async () => {
          while (address.connectionsTo(primary.port) > 0) await pause(POLL_MS)
          await Promise.all(gateways.map(({ url }) => untilReady(url)))
          return elapsed()
        })(),
        (async () => {
          while (callers.latestAccepted() < promotedAt) await pause(POLL_MS)
          return elapsed()
        })(),
      ])
      times.push({ ending, promoted, ready, booked })
      ;[primary, standby] = [standby, primary]
      if (nth + 1 < failovers) {
        await standby.follow(primary)
        await secure()
      }
    }
    const references = await callers.stop()
    const forgotten = await callers.forgotten()
    for (const { child } of gateways) await end(child, 'SIGTERM')
    await sandbox.idle()
    return { references, ...(await countUp(sandbox, storeUrl, callers)), forgotten, times }
  } finally {
    address.close()
    await Promise.allSettled([primary.remove(), standby.remove()])
    await sandbox.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function untilReady(url: string): Promise<void> {
  while (
    !(await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await pause(POLL_MS)
}
