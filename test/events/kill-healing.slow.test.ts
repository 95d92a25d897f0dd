/** Promise: killed gateways lose no event, keep the order, heal every booking, and book none twice (contract, sections 7 and 10). */

import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import type { Store } from '../../src/outside/store/store.ts'
import { book, isCreation, ON_CREATION } from '../bookings/desk.ts'
import { startGatewayProcess } from '../bookings/gateway-process.ts'
import { as, atOnce, known, writeTenants } from '../callers/tenants-gateway.ts'
import { newFolder } from '../command.ts'
import { freePort } from '../free-port.ts'
import { size } from '../size.ts'
import { type Sandbox, startSandbox } from '../stand-in/stand-in.ts'
import { startPostgres } from '../store/postgres-server.ts'
import { SECRET, withHook } from './deliver.ts'
import { startReceiver } from './receiver.ts'

const KILLS = size(2, 30)
const CALLERS = 6
const LONG_MS = size(240_000, 900_000)
const MENDED = { timeout: 90_000, interval: 200 }
const TENANT = 'acme'

async function embedded(place: string): Promise<string> {
  return join(place, 'transload.db')
}

async function postgres(): Promise<string> {
  const server = await startPostgres()
  onTestFinished(() => server.remove())
  return server.createDatabase()
}

/** Starts a gateway that can be killed, and started again on the same port. */
async function startMortal(options: { storeUrl: string; serviceUrl: string; env: Readonly<Record<string, string>> }) {
  const port = await freePort()
  const program = 'test/events/gateway-child.ts'
  const env = { ...options.env, PORT: String(port) }
  let child: ChildProcess
  const start = async () => {
    child = (await startGatewayProcess({ ...options, program, env })).child
  }
  const kill = async () => {
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
  await start()
  return { url: `http://127.0.0.1:${port}`, start, kill }
}

test.each([
  ['the embedded store', embedded],
  ['PostgreSQL', postgres],
])(
  'two gateways on %s, killed while events come and answers get lost, lose no event and book nothing twice',
  { timeout: LONG_MS },
  async (_, newStore) => {
    const place = newFolder('webhooks')
    onTestFinished(() => rmSync(place, { recursive: true, force: true }))
    const storeUrl = await newStore(place)
    const service = await startSandbox({ credentials: known(TENANT), findsByReference: true })
    onTestFinished(() => service.close())
    const receiver = await startReceiver((outgoing) => void setTimeout(() => outgoing.end(), Math.random() * 30))
    const tenants = join(place, 'tenants.json')
    const callback = { callback_allow_http: true, callback_networks: ['127.0.0.1'] }
    writeTenants(tenants, withHook(place, TENANT, SECRET, { callback_url: receiver.url, ...callback }))
    const gateways = await atOnce(2, (nth) => {
      const env = { TENANTS_FILE: tenants, EMERGENCY_LOG_FILE: join(place, `${nth}.ndjson`) }
      return startMortal({ storeUrl, serviceUrl: service.url, env: { ...env, UPSTREAM_TIMEOUT_MS: '400' } })
    })

    let isOver = false
    const callers = atOnce(CALLERS, async (caller) => {
      const references: string[] = []
      while (!isOver) {
        const ReferenceNumber = `REF-${caller}-${references.length}`
        references.push(ReferenceNumber)
        const gateway = gateways[Math.floor(Math.random() * 2)]
        // A booking without an answer is left to healing.
        const answer = gateway && (await book(gateway, { ReferenceNumber }, as(TENANT)).catch(() => undefined))
        await pause(answer ? 10 : 50)
      }
      return references
    })
    /** Loses answers to bookings at random, some of which were carried out, and causes more events of shipments. */
    const disorder = setInterval(() => {
      const kind = Math.random() < 0.7 ? 'timeout' : 'timeout-unprocessed'
      if (Math.random() < 0.5) service.fail({ kind, on: ON_CREATION })
      for (const id of [...service.shipments.keys()].slice(0, 5)) service.advance(id, 'assigned')
    }, 50)
    for (let kill = 0; kill < KILLS; kill += 1) {
      const gateway = gateways[kill % 2]
      // The events go to the gateway that is about to be killed.
      service.set({ webhookUrl: `${gateway?.url}/webhooks/${SECRET}`, webhookRetry: { attempts: 3, delayMs: 100 } })
      const before = acknowledgedBy(service).length
      await expect.poll(() => acknowledgedBy(service).length, { timeout: LONG_MS }).toBeGreaterThan(before)
      await pause(Math.random() * 600)
      await gateway?.kill()
      await gateway?.start()
    }
    clearInterval(disorder)
    service.clearFaults()
    isOver = true
    const references = (await callers).flat()
    await service.idle()

    const store = await openStore(storeUrl)
    onTestFinished(() => store.close())
    // Every answered event is stored, and delivered in the order of its shipment; a copy directly follows its original.
    await expect.poll(() => open(store), MENDED).toEqual([])
    const arrived = receiver.received.map(({ headers }) => headers['webhook-id'])
    for (const id of service.shipments.keys()) {
      const stored = await store.eventsOfShipment(TENANT, id)
      const sent = acknowledgedBy(service).flatMap(({ event }) => (event.shipment_id === id ? [event.event] : []))
      expect(stored.map(({ event }) => event)).toEqual(expect.arrayContaining(sent))
      const ids = new Set<unknown>(stored.map((event) => event.id))
      const own = arrived.filter((one) => ids.has(one))
      expect(own.filter((one, i) => one !== own[i - 1])).toEqual([...ids])
    }

    const made = new Map([...service.shipments.values()].map(({ id, external_id }) => [external_id, id]))
    await expect.poll(() => waiting(store, made), MENDED).toEqual([])
    expect(await healed(store)).toBeGreaterThan(0)
    // A caller that retries gets the service's shipment once the gateway trusts the service again.
    const [first] = gateways
    for (const ReferenceNumber of references) {
      const id = made.get(ReferenceNumber)
      if (id === undefined || !first) continue
      const answered = async () => {
        const { headers, status, text } = await book(first, { ReferenceNumber }, as(TENANT))
        return { id: headers.get('transload-shipment-id'), status, text }
      }
      await expect.poll(answered, MENDED).toMatchObject({ id, status: 200 })
    }
    const creations = service.requests.filter(isCreation).map(({ body }) => JSON.parse(body).external_id)
    expect(new Set(creations).size).toBe(creations.length)
  },
)

const acknowledgedBy = ({ webhookDeliveries }: Sandbox) => webhookDeliveries.filter(({ delivered }) => delivered)

/** The events that still have to be delivered, and how their last tries ended. */
async function open(store: Store) {
  const due = await store.listEvents({ state: 'due' })
  const parked = await store.listEvents({ state: 'parked' })
  return [...due, ...parked].map(({ shipment, event, failures, outcome }) => ({ shipment, event, failures, outcome }))
}

/** The open bookings whose shipment exists. */
async function waiting(store: Store, made: ReadonlyMap<string | undefined, string>): Promise<readonly string[]> {
  // First, those that may become unknown meanwhile.
  const sending = await store.listClaims({ state: 'sending', limit: 100_000 })
  const unknown = await store.listClaims({ state: 'unknown', limit: 100_000 })
  return [...sending, ...unknown].map(({ reference }) => reference).filter((reference) => made.has(reference))
}

/** Counts the bookings that were unknown and were healed. */
async function healed(store: Store): Promise<number> {
  const booked = await store.listClaims({ state: 'booked', limit: 100_000 })
  const trails = await Promise.all(booked.map(({ handle }) => store.audit(handle)))
  return trails.flat().filter(({ why }) => why.startsWith('healed: ')).length
}
