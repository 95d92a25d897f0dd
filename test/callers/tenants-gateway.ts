import { scryptSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { quoteExample } from '../../mappings/quote-rows.ts'
import type { Name, Store } from '../../src/outside/store/store.ts'
import {
  basic,
  get,
  post,
  startGateway,
  type TestGateway,
  type TestGatewayOptions,
  type WholeAnswer,
} from '../gateway.ts'

/** A tenant as an operator declares it. */
export type TenantDeclaration = Readonly<Record<string, unknown>> & { readonly name: string }

/** Makes a hash like `transload tenants hash`, but at almost no cost. */
export function cheapHash(secret: string, salt = `salt of ${secret}`, costLog2 = 4): string {
  const hash = scryptSync(secret, salt, 32, { N: 2 ** costLog2, r: 8, p: 1 })
  const plain = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  return `$scrypt$ln=${costLog2},r=8,p=1$${plain(Buffer.from(salt))}$${plain(hash)}`
}

/** Makes a hash with a noticeable cost: a quarter of a real one. */
export const slowHash = (secret: string) => cheapHash(secret, undefined, 13)

/** Makes a folder for one test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'transload-credentials-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

/** A tenant with a credential, and its secret for the service in a file of that folder. */
export function tenant(place: string, name: string, more: object = {}): TenantDeclaration {
  const file = join(place, `${name}.secret`)
  writeFileSync(file, `${secretOf(name)}\n`)
  const { v2, ...rest } = { v2: {}, ...more }
  return {
    name,
    credentials: [{ id: `${name}-legacy`, secret_hash: cheapHash(`${name}-legacy-secret`) }],
    v2: { client_id: `${name}-v2`, client_secret: { file }, ...v2 },
    ...rest,
  }
}

/** Declares tenants with everything that each needs, and the same additional members. */
export const named =
  (names: readonly string[], more: object = {}) =>
  (place: string): readonly TenantDeclaration[] =>
    names.map((name) => tenant(place, name, more))

const secretOf = (name: string) => `${name}-v2-secret`

/** The credentials of these tenants at the service. */
export function known(...names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [`${name}-v2`, secretOf(name)]))
}

/** The `Authorization` of a tenant's callers. */
export const as = (name: string) => ({ authorization: basic(`${name}-legacy`, `${name}-legacy-secret`) })

/** The `Authorization` that the service gets for a tenant with Basic authentication. */
export const atService = (name: string) => basic(`${name}-v2`, secretOf(name))

/** Writes a tenants file. */
export function writeTenants(path: string, ...tenants: readonly TenantDeclaration[]): void {
  writeFileSync(path, JSON.stringify({ tenants }))
}

/** A gateway on the shared edge. */
export interface Edge extends TestGateway {
  /** The folder of the tenants file and the secrets. */
  readonly place: string
  readonly path: string
  /** Reads the file again, as SIGHUP does. */
  readonly hangUp: () => void
}

/** Opens a gateway for tenants, and closes it after the test. */
export async function openEdge(
  declare: (place: string) => readonly TenantDeclaration[],
  options: TestGatewayOptions = {},
): Promise<Edge> {
  const place = folder()
  const path = join(place, 'tenants.json')
  const tenants = declare(place)
  writeTenants(path, ...tenants)
  // Programs in earlier tests of the same process end it on a signal.
  const others = new Set(process.listeners('SIGHUP'))
  const gateway = await startGateway({
    ...options,
    env: { TENANTS_FILE: path, ...options.env },
    sandbox: { credentials: known(...tenants.map(({ name }) => name)), ...options.sandbox },
  })
  const hangUp = () => {
    for (const listener of process.listeners('SIGHUP')) if (!others.has(listener)) listener('SIGHUP')
  }
  return { ...gateway, place, path, hangUp }
}

type SentFields = Readonly<Record<string, string>>

/** Asks for a quote. */
export const quote = (
  gateway: Pick<TestGateway, 'url'>,
  headers: SentFields,
  more: object = {},
): Promise<WholeAnswer> => post(gateway, '/getShippingQuote.php', { ...quoteExample, ...more }, headers)

/** A whole booking with a new reference. */
export const booking = (ReferenceNumber: string, more: object = {}) => ({
  ReferenceNumber,
  PickupZip: '10314',
  DeliveryZip: '33166',
  BillToName: 'Example Shipper LLC',
  VinNo: '1FDKE30G4JHA04964',
  ...more,
})

export const book = (gateway: Pick<TestGateway, 'url'>, reference: string, headers: SentFields, more: object = {}) =>
  post(gateway, '/createShipment.php', booking(reference, more), headers)

/** Reads a shipment. */
export const read = (gateway: Pick<TestGateway, 'url'>, ReferenceNumber: string, headers: SentFields) =>
  get(gateway, `/getShipment.php?${new URLSearchParams({ ReferenceNumber })}`, headers)

type Call = (
  gateway: Pick<TestGateway, 'url'>,
  name: string,
  headers: SentFields,
  more?: Readonly<Record<string, string>>,
) => Promise<WholeAnswer>

const posting =
  (path: string, body: (name: string) => object): Call =>
  (gateway, name, headers, more) =>
    post(gateway, path, { ...body(name), ...more }, headers)

const byKey: Call = (gateway, name, headers, more) =>
  book(gateway, 'R-KEY', { ...headers, 'idempotency-key': name }, more)
const reading: Call = read

/** Every kind of legacy call about a name, with more fields. */
export const CALLS = {
  quote: posting('/getShippingQuote.php', (ShipmentNumber) => ({ ...quoteExample, ShipmentNumber })),
  reprice: posting('/getShippingQuote.php', (ShipmentNumber) => ({ ActionName: 'Update Rate', ShipmentNumber })),
  approve: posting('/getShippingQuote.php', (ShipmentNumber) => ({ ActionName: 'Accept Rate', ShipmentNumber })),
  book: posting('/createShipment.php', booking),
  'book otherwise': posting('/createShipment.php', (name) => booking(name, { DeliveryName: 'Somebody Else' })),
  'book what cannot be booked': posting('/createShipment.php', (name) => booking(name, { PickupZip: 'none' })),
  'book by a key': byKey,
  read: reading,
  update: posting('/updateShipment.php', (ReferenceNumber) => ({ ReferenceNumber, PickupName: 'Sam' })),
  cancel: posting('/deleteShipment.php', (ReferenceNumber) => ({ ReferenceNumber })),
} as const

export const KINDS = Object.keys(CALLS) as readonly (keyof typeof CALLS)[]

/** The token requests that the stand-in has received. */
export const exchanges = ({ sandbox }: Pick<TestGateway, 'sandbox'>) =>
  sandbox.requests.filter(({ path }) => path === '/oauth2/token')

/** Everything in the cross-reference of a store. */
export async function linksOf(store: Store): Promise<readonly Name[]> {
  const all: Name[] = []
  for await (const some of store.scan({})) all.push(...some)
  return all
}

const NOT_SEEN: ReadonlySet<string> = new Set(['date', 'x-request-id', 'content-length', 'connection', 'keep-alive'])

/** The parts by which a caller can distinguish answers: all but the id of the call, its time and its connection. */
export const seen = ({ status, headers, text }: WholeAnswer): string =>
  `${status} ${JSON.stringify([...headers].filter(([name]) => !NOT_SEEN.has(name)))} ${text}`

/** Counts how often each value occurs. */
export function counted<T>(values: readonly T[]): Readonly<Record<string, number>> {
  const all: Record<string, number> = {}
  for (const value of values) all[String(value)] = (all[String(value)] ?? 0) + 1
  return all
}

/** Counts the statuses of answers. */
export const statuses = (answers: readonly { readonly status: number }[]) =>
  counted(answers.map(({ status }) => status))

/** Runs work several times at once. */
export function atOnce<T>(count: number, work: (i: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => work(i)))
}

/** Moves the clocks of the gateway, which measures intervals, and of the service. */
export function clocks() {
  const real = performance.now.bind(performance)
  let ahead = 0
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead)
  onTestFinished(() => spy.mockRestore())
  return {
    pass: (ms: number) => {
      ahead += ms
    },
    clock: () => new Date(Date.now() + ahead),
  }
}
