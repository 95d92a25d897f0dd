import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { book, countUp, type KillReport } from '../bookings/kill-harness.ts'
import { COMPILED_ONCE, newFolder, output, ROOT } from '../command.ts'
import { startSandbox } from '../stand-in/stand-in.ts'

const CALLERS = 12
const SERVICE_TAKES_MS = 20
const RETRY_PAUSE_MS = 50
const LONGEST_LIFE_MS = 1_500

/** Returns the environment of a process whose clock `faketime` sets an hour ahead. Its timers run as they do elsewhere. */
export async function hourAhead(): Promise<Readonly<Record<string, string>>> {
  // Not the program itself: it would be the parent of the gateway, and a signal to it would not reach the gateway.
  const library = await output('faketime', ['-f', '+1h', 'printenv', 'LD_PRELOAD'])
  return { LD_PRELOAD: library.trim(), FAKETIME: '+1h', FAKETIME_DONT_FAKE_MONOTONIC: '1', NO_FAKE_STAT: '1' }
}

/** One of the two gateways, which is killed and started again. */
interface Gateway {
  child: ChildProcess
  url: Promise<string>
}

/** Lets callers book through two gateways, one an hour ahead, that are killed at random; counts what the service has at the end. */
export async function killUnderSkew(storeUrl: string, kills: number): Promise<KillReport> {
  const folder = newFolder('skew')
  const sandbox = await startSandbox()
  sandbox.fail({ kind: 'delay', ms: SERVICE_TAKES_MS, times: 'always', on: { method: 'POST' } })
  const clocks = [await hourAhead(), {}] as const
  const start = (index: 0 | 1): Gateway => {
    const env = {
      ...COMPILED_ONCE,
      ...clocks[index],
      PATH: process.env['PATH'],
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      V2_BASE_URL: sandbox.url,
      // A call that meets the claim of a gateway that is gone comes again soon.
      UPSTREAM_TIMEOUT_MS: '2000',
      STORE_URL: storeUrl,
      EMERGENCY_LOG_FILE: join(folder, `emergency-${index}.ndjson`),
    }
    const child = spawn(process.execPath, [join(ROOT, 'src/main.ts'), 'serve'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const url = new Promise<string>((resolve) => {
      createInterface(child.stdout).on('line', (line) => {
        if (line.includes('"listening"')) resolve(String(JSON.parse(line).url))
      })
    })
    return { child, url }
  }
  const gateways: [Gateway, Gateway] = [start(0), start(1)]
  const acknowledged = new Map<string, string>()
  const unknown = new Set<string>()
  let wanted = 0
  let isOver = false
  const caller = async () => {
    while (!isOver) {
      wanted += 1
      const nth = wanted
      const reference = `REF-${nth}`
      for (let tries = 0; ; tries += 1) {
        const answer = await book(await gateways[(nth + tries) % 2 === 0 ? 0 : 1].url, reference)
        if (answer?.word === 'Yes') acknowledged.set(reference, answer.id)
        else if (answer?.word === 'Unknown') unknown.add(reference)
        else {
          await pause(RETRY_PAUSE_MS)
          continue
        }
        break
      }
    }
  }
  try {
    await Promise.all(gateways.map(({ url }) => url))
    const calling = Array.from({ length: CALLERS }, caller)
    for (let killed = 0; killed < kills; killed += 1) {
      const index = killed % 2 === 0 ? 0 : 1
      await gateways[index].url
      await pause(Math.random() * LONGEST_LIFE_MS)
      await kill(gateways[index].child)
      gateways[index] = start(index)
    }
    isOver = true
    await Promise.all(calling)
    await Promise.all(gateways.map(({ child }) => kill(child, 'SIGTERM')))
    await sandbox.idle()
    return { kills, references: wanted, ...(await countUp(sandbox, storeUrl, { acknowledged, unknown })) }
  } finally {
    isOver = true
    await Promise.all(gateways.map(({ child }) => kill(child)))
    await sandbox.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function kill(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill(signal)
  await gone
}
