import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { book, end } from '../../src/operator/commands/harness.ts'
import { startCallers as startBooking } from '../bookings/callers.ts'
import { countUp } from '../bookings/count-up.ts'
import { openSandbox, testFolder } from '../bookings/desk.ts'
import { startGatewayProcess } from '../bookings/gateway-process.ts'

const CALLERS = 12
const RETRY_PAUSE_MS = 20
const MOST_UNKNOWN = 10

/** Starts two gateways on one store, and callers that book through both; the service is slow. */
export async function startLoad(
  storeUrl: string,
  serviceTakesMs: number,
  environments: readonly Readonly<Record<string, string>>[] = [{}, {}],
) {
  const folder = testFolder()
  const sandbox = await openSandbox()
  sandbox.fail({ kind: 'delay', ms: serviceTakesMs, times: 'always', on: { method: 'POST' } })
  const start = (index: number) =>
    startGatewayProcess({
      storeUrl,
      serviceUrl: sandbox.url,
      env: {
        ...environments[index],
        // A call that meets the claim of a dead gateway is soon retried.
        UPSTREAM_TIMEOUT_MS: '2000',
        EMERGENCY_LOG_FILE: join(folder, `emergency-${index}.ndjson`),
      },
    })
  const gateways = environments.map((_, index) => start(index))
  await Promise.all(gateways)
  const callers = startCallers(async (nth) => (await gateways[nth % gateways.length])?.url ?? '')
  return {
    gateways,
    callers,
    /** Kills a gateway and restarts it. */
    async kill(index: number) {
      const gateway = await gateways[index]
      if (gateway) await end(gateway.child)
      gateways[index] = start(index)
    },
    /** Lets the callers finish, ends the gateways, and counts the bookings at the service and in the store. */
    async finish(forgets = false) {
      const references = await callers.stop()
      const forgotten = forgets ? await callers.forgotten() : 0
      for (const gateway of gateways) await end((await gateway).child, 'SIGTERM')
      await sandbox.idle()
      return { references, forgotten, ...(await countUp(sandbox, storeUrl, callers)) }
    },
  }
}

/** Starts callers that book their own references, each until it gets a final answer, until they are stopped. */
function startCallers(urlOf: (nth: number) => string | Promise<string>) {
  const acknowledged = new Map<string, string>()
  const unknown = new Set<string>()
  /** The time when the last accepted booking was requested. */
  let latestAccepted = 0
  const stop = startBooking(CALLERS, async (reference, tries) => {
    const askedAt = performance.now()
    const answer = await book(urlOf(tries), reference)
    if (answer?.word === 'Unknown') unknown.add(reference)
    else if (answer?.word === 'Yes') {
      latestAccepted = Math.max(latestAccepted, askedAt)
      acknowledged.set(reference, answer.id)
    } else return false
    return true
  })
  onTestFinished(() => void stop())
  return {
    acknowledged,
    unknown,
    latestAccepted: () => latestAccepted,
    /** Lets the callers finish, and returns the number of references that they tried to book. */
    stop,
    /** Repeats every acknowledged booking, and counts those with a different answer. */
    async forgotten(): Promise<number> {
      let count = 0
      const again = [...acknowledged]
      const asking = Array.from({ length: CALLERS }, async () => {
        for (let next = again.pop(); next; next = again.pop()) {
          const [reference, id] = next
          let answer = await book(urlOf(again.length), reference)
          let mayBeUnknown = MOST_UNKNOWN
          // A call that ran out of time or met no store has no final answer, and one that had no time to read the shipment says `Unknown`. One
          // that is in progress again stays so, because its end was lost.
          while (!['Yes', 'in progress', 'conflict'].includes(answer?.word ?? '') && mayBeUnknown > 0) {
            if (answer?.word === 'Unknown') mayBeUnknown -= 1
            await pause(RETRY_PAUSE_MS)
            answer = await book(urlOf(again.length), reference)
          }
          if (answer?.id !== id) count += 1
        }
      })
      await Promise.all(asking)
      return count
    },
  }
}
