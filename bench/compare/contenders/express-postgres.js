import { Agent } from 'node:http'
import axios from 'axios'
import express from 'express'
import pg from 'pg'
import { connections, host, port, postgres, service } from './place.js'
import { quoteToVersion1, quoteToVersion2 } from './translate.js'

/* express 5 with axios; each quote is committed to PostgreSQL before it is answered, in a transaction of its own. */

const POOL = 16
const pool = new pg.Pool({ connectionString: postgres, max: POOL })
await pool.query(`DROP TABLE IF EXISTS names, quotes;
  CREATE TABLE names (name text PRIMARY KEY, id text NOT NULL);
  CREATE TABLE quotes (id text PRIMARY KEY, own text NOT NULL, facts jsonb NOT NULL)`)

async function remember(own, id, facts) {
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

const client = axios.create({
  baseURL: service,
  httpAgent: new Agent({ keepAlive: true, maxSockets: connections }),
  validateStatus: () => true,
  maxRedirects: 0,
  proxy: false,
})

const app = express()
app.post('/getShippingQuote.php', express.json(), async ({ body, headers: { authorization } }, response) => {
  const facts = quoteToVersion2(body)
  const { status, data } = await client.post('/v2/quote', facts, { headers: { authorization } })
  if (status >= 300) return response.status(status).json(data)
  await remember(body.ShipmentNumber, data.shipment_id, facts)
  response.json(quoteToVersion1(data, body))
})
app.listen(port, host)
