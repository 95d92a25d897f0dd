import pg from 'pg'
import type { Inspection } from '../inspection.ts'
import { doubtOf } from '../rows.ts'
import { asStoreError } from './errors.ts'
import { POSTGRES_VERSION, stepsOf } from './schema.ts'

const STATES = 'SELECT state, count(*) FROM transload.claims GROUP BY state ORDER BY state'
const WITHOUT_THING = `SELECT count(*) FROM transload.links AS link WHERE NOT EXISTS
  (SELECT FROM transload.things AS thing WHERE thing.tenant = link.tenant AND thing.id = link.id)`
const TABLES = "SELECT tablename AS name FROM pg_catalog.pg_tables WHERE schemaname = 'transload' ORDER BY tablename"

/** Inspects a store on PostgreSQL as it is at one moment; undefined if there is none. Nothing is written, and gateways go on. */
export async function inspectPostgres(url: string): Promise<Inspection | undefined> {
  const client = new pg.Client({ connectionString: url, application_name: 'transload verify' })
  try {
    await client.connect()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const version = await stepsOf(client)
    return version === 0 ? undefined : await contentOf(client, version)
  } catch (error) {
    throw asStoreError(error)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function contentOf(client: pg.Client, version: number): Promise<Inspection> {
  const count = async (sql: string) => Number((await client.query(sql)).rows[0]?.count)
  const rows: Record<string, number> = {}
  for (const { name } of (await client.query(TABLES)).rows) {
    // Names of the schema, which only this program writes.
    rows[name] = await count(`SELECT count(*) FROM transload."${name}"`)
  }
  const states = (await client.query(STATES)).rows
  const doubts = 'doubts' in rows ? (await client.query('SELECT * FROM transload.doubts')).rows : []
  return {
    version,
    programVersion: POSTGRES_VERSION,
    faults: [],
    rows,
    claims: Object.fromEntries(states.map((row) => [String(row.state), Number(row.count)])),
    linksWithoutThing: await count(WITHOUT_THING),
    origin: { kind: 'own' },
    doubt: doubts[0] && doubtOf(doubts[0]),
  }
}
