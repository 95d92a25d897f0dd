import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { book, duplicates, end } from '../../src/operator/commands/harness.ts'
import { startCallers } from './callers.ts'
import { countUp } from './count-up.ts'
import { openSandbox, testFolder } from './desk.ts'
import { type GatewayProcessOptions, launchGateway } from './gateway-process.ts'

/** The options of the kills. */
export interface KillOptions extends Pick<GatewayProcessOptions, 'env' | 'imports'> {
  /** The most kills, unless `until` wants more. */
  readonly kills: number
  /**
   * `duplicate`: kills no more once the service has booked a reference twice. `unknown`: kills further until a call was cut short and
   * more bookings than kills were accepted: on a busy machine each kill may come between two calls, or before the first.
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
const SERVICE_TAKES_MS = 8
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
  const launch = () => launchGateway({ ...options, storeUrl, serviceUrl: sandbox.url, env })

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
    return killed >= kills && unknown.size > 0 && acknowledged.size > kills
  }
  while (!isEnough()) {
    if (Math.random() < KILLED_EARLY) {
      await pause(Math.random() * START_TAKES_MS)
    } else {
      await gateway.url
      // Where a machine is so busy that no call is answered in time, lives get longer.
      await pause(Math.random() * LONGEST_LIFE_MS * Math.max(1, killed - kills))
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
