/** Promise: a gateway outlives its store, and books nothing meanwhile (contract, sections 6 and 7). */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { openSqliteStore } from '../../src/outside/store/sqlite/sqlite.ts'
import { openSandbox } from '../bookings/desk.ts'
import { serve } from '../callers/commands.ts'
import { folder } from '../callers/tenants-gateway.ts'
import { get, post, startGateway, type WholeAnswer } from '../gateway.ts'
import { fillDisk } from '../store/full-disk.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { listen } from '../store/states.ts'
import { approve, quote } from './program.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

interface Target {
  readonly url: string
}

const UNAVAILABLE = expect.stringContaining('database is unavailable')

function expectNotNow({ status, headers, json }: WholeAnswer, body: object): void {
  expect({ status, json }).toEqual({ status: 503, json: body })
  expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  expect(headers.get('x-request-id')).toBeTruthy()
}

/** Checks the answers of a gateway whose store is down. */
async function expectWithoutStore(gateway: Target, requests: readonly unknown[]): Promise<void> {
  expect((await get(gateway, '/readyz')).status).toBe(503)
  expect((await get(gateway, '/healthz')).status).toBe(200)
  expectNotNow(await quote(gateway, 'W-DOWN'), { Cost: '', ShipmentNumber: 'W-DOWN', Message: UNAVAILABLE })
  const sent = requests.length
  const booking = { ...bookingExample, ReferenceNumber: 'REF-DOWN' }
  expectNotNow(await post(gateway, '/createShipment.php', booking), {
    Message: UNAVAILABLE,
    TransportationBooked: 'No',
  })
  // A booking that cannot be recorded is not sent.
  expect(requests.length).toBe(sent)
  expect(
    (await post(gateway, '/v2/quote', { pickup: '10314', delivery: '33166' }, JSON_TYPE)).json.price,
  ).toBeGreaterThan(0)
  const explained = await post(gateway, '/dry-run/createShipment.php', booking)
  expect({ status: explained.status, ok: explained.json.ok }).toEqual({ status: 200, ok: true })
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** Checks the answers of a gateway whose store works. */
async function expectWithStore(gateway: Target, number: string): Promise<void> {
  expect((await get(gateway, '/readyz')).status).toBe(200)
  expect((await quote(gateway, number)).status).toBe(200)
  expect((await approve(gateway, number)).json.TransportationBooked).toBe('Yes')
}

test('a gateway that starts before its server serves calls that need no store, and all calls once the server is up', async () => {
  const place = folder()
  const storeUrl = await server.createDatabase()
  await server.stop()
  const sandbox = await openSandbox()
  const gateway = await serve(place, { STORE_URL: storeUrl, V2_BASE_URL: sandbox.url })
  await expectWithoutStore(gateway, sandbox.requests)
  await server.start()
  await gateway.says(/"msg":"store ready"/)
  await expectWithStore(gateway, 'W-1')
  gateway.signal('SIGTERM')
  const { code, out, err } = await gateway.ended
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const reason = /^PostgreSQL does not answer: .*ECONNREFUSED/
  const line = out.split('\n').find((one) => one.includes('"store not ready"')) ?? '{}'
  expect(JSON.parse(line)).toMatchObject({
    level: 'error',
    err: { type: 'StoreDown', message: expect.stringMatching(reason) },
  })
  expect(out).not.toContain('password')
  // It is logged when it changes, not with every try.
  expect(out.match(/"store ready"/g)).toHaveLength(1)
})

/** Callers that quote until told to stop. */
function callersOf(gateway: Target, prefix: string) {
  const given: string[] = []
  let refused = 0
  let on = true
  let count = 0
  const callers = Array.from({ length: 6 }, async () => {
    while (on) {
      count += 1
      const number = `${prefix}-${count}`
      const answer = await quote(gateway, number)
      if (answer.status === 200) given.push(number)
      else {
        expectNotNow(answer, { Cost: '', ShipmentNumber: number, Message: UNAVAILABLE })
        refused += 1
      }
    }
  })
  return {
    given,
    refused: () => refused,
    async stop() {
      on = false
      await Promise.all(callers)
    },
  }
}

async function expectAllApproved(gateway: Target, numbers: readonly string[]): Promise<void> {
  for (const number of numbers) {
    expect({ number, status: (await approve(gateway, number)).status }).toEqual({ number, status: 200 })
  }
}

test('PostgreSQL that is stopped and started under load', async () => {
  const states = listen()
  const store = await openStore(await server.createDatabase(), { onState: states.onState })
  const gateway = await startGateway({ store })
  const load = callersOf(gateway, 'PG')
  for (const way of ['stop', 'crash'] as const) {
    const down = states.next(false)
    await server[way]()
    await down
    expect((await get(gateway, '/readyz')).status).toBe(503)
    expect((await quote(gateway, 'W-DOWN')).status).toBe(503)
    const up = states.next(true)
    await server.start()
    await up
    await expectWithStore(gateway, `W-${way}`)
  }
  await load.stop()
  expect(load.refused()).toBeGreaterThan(0)
  expect(load.given.length).toBeGreaterThan(0)
  await expectAllApproved(gateway, load.given)
})

test('a full disk', async () => {
  const makeRoom = fillDisk(60)
  const states = listen()
  const place = folder()
  const path = join(place, 'store.db')
  const store = await openSqliteStore({ path, blocks: true, onState: states.onState })
  const gateway = await startGateway({ store, env: { EMERGENCY_LOG_FILE: join(place, 'emergency.ndjson') } })
  const full = states.next(false)
  const load = callersOf(gateway, 'W')
  expect((await full).error?.message).toContain('full')
  expect(store.ready()).toBe(false)
  await load.stop()
  expect(load.refused()).toBeGreaterThan(0)
  expect(load.given.length).toBeGreaterThan(0)
  // Small writes may still fit into existing pages; sooner or later a booking finds no room and is not sent.
  const booked: string[] = []
  for (let last = '', nth = 0; last !== 'No'; nth += 1) {
    const ReferenceNumber = `REF-${nth}-`.padEnd(4_000, 'x')
    const sent = gateway.sandbox.requests.length
    const { status, json } = await post(gateway, '/createShipment.php', { ...bookingExample, ReferenceNumber })
    last = json.TransportationBooked
    expect({ status, last }).toEqual({
      status: last === 'Yes' ? 200 : 503,
      last: expect.stringMatching(/^(Yes|No|Unknown)$/),
    })
    if (last === 'Yes') booked.push(ReferenceNumber)
    if (last === 'No') expect(gateway.sandbox.requests.length).toBe(sent)
  }

  const ready = states.next(true)
  makeRoom()
  await ready
  await expectWithStore(gateway, 'W-ROOM')
  await expectAllApproved(gateway, load.given)
  for (const ReferenceNumber of booked) {
    expect((await get(gateway, `/getShipment.php?${new URLSearchParams({ ReferenceNumber })}`)).status).toBe(200)
  }
  await store.close()
  const db = new DatabaseSync(path)
  expect(db.prepare('PRAGMA integrity_check').get()?.['integrity_check']).toBe('ok')
  db.close()
})
