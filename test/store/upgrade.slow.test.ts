import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { bookingExample } from '../../mappings/booking-rows.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { openStore } from '../../src/store/open.ts'
import { type Store, StoreTooNew } from '../../src/store/store.ts'
import { cleanEnv, newFolder, start } from '../command.ts'
import { basic, CLIENT, get, post } from '../gateway.ts'
import { linesOf } from '../xref/program.ts'
import { answersOfThen, KEPT_STEPS, loadKeptStore, unpackReleaseBefore, writeKeptStore } from './fixtures.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { pruneAll } from './prune-contract.ts'
import { scanned } from './samples.ts'

let folder: string
let server: PostgresServer
let releaseBefore: string
beforeAll(async () => {
  folder = newFolder('upgrade')
  releaseBefore = unpackReleaseBefore(folder)
  server = await startPostgres()
})
afterAll(async () => {
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
})

const engines = ['sqlite', 'postgres'] as const
type Engine = (typeof engines)[number]

const newPath = () => join(folder, `${crypto.randomUUID()}.db`)

/** Places a kept store, and returns its address. */
async function keptStore(engine: Engine, steps: number): Promise<string> {
  const address = engine === 'sqlite' ? newPath() : await server.createDatabase()
  if (engine === 'sqlite') writeKeptStore(steps, address)
  else await loadKeptStore(steps, address)
  return address
}

/** Runs a statement on the database itself. */
async function query(engine: Engine, address: string, sql: string): Promise<unknown[]> {
  if (engine === 'sqlite') {
    const db = new DatabaseSync(address)
    const rows = db.prepare(sql).all()
    db.close()
    return rows.map((row) => Object.values(row))
  }
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  const { rows } = await client.query({ text: sql, rowMode: 'array' })
  await client.end()
  return rows
}

/** Asks a store as `fixtures/make.ts` did. */
async function answersNow(store: Store): Promise<Record<string, unknown>> {
  const claims = await store.listClaims({})
  const tenants = ['acme', 'zenith']
  return {
    links: await scanned(store),
    thing: await store.thing('acme', 'q-1'),
    claims,
    audits: await Promise.all(claims.map(({ handle }) => store.audit(handle))),
    events: await store.listEvents({}),
    calls: await Promise.all(tenants.map((tenant) => store.callCounts(tenant, 0))),
    names: await Promise.all(tenants.map((tenant) => store.nameCounts(tenant))),
    days: await store.watchedDays(),
  }
}

/** Returns the answers of then as they are today: nothing of a credential is stored, and a name of then was the caller's. */
function asToday(then: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(then, (key, value: unknown) => (key === 'credential' ? undefined : value))
  const today: Record<string, readonly object[]> = JSON.parse(text)
  return { ...today, links: today['links']?.map((link) => ({ givenBy: 'caller', ...link })) }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe.each(engines)('%s', (engine) => {
  test.each(KEPT_STEPS)('a store that has had %i steps answers as it did then, and takes new rows', async (steps) => {
    const address = await keptStore(engine, steps)
    const stores = await Promise.all([openStore(address), openStore(address)])
    const [store, other] = stores
    const then = asToday(answersOfThen(engine, steps))
    expect(plain(await answersNow(store))).toMatchObject(then)
    const { id } = await other.takeEvent({
      tenant: 'acme',
      shipment: 's-7',
      event: 'shipment.created',
      date: '',
      digest: '',
      payload: '{}',
      deliver: true,
    })
    expect((await store.findEvent(id))?.state).toBe('due')
    await store.noteUses('acme', ['W-1'])
    expect(await pruneAll(store, 0, true)).toMatchObject({ claims: 3 })
    await Promise.all(stores.map((one) => one.close()))
  })

  test('a store of today needs no more than the release before knows', async () => {
    const address = engine === 'sqlite' ? newPath() : await server.createDatabase()
    await (await openStore(address)).close()
    const sql = engine === 'sqlite' ? 'PRAGMA user_version' : 'SELECT version FROM transload.version'
    expect(await query(engine, address, sql)).toEqual([[4]])
  })

  test('a store to which a later release has only added is used as it is', async () => {
    const address = await keptStore(engine, 4)
    await (await openStore(address)).close()
    const table = engine === 'sqlite' ? 'schema_steps' : 'transload.version'
    await query(engine, address, `UPDATE ${table} SET applied = 1000 RETURNING applied`)
    const store = await openStore(address)
    expect(await store.links('acme', 'W-1')).toHaveLength(1)
    await store.close()
    expect(await query(engine, address, `SELECT applied FROM ${table}`)).toEqual([[1_000]])
  })

  test('a store that needs a later release is refused, and left as it is', async () => {
    const address = await keptStore(engine, 4)
    const sql = engine === 'sqlite' ? 'PRAGMA user_version = 1000' : 'UPDATE transload.version SET version = 1000'
    await query(engine, address, sql)
    await expect(openStore(address)).rejects.toThrow(StoreTooNew)
    const tables =
      engine === 'sqlite'
        ? "SELECT count(*) FROM sqlite_schema WHERE name = 'uses'"
        : "SELECT count(*)::int FROM pg_tables WHERE tablename = 'uses'"
    expect(await query(engine, address, tables)).toEqual([[0]])
  })

  test('the release before takes its store back, with the bookings that were made meanwhile', {
    timeout: 60_000,
  }, async () => {
    const sandbox = await startSandbox({ credentials: { [CLIENT.id]: CLIENT.secret } })
    onTestFinished(() => sandbox.close())
    const address = engine === 'sqlite' ? newPath() : await server.createDatabase()
    const env = cleanEnv({
      STORE_URL: address,
      V2_BASE_URL: sandbox.url,
      HOST: '127.0.0.1',
      PORT: '0',
      ADMIN_PORT: '0',
      EMERGENCY_LOG_FILE: join(folder, 'emergency.ndjson'),
    })
    const headers = { authorization: basic(CLIENT.id) }
    const booking = (ReferenceNumber: string) => ({ ...bookingExample, ReferenceNumber })
    const made: string[] = []
    for (const program of [releaseBefore, join(import.meta.dirname, '../../bin/transload.js'), releaseBefore]) {
      const running = start(process.execPath, [program, 'serve'], { env })
      const line = linesOf(await running.says(/"msg":"listening"/)).find(({ msg }) => msg === 'listening')
      const gateway = { url: String(line?.['url']) }
      for (const reference of made) {
        const again = await post(gateway, '/createShipment.php', booking(reference), headers)
        expect(again.headers.get('idempotent-replayed')).toBe('true')
        const read = await get(gateway, `/getShipment.php?ReferenceNumber=${reference}`, headers)
        expect(read.json.ReferenceNumber).toBe(reference)
      }
      made.push(`REF-${made.length}`)
      expect((await post(gateway, '/createShipment.php', booking(made.at(-1) ?? ''), headers)).status).toBe(200)
      running.signal('SIGTERM')
      expect((await running.ended).code).toBe(0)
    }
    expect(sandbox.shipments.size).toBe(made.length)
  })
})
