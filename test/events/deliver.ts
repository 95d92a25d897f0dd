import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Claim, Store } from '../../src/outside/store/store.ts'
import { type TenantDeclaration, tenant } from '../callers/tenants-gateway.ts'
import {
  metricsOf,
  OWN,
  post,
  startGateway,
  type TestGateway,
  type TestGatewayOptions,
  type WholeAnswer,
} from '../gateway.ts'
import type { Sandbox } from '../stand-in/stand-in.ts'

/** The secret in the path of deliveries. */
export const SECRET = 'hook-3f0c2a9e-of-the-tests'

/** The path of deliveries. */
export const HOOK = `/webhooks/${SECRET}`

/** The variables of a gateway that receives events, in fixed mode. */
export const RECEIVES = { ...OWN, WEBHOOK_SECRET: SECRET } as const

/** Short enough for a test to wait for it. */
export const SHORT_TIMEOUT = { UPSTREAM_TIMEOUT_MS: '400' } as const

/** Opens a gateway to which the stand-in delivers its events. */
export async function startReceiver(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await startGateway({ ...options, env: { ...RECEIVES, ...options.env } })
  deliverTo(gateway, gateway.sandbox)
  return gateway
}

/** Lets a stand-in deliver its events to a gateway, at a pace for tests. */
export function deliverTo({ url }: Pick<TestGateway, 'url'>, sandbox: Sandbox): void {
  sandbox.set({ webhookUrl: url + HOOK, webhookRetry: { attempts: 6, delayMs: 20 } })
}

/** A tenant whose events arrive with this secret. */
export function withHook(place: string, name: string, secret: string, more: object = {}): TenantDeclaration {
  const file = join(place, `${name}.hook`)
  writeFileSync(file, `${secret}\n`)
  return tenant(place, name, { webhook_secret: { file }, ...more })
}

/** An event as the service sends it. */
export const EVENT = {
  shipment_id: '11111111-2222-4333-8444-555555555555',
  event: 'shipment.assigned',
  event_date: '2024-08-10T08:00:00+0000',
} as const

/** Sends an event as the service does; an object becomes JSON. */
export function deliver(
  gateway: Pick<TestGateway, 'url'>,
  event: string | object | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
  path: string = HOOK,
): Promise<WholeAnswer> {
  return post(gateway, path, event, { 'content-type': 'application/json', ...headers })
}

/** Waits until a claim is in a state, however long that takes. */
export async function untilState(store: Store, handle: string, state: Claim['state']): Promise<Claim> {
  let claim: Claim | undefined
  const look = async () => {
    claim = await store.claimByHandle(handle)
    return claim?.state
  }
  await expect.poll(look, { timeout: 10_000, interval: 20 }).toBe(state)
  return claim ?? expect.fail('the claim is gone')
}

/** Every series of a metric, as the admin listener writes them: labels → value. */
export async function metric(gateway: Pick<TestGateway, 'adminUrl'>, name: string): Promise<Record<string, number>> {
  const text = await metricsOf(gateway)
  const lines = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].filter(([, of]) => of === name)
  return Object.fromEntries(lines.map(([, , labels = '', value]) => [labels, Number(value)]))
}
