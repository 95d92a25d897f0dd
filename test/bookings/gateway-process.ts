import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'
import { end, launch } from '../../src/operator/commands/harness.ts'
import { COMPILED_ONCE, PROGRAM, ROOT } from '../command.ts'

export { end }

export interface GatewayProcessOptions {
  readonly storeUrl: string
  readonly serviceUrl: string
  readonly env?: Readonly<Record<string, string>>
  /** Modules of this folder that are imported before the gateway. */
  readonly imports?: readonly string[]
  /** @default the built one; that of the sources if modules are imported before it */
  readonly program?: string
}

/** Starts a gateway in a separate process, which ends with the test; its address resolves once it listens. */
export function launchGateway(options: GatewayProcessOptions) {
  const {
    storeUrl,
    serviceUrl,
    env = {},
    imports = [],
    program = imports.length > 0 ? 'src/main.ts' : PROGRAM,
  } = options
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
  const words = [...imports.flatMap((file) => ['--import', join(import.meta.dirname, file)]), resolve(ROOT, program)]
  const launched = launch(words, settings)
  onTestFinished(() => end(launched.child))
  return launched
}

/** Starts such a gateway, and waits until it listens. */
export async function startGatewayProcess(options: GatewayProcessOptions) {
  const { child, url } = launchGateway(options)
  return { child, url: await url }
}
