import { readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { openSqliteStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { serve } from '../callers/commands.ts'
import { linksOf } from '../callers/tenants-gateway.ts'
import { newFolder } from '../command.ts'
import { CLIENT } from '../gateway.ts'
import { startSandbox } from '../stand-in/stand-in.ts'

/** The usage of a process (proc(5)). */
export interface ProcessUsage {
  readonly peakMegabytes: number
  readonly descriptors: number
  /** How long its main thread ran, in nanoseconds. */
  readonly ranNs: number
}

const KILOBYTE = 1024

/** A gateway in a separate process, in front of the stand-in for the service. */
export type GatewayProcess = Awaited<ReturnType<typeof startGatewayProcess>>

/** Starts such a gateway as the image does, with a store on disk, and ends it with the test. */
export async function startGatewayProcess({
  env,
  credentials,
}: {
  readonly env: Readonly<Record<string, string>>
  /** The credentials that the service accepts. @default those of the stand-in */
  readonly credentials?: Readonly<Record<string, string>>
}) {
  const sandbox = await startSandbox({ credentials: credentials ?? { [CLIENT.id]: CLIENT.secret } })
  const folder = newFolder('strangers')
  onTestFinished(async () => {
    await sandbox.close()
    await rm(folder, { recursive: true, force: true })
  })
  const path = join(folder, 'store.db')
  const gateway = await serve(folder, {
    NODE_OPTIONS: '--max-semi-space-size=8',
    MALLOC_ARENA_MAX: '2',
    MALLOC_TRIM_THRESHOLD_: '131072',
    V2_BASE_URL: sandbox.url,
    STORE_URL: path,
    EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
    ...env,
  })
  return {
    url: gateway.url,
    sandbox,
    /** Returns the current usage of the process. */
    measure: () => measure(gateway.pid),
    /** Stops the gateway, and returns the content of its store. */
    stop: async () => {
      gateway.signal('SIGTERM')
      await gateway.ended
      const store = await openSqliteStore({ path })
      const links = await linksOf(store)
      const claims = await store.listClaims({ limit: Number.MAX_SAFE_INTEGER })
      await store.close()
      return { claims, links }
    },
  }
}

function measure(pid: number): ProcessUsage {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const ranNs = Number.parseInt(readFileSync(`/proc/${pid}/schedstat`, 'utf8'), 10)
  return {
    ranNs,
    peakMegabytes: Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / KILOBYTE,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
  }
}
