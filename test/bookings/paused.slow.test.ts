/** Promise: a gateway that was suspended for more than half of its lease, between a claim and its request, sends nothing (contract, section 7). */

import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { duplicates, book as tryToBook } from '../../src/operator/commands/harness.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { OWN, startGateway } from '../gateway.ts'
import { size, WHOLE } from '../size.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { startCallers } from './callers.ts'
import { countUp } from './count-up.ts'
import {
  book,
  claimOf,
  creations,
  expectBooked,
  openSandbox,
  settleAs,
  settlementOf,
  shipments,
  statesOf,
  testFolder,
} from './desk.ts'
import { startGatewayProcess } from './gateway-process.ts'

const LONG_MS = 900_000
const SECOND_MS = 1_000
/** A lease lasts ten seconds. */
const LESS_THAN_HALF_MS = 1_500
const MORE_THAN_HALF_MS = 6_500
const certificate = (name: string) => join(import.meta.dirname, '../http/certificates', name)

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

async function listen(made: Server): Promise<number> {
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address with a port.
  return (made.address() as AddressInfo).port
}

/** Opens a TLS proxy before a service; each connection goes to `hold`, which lets its handshake begin. */
async function holdService(serviceUrl: string, hold: (letThrough: () => void) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const keys = { cert: readFileSync(certificate('server.pem')), key: readFileSync(certificate('server.key')) }
  const tls = createTlsServer(keys, (socket) => {
    const upstream = connect(Number(new URL(serviceUrl).port), '127.0.0.1').on('error', () => socket.destroy())
    socket.on('error', () => upstream.destroy())
    socket.pipe(upstream).pipe(socket)
  }).on('tlsClientError', () => {})
  const front = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    hold(() => tls.emit('connection', socket))
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    front.close()
  })
  return `https://localhost:${await listen(front)}`
}

/** A setting for gateways that send without a second look at their claim. */
const MISTAKEN = { MISTAKE: 'the claim is not looked at again before the request' }

/** Starts a gateway whose connections to the service are held. */
function startHeld(storeUrl: string, serviceUrl: string, env: object = {}, clock?: string) {
  const own = { ...OWN, V2_CA_FILE: certificate('authority.pem'), ...env }
  const imports = [clock ?? [], 'MISTAKE' in env ? 'mistake.ts' : []].flat()
  return startGatewayProcess({ storeUrl, serviceUrl, env: own, imports })
}

/** A gateway that can be paused, and another on the same store and service. */
async function openPair(storeUrl: string, env = {}) {
  const neighbor = await startGateway({ store: await openStore(storeUrl) })
  const held: (() => void)[] = []
  let isOpen = false
  const way = await holdService(neighbor.sandbox.url, (letThrough) => (isOpen ? letThrough() : held.push(letThrough)))
  const { url, child } = await startHeld(storeUrl, way, env)
  /** Begins bookings, and suspends the gateway once each has a claim and a connection. */
  const begin = async (...references: readonly string[]) => {
    const answers = references.map((ReferenceNumber) => book({ url }, { ReferenceNumber }))
    await vi.waitFor(() => expect(held).toHaveLength(references.length), { timeout: 20_000 })
    child.kill('SIGSTOP')
    return answers
  }
  const goOn = () => {
    isOpen = true
    for (const letThrough of held) letThrough()
    child.kill('SIGCONT')
  }
  /** Waits until the neighbor finds that the gateway is gone. */
  const untilUnknown = async (...references: readonly string[]) => {
    for (const reference of references) {
      const state = async () => (await claimOf(neighbor, reference)).state
      await expect.poll(state, { timeout: 60_000, interval: 200 }).toBe('unknown')
    }
  }
  return { neighbor, begin, goOn, untilUnknown }
}

const expectNotSent = {
  status: 503,
  json: { Message: expect.stringContaining('nothing was sent'), TransportationBooked: 'No' },
}

const stores = {
  postgres: () => server.createDatabase(),
  sqlite: async () => join(testFolder(), 'store.db'),
}

/** Each takes half a minute. */
const engines: readonly (keyof typeof stores)[] = WHOLE ? ['postgres', 'sqlite'] : ['postgres']

describe.each(engines)('a gateway on %s that stands still before it sends', (engine) => {
  test('sends its claimed booking after a short pause', { timeout: LONG_MS }, async () => {
    const { neighbor, begin, goOn } = await openPair(await stores[engine]())
    const [answer] = await begin('SHORT')
    await pause(LESS_THAN_HALF_MS)
    goOn()
    expectBooked((await answer) ?? expect.fail('no answer'))
    expect(creations(neighbor)).toBe(1)
  })

  test('sends nothing after half of its lease, and releases the claim', { timeout: LONG_MS }, async () => {
    const { neighbor, begin, goOn } = await openPair(await stores[engine]())
    const [answer] = await begin('HALF')
    await pause(MORE_THAN_HALF_MS)
    expect((await claimOf(neighbor, 'HALF')).state).toBe('sending')
    goOn()
    expect(await answer).toMatchObject(expectNotSent)
    await expect.poll(async () => (await claimOf(neighbor, 'HALF')).state).toBe('freed')
    expect(creations(neighbor)).toBe(0)
    expectBooked(await book(neighbor, { ReferenceNumber: 'HALF' }))
  })

  test('sends nothing that was settled meanwhile, and changes no settlement', { timeout: LONG_MS }, async () => {
    const { neighbor, begin, goOn, untilUnknown } = await openPair(await stores[engine]())
    const answers = await begin('REBOOKED', 'SETTLED', 'IN-DOUBT')
    await untilUnknown('REBOOKED', 'SETTLED', 'IN-DOUBT')
    await settleAs(neighbor.store, await claimOf(neighbor, 'REBOOKED'), 'not-booked')
    const rebooked = expectBooked(await book(neighbor, { ReferenceNumber: 'REBOOKED' }))
    await settleAs(neighbor.store, await claimOf(neighbor, 'SETTLED'), { shipment: 'S-1', number: 'TL-1' })
    goOn()
    for (const answer of answers) expect(await answer).toMatchObject(expectNotSent)
    expect(await claimOf(neighbor, 'REBOOKED')).toMatchObject({ state: 'booked', shipment: rebooked })
    expect(await claimOf(neighbor, 'SETTLED')).toMatchObject({ state: 'booked', shipment: 'S-1' })
    // Its own knowledge overrides the assumption of the other gateway.
    const { handle } = await claimOf(neighbor, 'IN-DOUBT')
    await expect.poll(() => statesOf(neighbor, handle)).toEqual(['none', 'sending', 'unknown', 'freed'])
    expect(shipments(neighbor).map(({ id }) => id)).toEqual([rebooked])
    expect(creations(neighbor)).toBe(1)
  })
})

const CALLERS = 12
/** A caller without an answer in this time tries again. */
const CALLER_PATIENCE_MS = 3_000
const SETTLE_EVERY_MS = 300
/** The longest handshake, during which bookings have a claim but no request. */
const HANDSHAKE_MS = 2_000
const LONGEST_LIFE_MS = 3_000

/**
 * Lets callers book through two gateways that are paused at random, one with a clock an hour ahead, while an operator settles. Returns the
 * shipments beyond the first of a reference, the acknowledged bookings that are missing somewhere, the settlements that were changed
 * afterwards, and the references that are refused for good: their booking was sent although it was settled as not booked. Gateways with a
 * mistake are paused until the service has booked a reference twice.
 */
async function pauseUnderLoad(most: number, [shortestMs, longestMs]: readonly [number, number], env: object = {}) {
  const storeUrl = await server.createDatabase()
  const sandbox = await openSandbox()
  const way = await holdService(sandbox.url, (letThrough) => setTimeout(letThrough, Math.random() * HANDSHAKE_MS))
  const store = await openStore(storeUrl)
  onTestFinished(() => store.close())
  const start = (clock?: string) => {
    const EMERGENCY_LOG_FILE = join(testFolder(), 'emergency.ndjson')
    // Longer than any pause, so that it is not the timeout that keeps a request from being sent.
    return startHeld(storeUrl, way, { UPSTREAM_TIMEOUT_MS: '30000', EMERGENCY_LOG_FILE, ...env }, clock)
  }
  const gateways = await Promise.all([start('hour-ahead.ts'), start()])

  const acknowledged = new Map<string, string>()
  const conflicts = new Set<string>()
  const stop = startCallers(CALLERS, async (reference, tries) => {
    const answer = await tryToBook(gateways[tries % 2 === 0 ? 0 : 1].url, reference, CALLER_PATIENCE_MS)
    if (answer?.word === 'Yes') acknowledged.set(reference, answer.id)
    if (answer?.word === 'conflict') conflicts.add(reference)
    return acknowledged.has(reference) || conflicts.has(reference)
  })
  let isAllAnswered = false
  const settled: string[] = []
  const operator = async () => {
    while (!isAllAnswered) {
      for (const claim of await store.listClaims({ state: 'unknown' })) {
        const result = await settleAs(store, claim, settlementOf(shipments({ sandbox }, claim.reference)[0]))
        if (result.outcome === 'changed') settled.push(claim.handle)
      }
      await pause(SETTLE_EVERY_MS)
    }
  }
  const operating = operator()

  let pauses = 0
  const pauser = async ({ child }: { readonly child: ChildProcess }) => {
    for (let nth = 0; nth < most && !('MISTAKE' in env && duplicates(sandbox) > 0); nth += 1) {
      await pause(Math.random() * LONGEST_LIFE_MS)
      child.kill('SIGSTOP')
      await pause(shortestMs + Math.random() * (longestMs - shortestMs))
      child.kill('SIGCONT')
      pauses += 1
    }
  }
  await Promise.all(gateways.map(pauser))
  const references = await stop()
  isAllAnswered = true
  await operating
  await sandbox.idle()
  const { lost } = await countUp(sandbox, storeUrl, { acknowledged, unknown: new Set<string>() })
  const trails = await Promise.all(settled.map((handle) => store.audit(handle)))
  const overwritten = trails.filter((trail) => !trail.at(-1)?.why.startsWith('settled')).length
  const counts = { references, settled: settled.length, conflicts: conflicts.size }
  const report = { pauses, ...counts, duplicates: duplicates(sandbox), lost, overwritten }
  process.stdout.write(`${JSON.stringify(report)}\n`)
  return report
}

test('gateways that are paused under load book nothing twice, lose nothing and overwrite no settlement', {
  timeout: LONG_MS,
}, async () => {
  // A sample takes half a minute.
  const pauses = size(1, 20)
  const report = await pauseUnderLoad(pauses, [SECOND_MS, 20 * SECOND_MS])
  expect(report).toMatchObject({ pauses: 2 * pauses, conflicts: 0, duplicates: 0, lost: 0, overwritten: 0 })
  expect(report.references).toBeGreaterThan(pauses)
})

// They take minutes.
if (WHOLE) {
  test('a gateway that does not check its claim again books twice', { timeout: LONG_MS }, async () => {
    const { neighbor, begin, goOn, untilUnknown } = await openPair(await stores.postgres(), MISTAKEN)
    const [answer] = await begin('REBOOKED')
    await untilUnknown('REBOOKED')
    await settleAs(neighbor.store, await claimOf(neighbor, 'REBOOKED'), 'not-booked')
    expectBooked(await book(neighbor, { ReferenceNumber: 'REBOOKED' }))
    goOn()
    await answer
    expect(shipments(neighbor, 'REBOOKED')).toHaveLength(2)
  })

  test('the same harness finds the duplicates of such gateways', { timeout: LONG_MS }, async () => {
    // Long enough for the other gateway and the operator, unless that gateway is paused, too: one of three rounds is usually enough.
    const report = await pauseUnderLoad(30, [12 * SECOND_MS, 15 * SECOND_MS], MISTAKEN)
    expect(report.duplicates).toBeGreaterThan(0)
  })
}
