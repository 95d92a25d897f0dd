import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { COMPILED_ONCE } from '../command.ts'

const MAIN = join(import.meta.dirname, '../../src/main.ts')

export interface GatewayProcessOptions {
  readonly storeUrl: string
  readonly serviceUrl: string
  readonly env?: Readonly<Record<string, string>>
  /** Options of Node's own. */
  readonly nodeOptions?: readonly string[]
}

/** Starts a gateway in a separate process, and waits until it listens; it ends with the test. */
export async function startGatewayProcess({
  storeUrl,
  serviceUrl,
  env = {},
  nodeOptions = [],
}: GatewayProcessOptions): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const settings = {
    ...COMPILED_ONCE,
    PATH: process.env['PATH'] ?? '',
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    V2_BASE_URL: serviceUrl,
    STORE_URL: storeUrl,
    // A file for each store: beside it a gateway keeps which one it used last.
    EMERGENCY_LOG_FILE: join(tmpdir(), `transload-${process.pid}${storeUrl.replace(/\W+/g, '-').slice(-80)}.ndjson`),
    ...env,
  }
  const child = spawn(process.execPath, [...nodeOptions, MAIN], { env: settings, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  for await (const line of createInterface(child.stdout)) {
    if (!line.includes('"listening"')) continue
    child.stdout.resume()
    return { url: JSON.parse(line).url, child }
  }
  throw new Error('the gateway ended before it listened')
}
