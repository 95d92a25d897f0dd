/** Promise: gateways that are killed heal every booking, and book none twice (contract, sections 7 and 10). */

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { book, isCreation, ON_CREATION } from '../bookings/desk.ts'
import { newFolder } from '../command.ts'
import { CLIENT } from '../gateway.ts'
import { size, WHOLE } from '../size.ts'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { RECEIVES, SECRET } from './deliver.ts'
import { startMortal } from './kill-harness.ts'

const KILLS = size(3, 15)
const CALLERS = 6
const LONG_MS = size(120_000, 900_000)
const HEALED_WITHIN_MS = 60_000

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

/** Lets the answers to bookings get lost at random: some were carried out, and some were not. */
function loseAnswers(service: Sandbox): NodeJS.Timeout {
  return setInterval(() => {
    const kind = Math.random() < 0.7 ? 'timeout' : 'timeout-unprocessed'
    if (Math.random() < 0.5) service.fail({ kind, on: ON_CREATION })
  }, 20)
}

/** Books references of its own until it is told to stop; a booking whose answer does not come is left to healing. */
async function bookOn(
  gateways: readonly { readonly url: string }[],
  caller: number,
  isOver: () => boolean,
): Promise<readonly string[]> {
  const references: string[] = []
  while (!isOver()) {
    const ReferenceNumber = `REF-${caller}-${references.length}`
    references.push(ReferenceNumber)
    const gateway = gateways[Math.floor(Math.random() * gateways.length)]
    const answer = gateway && (await book(gateway, { ReferenceNumber }).catch(() => undefined))
    if (!answer) await pause(50)
  }
  return references
}

describe.each(WHOLE ? ['embedded', 'PostgreSQL'] : ['PostgreSQL'])(
  'two gateways on the %s store, killed while events come and answers get lost',
  (engine) => {
    test('lose no event that they answered, heal every booking that was made, and book none twice', {
      timeout: LONG_MS,
    }, async () => {
      const folder = newFolder('webhooks')
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const storeUrl = engine === 'embedded' ? join(folder, 'transload.db') : await server.createDatabase()
      const service = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret }, findsByReference: true })
      onTestFinished(() => service.close())
      const env = { ...RECEIVES, UPSTREAM_TIMEOUT_MS: '400' }
      const start = () => startMortal({ storeUrl, serviceUrl: service.url, env })
      const gateways = [await start(), await start()]

      let isOver = false
      const losing = loseAnswers(service)
      const callers = Promise.all(Array.from({ length: CALLERS }, (_, i) => bookOn(gateways, i, () => isOver)))
      for (let kill = 0; kill < KILLS; kill += 1) {
        const gateway = gateways[kill % gateways.length]
        // The events go to the one that is about to be killed.
        service.set({ webhookUrl: `${gateway?.url}/webhooks/${SECRET}`, webhookRetry: { attempts: 3, delayMs: 100 } })
        await oneMoreIsAcknowledged(service)
        await pause(Math.random() * 600)
        await gateway?.kill()
        await gateway?.start()
      }
      clearInterval(losing)
      service.clearFaults()
      isOver = true
      const references = (await callers).flat()
      await service.idle()

      const store = await openStore(storeUrl)
      onTestFinished(() => store.close())
      await expectAcknowledged(service, store)
      const made = new Map([...service.shipments.values()].map(({ id, external_id }) => [external_id, id]))
      await expect.poll(() => waiting(store, made), { timeout: HEALED_WITHIN_MS, interval: 200 }).toEqual([])
      const healed = await healedBy(store)
      expect(healed.length).toBeGreaterThan(0)
      // A caller that tries again gets the shipment that the service made, once the gateway trusts the service again.
      const [first] = gateways
      for (const ReferenceNumber of references) {
        const id = made.get(ReferenceNumber)
        if (id === undefined || !first) continue
        const answered = async () => {
          const { headers, status, text } = await book(first, { ReferenceNumber })
          return { id: headers.get('transload-shipment-id'), status, text }
        }
        await expect.poll(answered, { timeout: HEALED_WITHIN_MS, interval: 500 }).toMatchObject({ id, status: 200 })
      }
      const creations = service.requests.filter(isCreation).map(({ body }) => JSON.parse(body).external_id)
      expect(new Set(creations).size).toBe(creations.length)
    })
  },
)

const acknowledgedBy = ({ webhookDeliveries }: Sandbox) => webhookDeliveries.filter(({ delivered }) => delivered)

/** Resolves once the gateways have answered a further event. */
async function oneMoreIsAcknowledged(service: Sandbox): Promise<void> {
  const before = acknowledgedBy(service).length
  await expect.poll(() => acknowledgedBy(service).length, { timeout: LONG_MS }).toBeGreaterThan(before)
}

/** Every event that was answered with 2xx is in the store. */
async function expectAcknowledged(service: Sandbox, store: Store): Promise<void> {
  const acknowledged = acknowledgedBy(service)
  expect(acknowledged.length).toBeGreaterThanOrEqual(KILLS)
  for (const { event } of acknowledged) {
    const stored = await store.eventsOfShipment(CLIENT.id, event.shipment_id)
    expect(stored.map((one) => one.event)).toContain(event.event)
  }
}

/** The unknown bookings whose shipment exists. */
async function waiting(store: Store, made: ReadonlyMap<string | undefined, string>): Promise<readonly string[]> {
  const open = [
    // First those that may become unknown in between.
    ...(await store.listClaims({ state: 'sending', limit: 100_000 })),
    ...(await store.listClaims({ state: 'unknown', limit: 100_000 })),
  ]
  return open.map(({ reference }) => reference).filter((reference) => made.has(reference))
}

/** How the bookings that were unknown were healed. */
async function healedBy(store: Store): Promise<readonly string[]> {
  const booked = await store.listClaims({ state: 'booked', limit: 100_000 })
  const trails = await Promise.all(booked.map(({ handle }) => store.audit(handle)))
  return trails.flatMap((trail) => trail.map(({ why }) => why).filter((why) => why.startsWith('healed: ')))
}
