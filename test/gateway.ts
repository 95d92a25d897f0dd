import { networkInterfaces } from 'node:os'
import { Client, type Dispatcher, request } from 'undici'
import { onTestFinished } from 'vitest'
import { loadMappings } from '../mappings/load.ts'
import { LISTENER_TIMEOUTS, type ListenerTimeouts } from '../src/edge/connections.ts'
import { type Gateway, openGateway } from '../src/gateway.ts'
import { type Config, readConfig } from '../src/language/config/config.ts'
import type { Catalog } from '../src/language/mapping/catalog.ts'
import { createPages } from '../src/operator/pages/all-pages.ts'
import { createMemoryStore } from '../src/outside/store/sqlite/sqlite.ts'
import type { Store } from '../src/outside/store/store.ts'
import { createLog } from '../src/runtime/log.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from './stand-in/stand-in.ts'

/** The credential that the stand-in for the service accepts. */
export const CLIENT = { id: 'demo', secret: 'demo-secret' } as const

/** The same as the gateway's own credential, so that no call needs a proof. */
export const OWN = { V2_CLIENT_ID: CLIENT.id, V2_CLIENT_SECRET: CLIENT.secret } as const

/** A second loopback address: IPv6, or one of 127.0.0.0/8, all of which answer on Linux. */
export const OTHER_LOOPBACK = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)
  ? '::1'
  : '127.0.0.2'

/** A gateway in front of the stand-in for the service; both are real servers on free ports. */
export interface TestGateway {
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

export interface TestGatewayOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly sandbox?: SandboxOptions
  readonly store?: Store
  /** The clock of the store, unless the test provides a store. */
  readonly now?: () => number
  /** The timeouts that differ from the gateway's defaults. */
  readonly timeouts?: Partial<ListenerTimeouts>
  /** The address of the service. @default that of the stand-in */
  readonly serviceUrl?: string
  /** How often the gateway looks if a round of pruning is due, in milliseconds. @default an hour */
  readonly pruneEveryMs?: number
  /** How often the gateway searches for the shipments of unknown bookings, in milliseconds. @default ten minutes */
  readonly sweepEveryMs?: number
  /**
   * True if the service has accepted the stand-in's credentials before the test begins; otherwise the first call of each asks first.
   *
   * @default true where callers bring them as Basic authentication, over plain HTTP
   */
  readonly proven?: boolean
  /**
   * When the gateway is closed. Use `afterAll` for one that all tests of a file share.
   *
   * @default after the test
   */
  readonly closeAt?: (close: () => Promise<void>) => void
}

/** Opens a gateway and a stand-in, and closes them after the test. */
export async function startGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret }, ...options.sandbox })
  const config = {
    ...readConfig({
      HOST: '127.0.0.1',
      PORT: '0',
      SHUTDOWN_GRACE_MS: '5000',
      // Another test's gateway would record what one file keeps.
      EMERGENCY_LOG_FILE: 'off',
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
  const { pruneEveryMs, sweepEveryMs } = options
  const parts = {
    catalog,
    store,
    log,
    pages: createPages,
    adminPort: 0,
    timeouts,
    pruneEveryMs,
    sweepEveryMs,
  }
  const gateway = await openGateway(config, parts)
  const { V2_CLIENT_ID, TENANTS_FILE, V2_TOKEN, TLS_CERT_FILE } = config
  const isPlain = [V2_CLIENT_ID, TENANTS_FILE, TLS_CERT_FILE].every((set) => set === undefined) && V2_TOKEN === 'basic'
  if (options.proven ?? (isPlain && options.serviceUrl === undefined)) {
    const { credentials = { [CLIENT.id]: CLIENT.secret } } = options.sandbox ?? {}
    if (credentials !== 'any') await prove(gateway.url, credentials)
    sandbox.requests.length = 0
    written.length = 0
  }
  const closeAt = options.closeAt ?? onTestFinished
  closeAt(async () => {
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

/** Makes the service accept each credential by a read; leaves no connection behind. */
async function prove(url: string, credentials: Readonly<Record<string, string>>): Promise<void> {
  const client = new Client(url)
  for (const [id, secret] of Object.entries(credentials)) {
    const headers = { authorization: basic(id, secret) }
    const { body } = await client.request({ method: 'GET', path: '/getShipment.php?ReferenceNumber=none', headers })
    await body.dump()
  }
  await client.close()
}

let ownCatalog: Promise<Catalog> | undefined

/** Returns the catalog of a configuration. The gateway's own is compiled once, because it never changes. */
function catalogOf({ MAPPINGS_DIR: folder, LOOKUPS_FILE: lookups }: Config): Promise<Catalog> {
  if (folder !== undefined || lookups !== undefined) return loadMappings(folder, lookups)
  ownCatalog ??= loadMappings()
  return ownCatalog
}

/** Returns the `Authorization` header of an id and a secret. */
export function basic(id: string = CLIENT.id, secret: string = CLIENT.secret): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
}

/** An answer with its whole body. */
export interface WholeAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON, of the shape that the test expects. */
  // biome-ignore lint/suspicious/noExplicitAny: the shape of the body is what the tests check.
  readonly json: any
}

/** Sends a POST as an old integration does; an object becomes JSON. */
export function post(
  gateway: Pick<TestGateway, 'url'>,
  path: string,
  body: string | object,
  headers: Readonly<Record<string, string>> = {},
) {
  const sent = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return answerTo(gateway.url + path, { method: 'POST', body: sent, headers })
}

/** Sends a GET as an old integration does. */
export const get = (gateway: Pick<TestGateway, 'url'>, path: string, headers: Readonly<Record<string, string>> = {}) =>
  answerTo(gateway.url + path, { headers })

/** Returns a gateway's metrics. */
export const metricsOf = async ({ adminUrl }: Pick<TestGateway, 'adminUrl'>) =>
  (await get({ url: adminUrl }, '/metrics')).text

/** Makes a call with the stand-in's credential, and reads the whole answer. */
export async function answerTo(
  url: string,
  { headers: own, ...options }: Partial<Pick<Dispatcher.RequestOptions, 'method' | 'body' | 'headers'>>,
): Promise<WholeAnswer> {
  const reply = await request(url, { ...options, headers: { authorization: basic(), ...own } })
  const text = await reply.body.text()
  const headers = new Headers()
  for (const [name, value = []] of Object.entries(reply.headers))
    for (const one of [value].flat()) headers.append(name, one)
  const isJson = headers.get('content-type')?.includes('json')
  return { status: reply.statusCode, headers, text, json: isJson && text ? JSON.parse(text) : undefined }
}
