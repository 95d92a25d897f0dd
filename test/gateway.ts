import { networkInterfaces } from 'node:os'
import { onTestFinished } from 'vitest'
import { type Config, readConfig } from '../src/config/config.ts'
import { loadMappings } from '../src/config/mappings.ts'
import { type Gateway, openGateway } from '../src/gateway.ts'
import { LISTENER_TIMEOUTS, type ListenerTimeouts } from '../src/http/timeouts.ts'
import type { Catalog } from '../src/mapping/catalog.ts'
import { createLog } from '../src/observe/log.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../src/sandbox/sandbox.ts'
import { createMemoryStore } from '../src/store/memory.ts'
import type { Store } from '../src/store/store.ts'

/** The credential that the stand-in of the service knows. */
export const CLIENT = { id: 'demo', secret: 'demo-secret' } as const

/** The same as the gateway's own: nothing has to be proven before the first call, whatever answers it. */
export const OWN = { V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret } as const

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
  readonly lines: () => readonly LogLine[]
  /** Resolves with the first log line whose message matches. */
  readonly logged: (message: RegExp) => Promise<LogLine>
}

type LogLine = Readonly<Record<string, unknown>>

export interface HouseOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly sandbox?: SandboxOptions
  readonly store?: Store
  /** The clock of the store, if the test brings none. */
  readonly now?: () => number
  /** Those that differ from the gateway's own. */
  readonly timeouts?: Partial<ListenerTimeouts>
  /** Where the gateway sends to, if not to the stand-in. */
  readonly serviceUrl?: string
  /**
   * Whether the credentials of the stand-in have been accepted before the test begins; else the first call of each asks first.
   * @default true where callers bring them as Basic authentication, over plain HTTP
   */
  readonly proven?: boolean
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
  const lines = (): LogLine[] => written.map((line) => JSON.parse(line))
  const readers = new Set<() => void>()
  const log = createLog('info', {
    write: (line) => {
      written.push(line)
      for (const reader of readers) reader()
    },
  })
  const catalog = await catalogOf(config)
  const store = options.store ?? createMemoryStore(options.now && { now: options.now })
  const timeouts = { ...LISTENER_TIMEOUTS, ...options.timeouts }
  const parts = { catalog, store, log, adminPort: 0, timeouts }
  const gateway = await openGateway(config, parts)
  const { V2_CLIENT_ID, TENANTS_FILE, V2_TOKEN, TLS_CERT_FILE } = config
  const isPlain = [V2_CLIENT_ID, TENANTS_FILE, TLS_CERT_FILE].every((set) => set === undefined) && V2_TOKEN === 'basic'
  if (options.proven ?? (isPlain && options.serviceUrl === undefined)) {
    const { credentials = { [CLIENT.id]: CLIENT.secret } } = options.sandbox ?? {}
    for (const [id, secret] of Object.entries(credentials === 'any' ? {} : credentials)) {
      await get(gateway, '/getShipment.php?ReferenceNumber=none', { authorization: basic(id, secret) })
    }
    sandbox.requests.length = 0
    written.length = 0
  }
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
    lines,
    logged: (message) =>
      new Promise((resolve) => {
        const look = () => {
          const found = lines().find(({ msg }) => message.test(String(msg)))
          if (found === undefined) return
          readers.delete(look)
          resolve(found)
        }
        readers.add(look)
        look()
      }),
  }
}

let ownCatalog: Promise<Catalog> | undefined

/** Returns the catalog of a configuration. The gateway's own is compiled once, because it never changes. */
function catalogOf({ MAPPINGS_DIR: folder, LOOKUPS_FILE: lookups }: Config): Promise<Catalog> {
  if (folder !== undefined || lookups !== undefined) return loadMappings(folder, lookups)
  ownCatalog ??= loadMappings()
  return ownCatalog
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
