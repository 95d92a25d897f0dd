import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { type Ended, newFolder, ROOT, type Running, run, start } from '../command.ts'
import { type Answered, basic, CLIENT, post } from '../gateway.ts'

const MAIN = join(ROOT, 'src/main.ts')

/** The path of the embedded store in a test's folder. */
export const STORE = 'store.db'

export interface ProgramOptions {
  /** @default the store of the folder */
  readonly storeUrl?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array
  /** Options of the runtime. */
  readonly node?: readonly string[]
}

/** Runs `transload` in a folder to its end. */
export function transload(folder: string, words: readonly string[], options: ProgramOptions = {}): Promise<Ended> {
  const { input, node = [], storeUrl = STORE } = options
  const env = { STORE_URL: storeUrl, ...options.env }
  return run(process.execPath, [...node, MAIN, ...words], { cwd: folder, env, ...(input !== undefined && { input }) })
}

/** Starts `transload` in a folder. */
export function startTransload(folder: string, words: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  return start(process.execPath, [MAIN, ...words], { cwd: folder, env: { STORE_URL: STORE, ...env } })
}

/** A gateway in a separate process. */
export interface GatewayProcess extends Running {
  readonly url: string
}

/** Starts a gateway in a folder; it listens once this resolves. */
export async function serve(folder: string, env: NodeJS.ProcessEnv): Promise<GatewayProcess> {
  const running = startTransload(folder, ['serve'], { HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: '0', ...env })
  const listening = linesOf(await running.says(/"msg":"listening"/)).find(({ msg }) => msg === 'listening')
  return { ...running, url: String(listening?.['url']) }
}

/** The lines of a log; the last may be cut short. */
export function linesOf(out: string): readonly Record<string, unknown>[] {
  return out
    .slice(0, out.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** A new folder that is gone after the test. */
export function testFolder(): string {
  const folder = newFolder('xref')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Asks for a quote under a number. */
export function quote(
  gateway: { readonly url: string },
  ShipmentNumber: string,
  more: object = {},
  client: string = CLIENT.id,
): Promise<Answered> {
  const trip = { TempShipFromPostalCode: '10314', TempShipToPostalCode: '33166', EquipmentType: 'OPEN AUTO' }
  return post(gateway, '/getShippingQuote.php', { ...trip, ...more, ShipmentNumber }, { authorization: basic(client) })
}

/** Approves the quote of a number. */
export function approve(
  gateway: { readonly url: string },
  ShipmentNumber: string,
  client: string = CLIENT.id,
): Promise<Answered> {
  const body = { ActionName: 'Approve Rate', ShipmentNumber }
  return post(gateway, '/getShippingQuote.php', body, { authorization: basic(client) })
}
