/** Promise: the schema is created once, and a step is applied while the previous release runs (contract, section 7). */

import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { copyStore } from '../../src/operator/commands/store.ts'
import { nameKey } from '../../src/outside/store/names.ts'
import { openStore } from '../../src/outside/store/open.ts'
import { migrate as migratePostgres } from '../../src/outside/store/postgres/session.ts'
import { type SchemaStep, STEPS, VERSION } from '../../src/outside/store/schema.ts'
import { migrate as migrateSqlite } from '../../src/outside/store/sqlite/connection.ts'
import { createSession } from '../../src/outside/store/sqlite/session.ts'
import { StoreTooNew } from '../../src/outside/store/store.ts'
import { newFolder } from '../command.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'
import { named, newClaim } from './samples.ts'

/** Adds to the schema; the previous release keeps working beside it. */
const ADDS: SchemaStep = {
  needs: VERSION,
  sql: `ALTER TABLE transload.claims ADD COLUMN note TEXT NOT NULL DEFAULT '';
    ALTER TABLE transload.claims ADD COLUMN weight INTEGER NOT NULL DEFAULT 7;
    CREATE TABLE transload.notes (tenant TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (tenant, name)) WITHOUT ROWID`,
}
/** Removes something that the previous release needs. */
const TAKES: SchemaStep = { needs: VERSION + 2, sql: 'DROP TABLE transload.notes' }

let folder: string
let server: PostgresServer
beforeAll(async () => {
  folder = newFolder('steps')
  server = await startPostgres()
})
afterAll(async () => {
  await server.remove()
  rmSync(folder, { recursive: true, force: true })
})

/** A database without a store, and its migration with these steps. */
const engines = {
  async sqlite() {
    const url = join(folder, `${crypto.randomUUID()}.db`)
    const asked = async <T>(work: (db: DatabaseSync) => T) => {
      const db = new DatabaseSync(url, { timeout: 5_000 })
      createSession(db, 0)
      try {
        return work(db)
      } finally {
        db.close()
      }
    }
    return {
      url,
      migrate: (steps: readonly SchemaStep[]) => asked((db) => migrateSqlite(db, steps)),
      query: (sql: string) => asked((db) => db.prepare(sql).all()),
    }
  },
  async postgres() {
    const url = await server.createDatabase()
    const asked = async <T>(work: (client: pg.Client) => Promise<T>) => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query('SET search_path = transload')
      return work(client).finally(() => client.end())
    }
    return {
      url,
      migrate: (steps: readonly SchemaStep[]) => asked((client) => migratePostgres(client, steps)),
      query: (sql: string) => asked(async (client) => (await client.query(sql)).rows),
    }
  },
}

const ENGINES = ['sqlite', 'postgres'] as const

test.each(ENGINES)('many gateways that start at once make one schema on %s', async (engine) => {
  const { url, query } = await engines[engine]()
  const stores = await Promise.all(Array.from({ length: 10 }, () => openStore(url)))
  await Promise.all(stores.map((store, index) => store.put({ names: [named({ name: `N-${index}` })] })))
  expect(await query('SELECT name FROM names')).toHaveLength(10)
  expect(await query('SELECT version FROM version')).toHaveLength(1)
  await Promise.all(stores.map((store) => store.close()))
})

test('a step of the schema on postgres takes as long as its rows take, not only as long as a query of a call may', async () => {
  const { url, migrate, query } = await engines.postgres()
  await migrate(STEPS)
  const client = new pg.Client({ connectionString: url, query_timeout: 500 })
  onTestFinished(() => client.end())
  await client.connect()
  await migratePostgres(client, [...STEPS, { needs: VERSION, sql: 'SELECT pg_sleep(1)' }])
  expect(await query('SELECT applied FROM version')).toEqual([{ applied: String(VERSION + 1) }])
})

describe.each(ENGINES)('a step of the schema on %s', (engine) => {
  test('that adds is applied while the previous release runs, which continues, starts again, and copies what it adds', async () => {
    const { url, migrate, query } = await engines[engine]()
    const before = await openStore(url)
    onTestFinished(() => before.close())
    const { claim } = await before.claim(newClaim())
    const next = [...STEPS, ADDS]
    // Two gateways of the new release start at once.
    await Promise.all([migrate(next), migrate(next)])
    await migrate(next)

    const booked = await before.change(claim, { state: 'booked', instance: 'me', why: 'made' }, { names: [named()] })
    expect(booked).toMatchObject({ state: 'booked', version: 2 })
    const again = await openStore(url)
    onTestFinished(() => again.close())
    expect((await again.claim(newClaim({ key: 'REF-2' }))).won).toBe(true)
    const rows = await query('SELECT note, weight FROM claims')
    expect(rows.map(({ note, weight }) => [note, Number(weight)])).toEqual(Array(2).fill(['', 7]))
    const [version] = await query('SELECT version, applied FROM version')
    expect([Number(version?.['version']), Number(version?.['applied'])]).toEqual([VERSION, VERSION + 1])

    await query("UPDATE claims SET note = 'kept'")
    // A store without the step does not silently lose the column.
    const [other, lacking] = [await engines[engine](), await engines[engine]()]
    await other.migrate(next)
    for (const to of [lacking, other]) {
      const target = await openStore(to.url)
      onTestFinished(() => target.close())
      const copied = copyStore(again, target, 'there', 'here', () => {})
      if (to === lacking) await expect(copied).rejects.toThrow()
      else await copied
    }
    expect(await other.query('SELECT note FROM claims')).toEqual([{ note: 'kept' }, { note: 'kept' }])
  })

  test('that removes something is refused by the release that needs it, which changes nothing', async () => {
    const { url, migrate, query } = await engines[engine]()
    await migrate([...STEPS, ADDS, TAKES])
    const before = await query('SELECT * FROM version')
    await expect(openStore(url)).rejects.toThrow(StoreTooNew)
    expect(await query('SELECT * FROM version')).toEqual(before)
  })

  test('that gives approvals a table finds those of earlier releases', async () => {
    const { url, migrate, query } = await engines[engine]()
    await migrate(STEPS.slice(0, 2))
    // Random, so that PostgreSQL cannot compress it.
    const long = randomBytes(3_000).toString('base64url')
    const quotes = [
      `('acme', 'q', 'Q-1', '["Q-1","O-1"]', 'sent', 0, 0)`,
      `('acme', 'order', NULL, '["O-1"]', 'sent', 0, 0)`,
      `('acme', 'long', '${long}', '["${long}"]', 'sent', 0, 0)`,
      `('acme', 'by"id', NULL, NULL, 'sent', 0, 0)`,
      `('acme', 'never', 'Q-1', '["Q-1","O-1"]', NULL, 0, 0)`,
    ]
    const names = [
      `('acme', 'Q-1', 0, '', 'never', 0, 0, 0, 'q', NULL)`,
      `('acme', 'O-1', 0, '', 'never', 0, 0, 0, 'by"id\norder', NULL)`,
      `('acme', '${nameKey(long)}', 0, '', 'long', 0, 0, 0, NULL, '${long}')`,
      `('acme', 'IMPORTED', 0, '', 'imported', 0, 0, 0, NULL, NULL)`,
    ]
    await query(`INSERT INTO quotes (tenant, key, own, names, approval, at, used_day) VALUES ${quotes}`)
    await query(
      `INSERT INTO names (tenant, name, kind, bearer, id, at, turn, used_day, approved, whole) VALUES ${names}`,
    )
    const store = await openStore(url)
    onTestFinished(() => store.close())
    await store.noteApproval({ tenant: 'acme', id: 'imported' }, [])
    const notedWith = async (name: string) => (await store.approvals('acme', [name])).map(({ quote }) => quote).sort()
    expect(await notedWith('q')).toEqual(['q'])
    expect(await notedWith('Q-1')).toEqual(['q'])
    expect(await notedWith('O-1')).toEqual(['by"id', 'order', 'q'])
    expect(await notedWith(long)).toEqual(['long'])
    expect(await notedWith('IMPORTED')).toEqual(['imported'])
  })

  test('that does not fit the tables, which no release made, is refused at the start', async () => {
    const { url, migrate, query } = await engines[engine]()
    await migrate(STEPS.slice(0, 1))
    await query('ALTER TABLE names ADD COLUMN approved TEXT')
    await expect(openStore(url)).rejects.toThrow(/approved/)
  })

  test('that fails leaves the store as it was', async () => {
    const { url, migrate, query } = await engines[engine]()
    await (await openStore(url)).close()
    const wrong = { needs: VERSION, sql: `${ADDS.sql}; CREATE TABLE transload.names (a TEXT)` }
    await expect(migrate([...STEPS, wrong])).rejects.toThrow(/already exists/)
    const [version] = await query('SELECT applied FROM version')
    expect(Number(version?.['applied'])).toBe(VERSION)
    await expect(query('SELECT * FROM notes')).rejects.toThrow()
  })
})
