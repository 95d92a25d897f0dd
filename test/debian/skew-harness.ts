import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { countUp, end } from '../../src/operator/commands/harness.ts'
import { startGatewayProcess } from '../bookings/gateway-process.ts'
import type { KillReport } from '../bookings/kill-harness.ts'
import { newFolder, output } from '../command.ts'
import { startSandbox } from '../stand-in/stand-in.ts'
import { startCallers } from './booking-callers.ts'

const SERVICE_TAKES_MS = 20
const LONGEST_LIFE_MS = 1_500

type StartedGateway = ReturnType<typeof startGatewayProcess>

/** Returns the environment of a process whose clock `faketime` sets an hour ahead. Its timers run as they do elsewhere. */
async function hourAhead(): Promise<Readonly<Record<string, string>>> {
  // Not the program itself: it would be the parent of the gateway, and a signal to it would not reach the gateway.
  const library = await output('faketime', ['-f', '+1h', 'printenv', 'LD_PRELOAD'])
  return { LD_PRELOAD: library.trim(), FAKETIME: '+1h', FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' }
}

/** Lets callers book through two gateways, one an hour ahead, that are killed at random; counts what the service has at the end. */
export async function killUnderSkew(storeUrl: string, kills: number): Promise<KillReport> {
  const folder = newFolder('skew')
  const sandbox = await startSandbox()
  sandbox.fail({ kind: 'delay', ms: SERVICE_TAKES_MS, times: 'always', on: { method: 'POST' } })
  const clocks = [await hourAhead(), {}] as const
  const start = (index: 0 | 1) =>
    startGatewayProcess({
      storeUrl,
      serviceUrl: sandbox.url,
      env: {
        ...clocks[index],
        // A call that meets the claim of a gateway that is gone comes again soon.
        UPSTREAM_TIMEOUT_MS: '2000',
        EMERGENCY_LOG_FILE: join(folder, `emergency-${index}.ndjson`),
      },
    })
  const gateways: [StartedGateway, StartedGateway] = [start(0), start(1)]
  try {
    await Promise.all(gateways)
    const callers = startCallers(async (nth) => (await gateways[nth % 2 === 0 ? 0 : 1]).url)
    for (let killed = 0; killed < kills; killed += 1) {
      const index = killed % 2 === 0 ? 0 : 1
      const { child } = await gateways[index]
      await pause(Math.random() * LONGEST_LIFE_MS)
      await end(child, 'SIGKILL')
      gateways[index] = start(index)
    }
    const references = await callers.stop()
    for (const gateway of gateways) await end((await gateway).child, 'SIGTERM')
    await sandbox.idle()
    return { kills, references, ...(await countUp(sandbox, storeUrl, callers)) }
  } finally {
    await sandbox.close()
    await rm(folder, { recursive: true, force: true })
  }
}
