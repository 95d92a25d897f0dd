import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import type { Link } from '../../src/store/store.ts'
import { newEvent } from './event-contract.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { newClaim, scanned } from './samples.ts'

let folder: string
let server: PostgresServer
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'transload-migration-'))
  server = await startPostgres()
})
afterAll(async () => {
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
})

const fixture = (engine: string) => readFileSync(join(import.meta.dirname, 'version-1', `${engine}.sql`), 'utf8')

/** Makes a store of version 1, and returns its address. */
const versionOne = {
  async sqlite() {
    const path = join(folder, `${crypto.randomUUID()}.db`)
    const db = new DatabaseSync(path)
    db.exec(fixture('sqlite'))
    db.close()
    return path
  },
  async postgres() {
    const url = await server.createDatabase()
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(fixture('postgres'))
    await client.end()
    return url
  },
}

/** Returns what the store has of the credentials that booked; version 1 had hashes. */
async function credentialsIn(engine: 'sqlite' | 'postgres', address: string): Promise<readonly unknown[]> {
  if (engine === 'sqlite') {
    const db = new DatabaseSync(address, { readOnly: true })
    const rows = db.prepare('SELECT DISTINCT credential FROM claims').all()
    db.close()
    return rows.map((row) => ({ ...row }))
  }
  const client = new pg.Client({ connectionString: address })
  await client.connect()
  const { rows } = await client.query('SELECT DISTINCT credential FROM transload.claims')
  await client.end()
  return rows
}

const quote = (name: string, id: string, at: number): Link => ({
  tenant: 'acme',
  kind: 'quote',
  name,
  vin: '',
  id,
  givenBy: 'caller',
  at,
})
const shipment = (name: string, vin: string, id: string): Link => ({
  ...quote(name, id, 3_000),
  kind: 'shipment',
  vin,
})

describe.each(['sqlite', 'postgres'] as const)('a store of version 1 on %s', (engine) => {
  test('has all that it had', async () => {
    const address = await versionOne[engine]()
    const store = await openStore(address)
    expect(await credentialsIn(engine, address)).toEqual([{ credential: '' }])
    const { id } = await store.takeEvent(newEvent())
    expect((await store.leaseEvents('acme', 1, 1_000)).map((event) => event.id)).toEqual([id])
    expect(await store.links('acme', 'W-1')).toEqual([quote('W-1', 'q-2', 2_000)])
    expect(await store.links('acme', 'REF-1')).toEqual([
      quote('REF-1', 'q-3', 4_000),
      shipment('REF-1', 'VIN2', 's-2'),
      shipment('REF-1', 'VIN1', 's-1'),
    ])
    expect(await scanned(store)).toHaveLength(8)
    expect(await store.thing('acme', 'q-1')).toEqual({
      tenant: 'acme',
      id: 'q-1',
      own: 'W-1',
      facts: { trailer: 'open', note: "a 'quoted' 🚚" },
      at: 1_000,
    })
    const claims = await store.listClaims({})
    expect(claims.map(({ key, state, expires }) => [key, state, expires])).toEqual([
      ['1', 'booked', 0],
      ['2', 'refused', 0],
      ['3', 'unknown', 0],
      ['4', 'freed', 0],
      ['5', 'booked', 605_000],
      ['6', 'sending', 0],
    ])
    expect(claims[0]).toMatchObject({ shipment: 's-1', reply: '{"status":200}', createdAt: 5_000, changedAt: 6_000 })
    expect((await store.audit('bk_000000000001')).map(({ at, to }) => [at, to])).toEqual([
      [5_000, 'sending'],
      [6_000, 'booked'],
    ])
    await store.close()
  })

  test('accepts new data, and names of the service beside earlier ones', async () => {
    const address = await versionOne[engine]()
    const stores = await Promise.all([openStore(address), openStore(address), openStore(address)])
    const [store, other] = stores
    const theirs = { ...shipment('1001', 'VIN1', 's-8'), givenBy: 'service' } as const
    await store.put({ links: [theirs] })
    expect(await other.links('acme', '1001')).toEqual([shipment('1001', 'VIN1', 's-1'), theirs])
    // Once booked, protected without end; for a window, free again long since.
    expect((await other.claim(newClaim({ key: '1', handle: 'bk_1' }))).won).toBe(false)
    expect((await other.claim(newClaim({ key: '5', handle: 'bk_5' }))).won).toBe(true)
    expect((await store.orphanClaims(10_000, 'by')).map(({ key }) => key)).toContain('6')
    expect(await store.exclusive('key', 1_000, async () => 'done')).toBe('done')
    await Promise.all(stores.map((one) => one.close()))
    // A start that finds nothing to migrate.
    const again = await openStore(address)
    expect(await again.links('acme', '1001')).toHaveLength(2)
    await again.close()
  })
})
