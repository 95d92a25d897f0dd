/** Promise: names and VINs mean one thing, are never overruled, and stay valid, on PostgreSQL (contract, section 6). */

import { afterAll, beforeAll } from 'vitest'
import { openStore } from '../../src/outside/store/open.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { edgeTests } from './edge.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.remove())

edgeTests(async () => openStore(await server.createDatabase()))
