import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { settle } from '../../src/bookings/settlement.ts'
import { loadMappings } from '../../src/config/mappings.ts'
import { translationSettings } from '../../src/config/translation-settings.ts'
import { openStore } from '../../src/store/open.ts'
import { startGateway, type TestGateway } from '../gateway.ts'
import { WHOLE } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { book, claimOf, creations, expectBooked, shipments, statesOf } from './desk.ts'
import { startGatewayProcess } from './gateway-process.ts'
import { holdService, TRUSTS_HELD_SERVICE } from './held-service.ts'

/* A gateway that stands still between the claim of a booking and its request. */

const LONG_MS = 60_000
/** A lease lasts ten seconds. */
const LESS_THAN_HALF_MS = 1_500
const MORE_THAN_HALF_MS = 6_500

let server: PostgresServer
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'transload-paused-'))
  server = await startPostgres()
})
afterAll(async () => {
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
})

const stores = {
  postgres: () => server.createDatabase(),
  sqlite: async () => join(folder, `${crypto.randomUUID()}.db`),
}

/** Each takes half a minute. */
const engines: readonly (keyof typeof stores)[] = WHOLE ? ['postgres', 'sqlite'] : ['postgres']

/** A way to a service, over TLS, whose handshakes wait until they are let through. */
async function heldWay(serviceUrl: string) {
  const held: (() => void)[] = []
  let isOpen = false
  const service = await holdService(serviceUrl, (letThrough) => {
    if (isOpen) letThrough()
    else held.push(letThrough)
  })
  onTestFinished(service.close)
  return {
    url: service.url,
    held,
    letThrough() {
      isOpen = true
      for (const letThrough of held) letThrough()
    },
  }
}

/** A gateway that can be paused, and another on the same store before the same service. */
async function openPair(engine: keyof typeof stores, imports: readonly string[] = []) {
  const storeUrl = await stores[engine]()
  const neighbor = await startGateway({ store: await openStore(storeUrl) })
  const way = await heldWay(neighbor.sandbox.url)
  const env = { ...TRUSTS_HELD_SERVICE, V2_CLIENT_ID: 'demo', V2_CLIENT_SECRET: 'demo-secret' }
  const nodeOptions = imports.flatMap((file) => ['--import', file])
  const { url, child } = await startGatewayProcess({ storeUrl, serviceUrl: way.url, env, nodeOptions })
  /** Begins bookings, and stops the gateway once each has a claim and a connection. */
  const begin = async (references: readonly string[]) => {
    const answers = references.map((ReferenceNumber) => book({ url }, { ReferenceNumber }))
    await vi.waitFor(() => expect(way.held).toHaveLength(references.length))
    child.kill('SIGSTOP')
    return answers
  }
  const goOn = () => {
    way.letThrough()
    child.kill('SIGCONT')
  }
  return { neighbor, begin, goOn }
}

const expectNotSent = {
  status: 503,
  json: { Message: expect.stringContaining('nothing was sent'), TransportationBooked: 'No' },
}

/** The operator's ways to settle a booking. */
async function settleAs(gateway: TestGateway, reference: string, settlement: Parameters<typeof settle>[1]) {
  const catalog = await loadMappings(undefined, undefined)
  const deps = { store: gateway.store, catalog, settings: translationSettings(gateway.config), instance: 'operator' }
  const result = await settle(await claimOf(gateway, reference), settlement, deps)
  expect(result.outcome).toBe('changed')
}

describe.each(engines)('a gateway on %s that stands still before it sends', (engine) => {
  test('sends its claimed booking after a short pause', { timeout: LONG_MS }, async () => {
    const { neighbor, begin, goOn } = await openPair(engine)
    const [answer] = await begin(['SHORT'])
    await pause(LESS_THAN_HALF_MS)
    goOn()
    expectBooked((await answer) ?? expect.fail('no answer'))
    expect(creations(neighbor)).toBe(1)
  })

  test('sends nothing after half of its lease, and lets go of the claim', { timeout: LONG_MS }, async () => {
    const { neighbor, begin, goOn } = await openPair(engine)
    const [answer] = await begin(['HALF'])
    await pause(MORE_THAN_HALF_MS)
    expect((await claimOf(neighbor, 'HALF')).state).toBe('sending')
    goOn()
    expect(await answer).toMatchObject(expectNotSent)
    expect((await claimOf(neighbor, 'HALF')).state).toBe('freed')
    expect(creations(neighbor)).toBe(0)
    expectBooked(await book(neighbor, { ReferenceNumber: 'HALF' }))
  })

  test('sends nothing that was settled meanwhile, and changes no settlement', { timeout: LONG_MS }, async () => {
    const { neighbor, begin, goOn } = await openPair(engine)
    const references = ['REBOOKED', 'SETTLED', 'IN-DOUBT']
    const answers = await begin(references)
    // The neighbor finds that the gateway is gone.
    await vi.waitFor(
      async () => {
        for (const reference of references) expect((await claimOf(neighbor, reference)).state).toBe('unknown')
      },
      { timeout: LONG_MS, interval: 200 },
    )
    await settleAs(neighbor, 'REBOOKED', 'not-booked')
    const rebooked = expectBooked(await book(neighbor, { ReferenceNumber: 'REBOOKED' }))
    await settleAs(neighbor, 'SETTLED', { shipment: 'S-1', number: 'TL-1' })
    goOn()
    for (const answer of answers) expect(await answer).toMatchObject(expectNotSent)
    expect(await claimOf(neighbor, 'REBOOKED')).toMatchObject({ state: 'booked', shipment: rebooked })
    expect(await claimOf(neighbor, 'SETTLED')).toMatchObject({ state: 'booked', shipment: 'S-1' })
    // Its own knowledge counts more than the assumption of the other gateway.
    const { handle } = await claimOf(neighbor, 'IN-DOUBT')
    expect(await statesOf(neighbor, handle)).toEqual(['none', 'sending', 'unknown', 'freed'])
    expect(shipments(neighbor).map(({ id }) => id)).toEqual([rebooked])
    expect(creations(neighbor)).toBe(1)
  })
})

// It takes a quarter of a minute.
if (WHOLE) {
  test('a gateway that does not look at its claim again books twice', { timeout: LONG_MS }, async () => {
    const { neighbor, begin, goOn } = await openPair('postgres', [join(import.meta.dirname, 'no-second-look.ts')])
    const ReferenceNumber = 'REBOOKED'
    const [answer] = await begin([ReferenceNumber])
    const isUnknown = async () => expect((await claimOf(neighbor, ReferenceNumber)).state).toBe('unknown')
    await vi.waitFor(isUnknown, { timeout: LONG_MS, interval: 200 })
    await settleAs(neighbor, ReferenceNumber, 'not-booked')
    expectBooked(await book(neighbor, { ReferenceNumber }))
    goOn()
    await answer
    expect(creations(neighbor)).toBe(2)
    expect(shipments(neighbor, ReferenceNumber)).toHaveLength(2)
  })
}
