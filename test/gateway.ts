import { networkInterfaces } from 'node:os'
import { onTestFinished } from 'vitest'
import { type Config, readConfig } from '../src/config/config.ts'
import { loadMappings } from '../src/config/mappings.ts'
import { type Gateway, openGateway } from '../src/gateway.ts'
import { createLog } from '../src/observe/log.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../src/sandbox/sandbox.ts'
import { createMemoryStore } from '../src/store/memory.ts'
import type { Store } from '../src/store/store.ts'

/** The credential that the stand-in of the service knows. */
export const CLIENT = { id: 'demo', secret: 'demo-secret' } as const

/** Here as well, and not 127.0.0.1: Linux answers on all of 127.0.0.0/8, other systems speak IPv6. */
export const OTHER_LOOPBACK = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)
  ? '::1'
  : '127.0.0.2'

/** A gateway in front of the service's stand-in, both real servers on ports of their own. */
export interface House {
  readonly url: string
  readonly adminUrl: string
  readonly gateway: Gateway
  readonly sandbox: Sandbox
  readonly store: Store
  readonly config: Config
  /** Every log line so far, parsed. */
  readonly lines: () => readonly Record<string, unknown>[]
}

export interface HouseOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly sandbox?: SandboxOptions
  readonly store?: Store
  /** The clock of the store, if the test brings none. */
  readonly now?: () => number
  /** Where the gateway sends to, if not to the stand-in. */
  readonly serviceUrl?: string
}

/** Opens a house for one test; it closes by itself. */
export async function openHouse(options: HouseOptions = {}): Promise<House> {
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret }, ...options.sandbox })
  const config = {
    ...readConfig({
      HOST: '127.0.0.1',
      PORT: '0',
      SHUTDOWN_GRACE_MS: '5000',
      ...options.env,
      V2_BASE_URL: options.serviceUrl ?? options.env?.['V2_BASE_URL'] ?? sandbox.url,
    }),
  }
  const written: string[] = []
  const log = createLog('info', { write: (line) => void written.push(line) })
  const catalog = await loadMappings(config.MAPPINGS_DIR, config.LOOKUPS_FILE)
  const store = options.store ?? createMemoryStore(options.now && { now: options.now })
  const parts = { catalog, store, log, adminPort: 0 }
  const gateway = await openGateway(config, parts)
  onTestFinished(async () => {
    await gateway.close()
    await Promise.all([store.close(), sandbox.close()])
  })
  return {
    url: gateway.url,
    adminUrl: gateway.adminUrl ?? '',
    gateway,
    sandbox,
    store,
    config,
    lines: () => written.map((line) => JSON.parse(line)),
  }
}

/** `Authorization` for an id and a secret. */
export function basic(id: string = CLIENT.id, secret: string = CLIENT.secret): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}

/** An answer, read whole. */
export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON, of whatever shape the test expects. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape is what they test.
  readonly json: any
}

/** Sends a legacy call as an old integration does; an object becomes JSON. */
export async function post(
  house: Pick<House, 'url'>,
  path: string,
  body: string | object | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return answered(
    await fetch(house.url + path, { method: 'POST', body: sent, headers: { authorization: basic(), ...headers } }),
  )
}

/** Reads as an old integration does. */
export async function get(
  house: Pick<House, 'url'>,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answered> {
  return answered(await fetch(house.url + path, { headers: { authorization: basic(), ...headers } }))
}

async function answered(response: Response): Promise<Answered> {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined }
}
