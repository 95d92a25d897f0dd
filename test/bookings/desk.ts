import { rmSync } from 'node:fs'
import { request } from 'undici'
import { expect, onTestFinished, vi } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { loadMappings } from '../../mappings/load.ts'
import type { Claim, Store } from '../../src/outside/store/store.ts'
import { settle } from '../../src/state/bookings/settlement.ts'
import { newFolder } from '../command.ts'
import { SETTINGS } from '../events/office.ts'
import { basic, post, type TestGateway, type WholeAnswer } from '../gateway.ts'
import {
  type DemoShipment,
  type Fault,
  type RecordedRequest,
  type Sandbox,
  type SandboxOptions,
  startSandbox,
} from '../stand-in/stand-in.ts'

/** The reference of the example. */
export const REFERENCE = bookingExample.ReferenceNumber

/** A VIN other than the example's. */
export const OTHER_VIN = '1HGCM82633A004352'

/** The form of a handle. */
export const HANDLE = /\bbk_[0-9a-f]{12}\b/

/** Selects the requests for a new shipment, for a fault. */
export const ON_CREATION = { method: 'POST', path: '/v2/shipment*' }

/** Makes an empty folder that is removed after the test. */
export function testFolder(): string {
  const folder = newFolder('bookings')
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts a service that is closed after the test. */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await startSandbox(options)
  onTestFinished(() => sandbox.close())
  return sandbox
}

/** Books the example, with changes, as an old integration does. */
export function book(
  gateway: { readonly url: string },
  changes: object = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<WholeAnswer> {
  return post(gateway, '/createShipment.php', { ...bookingExample, ...changes }, headers)
}

/** Calls version 2 through the gateway. */
export async function ask({ url }: Pick<TestGateway, 'url'>, method: string, path: string, headers = {}, body = '') {
  const reply = await request(url + path, {
    method,
    headers: { authorization: basic(), ...headers },
    body: body || null,
  })
  return { status: reply.statusCode, text: await reply.body.text() }
}

/** Begins a booking that meets a fault; resolves when the service has its request, before there is an answer. */
export async function begin(
  gateway: TestGateway,
  fault: Fault,
  changes: object = {},
): Promise<{ readonly answer: Promise<WholeAnswer> }> {
  gateway.sandbox.fail({ ...fault, on: ON_CREATION })
  const begun = gateway.sandbox.next(isCreation)
  const answer = book(gateway, changes)
  await begun
  return { answer }
}

/** Reports whether a request asks the service for a new shipment. */
export function isCreation({ method, path }: Pick<RecordedRequest, 'method' | 'path'>): boolean {
  return method === 'POST' && /^\/v2\/shipments?$/.test(path)
}

/** Counts the requests for a new shipment. */
export function creations({ sandbox }: { readonly sandbox: Sandbox }): number {
  return sandbox.requests.filter(isCreation).length
}

/** The service's shipments for one reference or for all, without canceled ones. */
export function shipments({ sandbox }: { readonly sandbox: Sandbox }, reference?: string): DemoShipment[] {
  return [...sandbox.shipments.values()].filter(
    ({ status, external_id }) => status !== 'canceled' && (reference === undefined || external_id === reference),
  )
}

/** The one claim of a reference. */
export async function claimOf({ store }: { readonly store: Store }, reference: string = REFERENCE): Promise<Claim> {
  const claims = (await store.listClaims({})).filter((claim) => claim.reference === reference)
  const [claim] = claims
  if (claim === undefined || claims.length > 1) throw new Error(`${claims.length} claims stand for ${reference}`)
  return claim
}

/** The states that a claim has gone through. */
export async function statesOf({ store }: { readonly store: Store }, handle: string): Promise<string[]> {
  const trail = await store.audit(handle)
  return [...trail.slice(0, 1).map(({ from }) => from), ...trail.map(({ to }) => to)]
}

/** The handle in a message. */
export function handleIn({ json }: WholeAnswer): string {
  return HANDLE.exec(json.Message)?.[0] ?? expect.fail(`no key in: ${json.Message}`)
}

/** Checks that the shipment is booked; returns its id. */
export function expectBooked(answer: WholeAnswer, replayed = false): string {
  expect(answer.json).toEqual({
    Message: expect.stringMatching(/^Transportation booked: shipment /),
    TransportationBooked: 'Yes',
  })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('idempotent-replayed')).toBe(replayed ? 'true' : null)
  return answer.headers.get('transload-shipment-id') ?? expect.fail('no id of the shipment')
}

/** Checks that the outcome is unknown; returns the key. */
export function expectUnknown(answer: WholeAnswer): string {
  expect(answer.json).toEqual({ Message: expect.stringMatching(HANDLE), TransportationBooked: 'Unknown' })
  expect(answer.json.Message).toMatch(/not known whether this booking was made\. It will not be sent again/)
  expect(answer.status).toBe(503)
  return handleIn(answer)
}

/** Lets a test trigger the heartbeats of its gateways until something holds. */
export function heartbeats(): (holds: () => unknown) => Promise<void> {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  return (holds) =>
    vi.waitFor(async () => {
      await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
      await holds()
    }, 20_000)
}

/** Longer than the interval of heartbeats. */
const HEARTBEAT_MS = 4_000

const catalog = await loadMappings()

/** Settles a booking as an operator does. */
export function settleAs(
  store: Store,
  claim: Claim,
  settlement: Parameters<typeof settle>[1],
): ReturnType<typeof settle> {
  const deps = { store, catalog, settings: SETTINGS, instance: 'operator' }
  return settle(claim, settlement, deps)
}

/** The settlement of a booking whose shipment is searched for at the service. */
export const settlementOf = (found: DemoShipment | undefined) =>
  found ? { shipment: found.id, number: found.number } : 'not-booked'
