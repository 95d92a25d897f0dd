import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { openPostgresStore } from '../../src/outside/store/postgres/postgres.ts'
import { output } from '../command.ts'
import { freePort } from '../free-port.ts'
import { listen } from '../store/states.ts'

/* PostgreSQL servers and their standbys, from Debian's package `postgresql`. */

/** A server that can be killed, promoted and started again. */
export interface DebianServer {
  readonly port: number
  readonly folder: string
  start(): Promise<void>
  /** Kills all its processes at once, as when a machine dies. */
  kill(): Promise<void>
  /** Stops all its processes, as when a machine hangs: connections stay open. */
  hang(): void
  /** Runs each statement separately. */
  query(...statements: string[]): Promise<readonly Record<string, unknown>[]>
  /** Waits until a query returns true. */
  until(sql: string): Promise<void>
  promote(): Promise<void>
  /** Sets a parameter, and waits until it is in effect. */
  set(name: string, value: string): Promise<void>
  /** Replaces its data with a copy of another server's, which it then follows. */
  follow(primary: DebianServer): Promise<void>
  /** Kills it, and removes its data. */
  remove(): Promise<void>
}

const IS_ROOT = process.getuid?.() === 0
/** PostgreSQL and PgBouncer refuse to run as root. */
const USER = 'postgres'
const PATIENCE_MS = 60_000
const LOOK_EVERY_MS = 20
/** The machine itself never crashes here. */
const SETTINGS = { fsync: 'off', listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '100' }

/** Returns the command that runs a program of the package as a permitted user. */
export function asUser(program: string, args: readonly string[]): [program: string, args: readonly string[]] {
  if (!IS_ROOT) return [program, args]
  return ['setpriv', [`--reuid=${USER}`, `--regid=${USER}`, '--clear-groups', program, ...args]]
}

/** Returns a new folder of that user. */
export async function folderOfUser(name: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `transload-${name}-`))
  chmodSync(folder, 0o755)
  if (IS_ROOT) await output('chown', [`${USER}:`, folder])
  return folder
}

/** Returns the path of a program of the package. */
export function program(name: string): string {
  const [path] = globSync(`/usr/lib/postgresql/*/bin/${name}`).toSorted().toReversed()
  if (path === undefined) throw new Error(`${name} is missing: install Debian's package postgresql`)
  return path
}

/** Starts a server with an empty database. */
export async function startServer(settings: Readonly<Record<string, string>> = {}): Promise<DebianServer> {
  const server = await newServer(settings)
  await output(
    ...asUser(program('initdb'), [
      ...['--pgdata', join(server.folder, 'data'), '--username=postgres', '--auth=trust'],
      ...['--encoding=UTF8', '--locale=C', '--no-sync'],
    ]),
  )
  await server.start()
  return server
}

/** Starts a server for one test. */
export async function openServer(): Promise<DebianServer> {
  const server = await startServer()
  onTestFinished(() => server.remove())
  return server
}

/** Opens a store for one test, and listens to its states and notices. */
export async function openStoreAt(url: string) {
  const notices: string[] = []
  const states = listen()
  const { onState } = states
  const store = await openPostgresStore({ url, onState, onNotice: (notice) => notices.push(notice) })
  onTestFinished(() => store.close())
  return { store, states, notices }
}

/** Starts a standby for a server. */
export async function startStandby(primary: DebianServer): Promise<DebianServer> {
  const server = await newServer()
  await server.follow(primary)
  return server
}

async function newServer(settings: Readonly<Record<string, string>> = {}): Promise<DebianServer> {
  const folder = await folderOfUser('server')
  const port = await freePort()
  const data = join(folder, 'data')
  let child: ChildProcess | undefined
  let log = ''

  /** Signals the server and its processes, and returns the latter. */
  function signal(name: NodeJS.Signals): readonly number[] {
    const pid = child?.pid ?? 0
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
    for (const one of [pid, ...children]) {
      try {
        process.kill(one, name)
      } catch {
        // It has ended by itself.
      }
    }
    return children
  }

  const server: DebianServer = {
    port,
    folder,
    async start() {
      const options = Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => [
        '-c',
        `${name}=${value}`,
      ])
      const [command, args] = asUser(program('postgres'), ['-D', data, '-p', `${port}`, ...options])
      log = ''
      const started = spawn(command, [...args], { stdio: ['ignore', 'ignore', 'pipe'] })
      started.stderr.setEncoding('utf8').on('data', (text: string) => {
        log += text
      })
      child = started
      await server.until('SELECT true AS answer')
    },
    hang: () => void signal('SIGSTOP'),
    async kill() {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      const children = signal('SIGKILL')
      await gone
      while (children.some((one) => existsSync(`/proc/${one}/stat`))) await pause(LOOK_EVERY_MS)
    },
    async query(...statements) {
      const client = new pg.Client(addressOf(server))
      // A server that is killed breaks the connection.
      client.on('error', () => undefined)
      await client.connect()
      try {
        let rows: readonly Record<string, unknown>[] = []
        for (const sql of statements) ({ rows } = await client.query(sql))
        return rows
      } finally {
        await client.end()
      }
    },
    async until(sql) {
      const deadline = Date.now() + PATIENCE_MS
      for (let last: unknown; ; await pause(LOOK_EVERY_MS)) {
        try {
          const [row = {}] = await server.query(sql)
          if (Object.values(row)[0] === true) return
          last = row
        } catch (error) {
          last = error
        }
        if (child && (child.exitCode !== null || child.signalCode !== null)) throw new Error(`PostgreSQL ended: ${log}`)
        if (Date.now() > deadline) throw new Error(`${sql} does not become true: ${log}`, { cause: last })
      }
    },
    async promote() {
      // It does not wait, because the snapshot of a waiting query may block the replay that it waits for.
      await server.query('SELECT pg_promote(false)')
      await server.until('SELECT NOT pg_is_in_recovery()')
    },
    async set(name, value) {
      await server.query(`ALTER SYSTEM SET ${name} = '${value}'`, 'SELECT pg_reload_conf()')
      await server.until(`SELECT current_setting('${name}') = '${value}'`)
    },
    async follow(primary) {
      await server.kill()
      rmSync(data, { recursive: true, force: true })
      await output(
        ...asUser(program('pg_basebackup'), [
          ...['--pgdata', data, '--write-recovery-conf', '--wal-method=stream', '--checkpoint=fast', '--no-sync'],
          ...['--dbname', `host=127.0.0.1 port=${primary.port} user=postgres application_name=standby`],
        ]),
      )
      // The copy has the primary's own settings, which would make it wait for a standby after its promotion.
      appendFileSync(join(data, 'postgresql.auto.conf'), "synchronous_standby_names = ''\n")
      await server.start()
      await primary.until("SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming'")
    },
    async remove() {
      await server.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return server
}

/** Returns the address of a server. */
export function addressOf({ port }: Pick<DebianServer, 'port'>): string {
  return `postgres://postgres@127.0.0.1:${port}/postgres`
}
