import pg from 'pg'
import { postgres } from './place.js'

/* Each quote is committed to PostgreSQL before it is answered, in a transaction of its own. */

const POOL = 16
const pool = new pg.Pool({ connectionString: postgres, max: POOL })
await pool.query(`DROP TABLE IF EXISTS names, quotes;
  CREATE TABLE names (name text PRIMARY KEY, id text NOT NULL);
  CREATE TABLE quotes (id text PRIMARY KEY, own text NOT NULL, facts jsonb NOT NULL)`)

export async function remember(own, id, facts) {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query({
      name: 'name',
      text: 'INSERT INTO names VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET id = excluded.id',
      values: [own || id, id],
    })
    await client.query({
      name: 'quote',
      text: 'INSERT INTO quotes VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET own = excluded.own, facts = excluded.facts',
      values: [id, own ?? '', JSON.stringify(facts)],
    })
    await client.query('COMMIT')
  } finally {
    client.release()
  }
}
